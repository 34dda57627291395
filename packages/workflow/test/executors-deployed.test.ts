/** @module-tag large */
import { Deployment, type DeploymentClass, type Faults, S16, S256 } from "@stepwise/testing";
import { v } from "convex/values";
import { expect, test, vi } from "vitest";
import { modules as component, schema as componentSchema } from "../src/test.js";
import type { Doc } from "./component.js";
import { components } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* Executors of steps on a deployment that fails: no run is lost, and nothing is left behind. */

vi.spyOn(console, "error").mockImplementation(() => {});

const modules = import.meta.glob(["./convex/**/*.{ts,js}", "!./convex/**/*.*.ts"]);
const calls = {
  limit: internalMutation({
    args: { maxParallelism: v.number() },
    handler: async (ctx, config) => {
      await ctx.runMutation(components.workflow.config.update, config);
    },
  }),
};
const parts = [
  { path: "", schema, modules: { ...modules, "./convex/calls.js": async () => calls } },
  { path: "workflow", schema: componentSchema, modules: component },
];
type Start = readonly [name: string, input: object];

/** A pool of three that is busy for a second; then executors have the runs that wait. */
async function deployed(starts: readonly Start[], faults: Faults = {}, of: DeploymentClass = S256) {
  const deployment = await Deployment.of(parts, { class: of, faults });
  const start = ([name, input]: Start) => deployment.mutation("runs:start", { name, input });
  deployment.at(0, () => deployment.mutation("calls:limit", { maxParallelism: 3 }));
  for (let n = 0; n < 3; n++) deployment.at(100, () => start(["slow", { ms: 1_000 }]));
  for (const each of starts) deployment.at(500, () => start(each));
  const began = new Map<string, number>();
  deployment.onHappening((event) => {
    if (event.what !== "began") return;
    began.set(event.path.name, (began.get(event.path.name) ?? 0) + 1);
  });
  const rows = <Table extends "runs" | "steps" | "slots" | "gate" | "drain" | "waiting">(
    table: Table,
  ) => deployment.rows<Doc<Table>>("workflow", table);
  const ended = () => ({
    states: rows("runs")
      .filter(({ workflow }) => starts.some(([name]) => name === workflow))
      .map(({ state }) => state),
    attempts: Math.max(...rows("steps").map(({ attempt }) => attempt)),
    executors: began.get("executor:execute") ?? 0,
    held: rows("slots").filter(({ work }) => work !== undefined).length,
    waiting: rows("waiting").length,
    gate: rows("gate").map(({ open }) => open),
    drains: rows("drain").filter(({ on }) => on).length,
  });
  return { deployment, ended };
}

const AT_REST = { held: 0, waiting: 0, gate: [true], drains: 0 };
const completed = (count: number) => Array.from({ length: count }, () => "completed");
const handed: Start[] = Array.from({ length: 8 }, () => ["handed", { what: "does well" }]);
const slow: Start[] = Array.from({ length: 8 }, () => ["slow", { ms: 4_000 }]);
/** Has a fault happen at the first so many occasions of it, from a time on. */
function first<Fault>(times: number, of: string, fault: Fault) {
  let left = times;
  return ({ name }: { name: string }) => (name === of && left-- > 0 ? fault : undefined);
}

test("[S107] [S156] an executor dies: each of its actions has used an attempt, and all runs end", async () => {
  const { deployment, ended } = await deployed(slow);
  deployment.at(4_000, () => deployment.crash());
  await deployment.drive();
  expect(ended()).toMatchObject({ states: completed(11), attempts: 2, ...AT_REST });
});

test("[S107] [S108] where the answer of its report is lost, what that gave it has used an attempt", async () => {
  const call = first(1, "executor:recordTogether", { lost: "answer" } as const);
  const { deployment, ended } = await deployed([...slow, ...slow], { call });
  await deployment.drive();
  expect(ended()).toMatchObject({ states: completed(19), attempts: 2, ...AT_REST });
});

test.each([
  [
    "its report does not arrive",
    { call: first(1, "executor:recordTogether", { lost: "request" }) },
  ],
  ["its report arrives twice", { call: first(3, "executor:recordTogether", { againMs: 70 }) }],
  ["its report runs out of time", { timesOut: first(2, "executor:recordTogether", true) }],
] as const)("[S108] [S109] where %s, all runs end", async (_what, faults) => {
  const { deployment, ended } = await deployed([...handed, ...slow], faults as Faults);
  await deployment.drive();
  const { states, ...rest } = ended();
  expect(states).toEqual(completed(19));
  expect(rest).toMatchObject(AT_REST);
});

test.each(["TooManyWrites", "TooManyConcurrentRequests"] as const)(
  "[S132] %s for a minute, while the actions of an executor end: no finished step is lost",
  async (why) => {
    let isRefused = false;
    const refuses: Faults["refuses"] = () => (isRefused ? why : undefined);
    const { deployment, ended } = await deployed(slow, { refuses });
    deployment.at(5_000, () => (isRefused = true));
    deployment.at(65_000, () => (isRefused = false));
    await deployment.drive();
    expect(ended()).toMatchObject({ states: completed(11), attempts: 1, ...AT_REST });
  },
);

test("[S113] a deploy takes away what executors are about to call: what is there now runs", async () => {
  const { deployment, ended } = await deployed(handed);
  const app = (own: object) => [{ ...parts[0]!, modules: { ...parts[0]!.modules, ...own } }];
  const without = async () => {
    const { act: _, ...left } = await import("./convex/handed.js");
    return left;
  };
  const own = "_workflows/handed:second";
  const began = new Set<string>();
  let reports = 0;
  deployment.onHappening((event) => {
    if (event.what === "committed" && event.path.name === "executor:recordTogether") {
      // What it has handed out is not called yet.
      if (reports++ === 0) void deployment.deploy(app({ "./convex/handed.ts": without }));
    } else if (event.what === "began" && event.path.name === own) {
      began.add(own);
      void deployment.deploy(app({}));
    }
  });
  await deployment.drive();
  expect(ended()).toMatchObject({ states: completed(8), attempts: 1, ...AT_REST });
  expect([...began]).toEqual([own]);
});

test("[S156] an action that finds no permit in time has not begun, and loses no attempt", async () => {
  // The executor has one, and two of its actions: others wait for longer than they may.
  const few = { ...S16, actionPermits: 3, actionPermitWaitMs: 500 };
  const brief = slow.map(([name]): Start => [name, { ms: 1_500 }]);
  const { deployment, ended } = await deployed(brief, {}, few);
  await deployment.drive();
  expect(ended()).toMatchObject({ states: completed(11), attempts: 1, ...AT_REST });
});
