import { Deployment, S16 } from "@stepwise/testing";
import { limitOf } from "@stepwise/workpool/core";
import { expect, test } from "vitest";
import { modules as component, schema as componentSchema } from "../src/test.js";
import type { Doc } from "./component.js";
import schema from "./limited/schema.js";
import config from "./limited/stepwise.config.js";

const modules = import.meta.glob(["./limited/**/*.{ts,js}", "!./limited/**/*.*.ts"]);
const parts = [
  { path: "", schema, modules },
  { path: "workflow", schema: componentSchema, modules: component },
];

/** Runs that name limits, on a deployment where transactions run at once. */
async function deployed() {
  const deployment = await Deployment.of(parts, { class: S16 });
  const steps = new Map<string, readonly string[]>();
  const over: string[] = [];
  const most = new Map<string, number>();
  deployment.onCommit(({ writes }) => {
    for (const { table, next } of writes)
      if (table.path === "workflow/steps" && next !== undefined)
        steps.set(next._id as string, (next as unknown as Doc<"steps">).permits ?? []);
    const running = new Map<string, number>();
    for (const { work = "" } of deployment.rows<Doc<"slots">>("workflow", "slots"))
      for (const name of steps.get(work) ?? []) running.set(name, (running.get(name) ?? 0) + 1);
    for (const [name, count] of running) {
      most.set(name, Math.max(most.get(name) ?? 0, count));
      if (count > limitOf(config, name)) over.push(`${count} of ${name}`);
    }
  });
  const start = (at: number, name: string, input: object) =>
    deployment.at(at, () => deployment.mutation("runs:start", { name, input }));
  const left = () =>
    ["limited", "lines", "permits", "waiting"].flatMap((table) =>
      deployment.rows("workflow", table),
    );
  return { deployment, start, over, most, left };
}

test(
  "[S192] [S194] at no commit do more steps of a limit run than it says, though runs are canceled and paused",
  { tags: ["large"] },
  async () => {
    const { deployment, start, over, most, left } = await deployed();
    for (let n = 0; n < 10; n++) {
      const org = "abc"[n % 3]!;
      start(n * 20, "ofTenant", { name: `t${n}`, org, ms: 300 });
      start(n * 30, "exported", { name: `e${n}`, ms: 200 });
      if (n % 4 === 0) start(n * 25, "allOfTenant", { name: `w${n}`, org: `org ${org}`, ms: 100 });
    }
    const runs = () => deployment.rows<Doc<"runs">>("workflow", "runs");
    deployment.at(700, async () => {
      for (const { _id: runId, state } of runs().filter((_run, n) => n % 5 === 0))
        if (state === "running") await deployment.mutation("manager:pause", { runId });
      for (const { _id: runId, state } of runs().filter((_run, n) => n % 7 === 1))
        if (state === "running") await deployment.mutation("runs:cancel", { runId });
    });
    deployment.at(20_000, async () => {
      for (const { _id: runId, paused } of runs())
        if (paused === true) await deployment.mutation("manager:resume", { runId });
    });
    await deployment.drive();
    expect(over).toEqual([]);
    expect(Object.fromEntries(most)).toMatchObject({ "tenant:org a": 1, exports: 2 });
    const states = new Set(runs().map(({ state }) => state));
    expect(states).toEqual(new Set(["completed", "canceled"]));
    expect(left()).toEqual([]);
  },
);
