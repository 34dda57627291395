import { expect, test, vi } from "vitest";
import { Deployment, type Files, released, useReleases } from "./deployed.js";
import { changesOf } from "./edited.js";
import { Choice } from "./random/choice.js";

/*
 * Random changes of what says when runs begin (`one`, `collect`, limits), with starts before and
 * after the deploy: nothing that was started is lost, and what is told of the new code holds.
 */

const releases = useReleases();

interface One {
  readonly otherwise: "wait" | "skip" | "cancelOld" | "newestWaits";
  readonly prefix: string;
}
interface Collect {
  readonly keep: "last" | "first" | "all";
  readonly quiet: string;
  readonly size: number;
}
interface Controls {
  readonly one?: One | undefined;
  readonly collect?: Collect | undefined;
  /** By where it is named. */
  readonly ofWorkflow: string;
  readonly ofStep: string;
  readonly priority?: string | undefined;
}

const LIMITS = ["", '"exports"', "{ tenant: KEY }", '"exports", { tenant: KEY }', '"old"'];

function controls(choice: Choice): Controls {
  const one: One | undefined = choice.chance(0.6)
    ? {
        otherwise: choice.oneOf(["wait", "wait", "skip", "cancelOld", "newestWaits"]),
        prefix: choice.oneOf(["", "", "k"]),
      }
    : undefined;
  const collect: Collect | undefined = choice.chance(0.5)
    ? {
        keep: choice.oneOf(["last", "first", "all", "all"]),
        quiet: choice.oneOf(["2m", "6m"]),
        size: choice.oneOf([2, 50]),
      }
    : undefined;
  return {
    one,
    collect,
    ofWorkflow: choice.oneOf(LIMITS),
    ofStep: choice.oneOf(LIMITS),
    priority: choice.chance(0.2) ? "1m" : undefined,
  };
}

/** Mostly one thing is another one after the edit. */
function changed(of: Controls, choice: Choice): Controls {
  const other = controls(choice);
  const names = ["one", "collect", "ofWorkflow", "ofStep", "priority"] as const;
  const some = names.filter(() => choice.chance(0.35));
  return some.reduce((made, name) => ({ ...made, [name]: other[name] }), of);
}

const limitsOf = (text: string, isNow: boolean) =>
  text
    .replace('"old"', isNow ? '"added"' : '"old"')
    .replace("KEY", "({ input }) => firstOf(input).key");

function textOf(flow: string, of: Controls, isNow: boolean): string {
  const { one, collect, priority } = of;
  const options = [
    ...(one
      ? [
          `one: { key: ({ input }) => "${one.prefix}" + firstOf(input).key, otherwise: "${one.otherwise}" }`,
        ]
      : []),
    ...(collect
      ? [
          `collect: { key: ({ input }) => input.key, quiet: "${collect.quiet}", atMost: "15m", keep: "${collect.keep}"${collect.keep === "all" ? `, size: ${collect.size}` : ""} }`,
        ]
      : []),
    ...(of.ofWorkflow === "" ? [] : [`limits: [${limitsOf(of.ofWorkflow, isNow)}]`]),
    ...(priority === undefined ? [] : [`priority: () => "${priority}"`]),
  ];
  const limits = of.ofStep === "" ? "" : `, limits: [${limitsOf(of.ofStep, isNow)}]`;
  return `export const ${flow} = defineWorkflow({ input: z.object({ key: z.string(), n: z.number() })${options.map((each) => `, ${each}`).join("")} })
  .step("began", { mutation: (ctx, { input }, info) => tell(ctx, "${flow}", "began", input, info) })
  .step("work", { action: (ctx, { input }, info) => work(ctx, "${flow}", input, info)${limits} })
  .sleep("rest", "3m");
`;
}

const WORK = `
import { internal } from "./_generated/api";
export const firstOf = (input) => (input.items ?? [input])[0];
export async function tell(ctx, flow, what, input, { runId: run }) {
  const items = (input.items ?? [input]).map(({ n }) => n);
  await ctx.runMutation(internal.runs.log, { text: JSON.stringify({ flow, what, run, items, at: Date.now(), key: firstOf(input).key }) });
}
export async function work(ctx, flow, input, info) {
  await tell(ctx, flow, "begins", input, info);
  await new Promise((done) => setTimeout(done, 120_000));
  await tell(ctx, flow, "ends", input, info);
}
`;
const STEERING = `
import { internalMutationGeneric } from "convex/server";
import { workflow, workflows } from "./_workflows/index";
export const start = internalMutationGeneric((ctx, { name, input }) => workflow.start(ctx, workflows[name], input));
`;
const CONFIG = (isNow: boolean) => `
import { defineConfig } from "@stepwise/workflow";
export default defineConfig({ maxParallelism: 50, limits: { exports: { total: 2 }, tenant: { perKey: 1 }, ${isNow ? "added" : "old"}: { total: 1 } } });
`;
const HEAD = `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { firstOf, tell, work } from "./work";
`;
const filesOf = (texts: readonly string[], isNow: boolean): Files => ({
  "work.ts": WORK,
  "steering.ts": STEERING,
  "stepwise.config.ts": CONFIG(isNow),
  "flow.workflow.ts": HEAD + texts.join("\n"),
});

interface Told {
  readonly flow: string;
  readonly what: "began" | "begins" | "ends";
  readonly run: string;
  readonly items: readonly number[];
  readonly at: number;
  readonly key: string;
}
interface Row {
  readonly _id: string;
  readonly workflow: string;
  readonly state: string;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly one?: { readonly key: string };
  readonly error?: unknown;
}

interface Case {
  readonly flow: string;
  readonly before: Controls;
  readonly now: Controls;
}

/** What is wrong with a workflow's runs. */
function faults(
  { before, now }: Case,
  starts: readonly { n: number; key: string; refused?: string }[],
  runs: readonly Row[],
  told: readonly Told[],
): string[] {
  const found: string[] = [];
  const drops = [before, now].some(({ one }) => one !== undefined && one.otherwise !== "wait");
  for (const { n, refused } of starts) if (refused) found.push(`start ${n}: ${refused}`);
  for (const run of runs) {
    if (run.endedAt === undefined) found.push(`${run._id} is ${run.state}`);
    else if (run.state !== "completed" && !(drops && run.state === "canceled"))
      found.push(`${run._id} is ${run.state}: ${JSON.stringify(run.error)}`);
    const begun = told.filter((each) => each.run === run._id && each.what === "began");
    if (run.state === "completed" && begun.length !== 1)
      found.push(`${run._id} began ${begun.length} times`);
  }
  const got = told.filter(({ what }) => what === "began").flatMap(({ items }) => items);
  const twice = got.filter((n, at) => got.indexOf(n) !== at);
  if (twice.length > 0) found.push(`twice: ${twice.join()}`);
  const keepsAll = [before, now].every(({ collect }) => (collect?.keep ?? "all") === "all");
  const missing = starts.filter(({ n }) => !got.includes(n)).map(({ n }) => n);
  if (keepsAll && !drops && missing.length > 0) found.push(`never began: ${missing.join()}`);
  // The last start of a key is in a run, whatever came before it.
  const keepsLast = [before, now].every(({ collect }) => collect?.keep !== "first");
  if (!drops && keepsLast)
    for (const key of ["a", "b"]) {
      const last = starts.findLast((each) => each.key === key);
      if (last !== undefined && missing.includes(last.n))
        found.push(`the last, ${last.n}, is lost`);
    }
  if (before.one !== undefined && now.one !== undefined)
    for (const one of runs)
      for (const other of runs)
        if (
          one._id < other._id &&
          one.one !== undefined &&
          one.one.key === other.one?.key &&
          [one, other].every(({ _id }) => told.some(({ run }) => run === _id)) &&
          one.startedAt! < other.endedAt! &&
          other.startedAt! < one.endedAt!
        )
          found.push(`${one._id} and ${other._id} go on at once, with key ${one.one.key}`);
  return found;
}

/** What is wrong with what `check` says. */
function untold(
  { before, now }: Case,
  messages: readonly { compatibility: string; message: string }[],
) {
  const says = (text: string) => messages.some(({ message }) => message.includes(text));
  const written = (of: Controls, name: keyof Controls) => {
    const { collect } = of;
    if (name !== "collect" || collect === undefined || collect.keep === "all") return of[name];
    return { ...collect, size: undefined };
  };
  const differ = (name: keyof Controls) =>
    JSON.stringify(written(before, name)) !== JSON.stringify(written(now, name));
  const found: string[] = [];
  if (differ("one") !== says("the one is ")) found.push("one");
  if (differ("collect") !== says("the collect is ")) found.push("collect");
  if (differ("priority") !== says("the priority is ")) found.push("priority");
  if (differ("ofWorkflow") && !says("its limit ")) found.push("limits");
  const stops = messages.some(({ compatibility }) => compatibility === "stops");
  const isOther = (before.collect?.keep === "all") !== (now.collect?.keep === "all");
  if (stops !== isOther) found.push(`stops: ${stops}`);
  return found.map(
    (what) => `check on ${what}: ${messages.map(({ message }) => message).join("; ")}`,
  );
}

const first = Number(process.env["FUZZ_SEED"] ?? 1);
const rounds = Number(process.env["FUZZ_ROUNDS"] ?? 12);

test(
  "[S197] [S202] [S214] [S221] nothing that was started is lost if what begins it is changed",
  { tags: ["large"] },
  async () => {
    vi.useRealTimers();
    const choice = new Choice(first + 77);
    const cases: Case[] = [];
    for (let seed = first; seed < first + rounds; seed++) {
      const own = new Choice(seed);
      const before = controls(own);
      cases.push({ flow: `c${seed}`, before, now: changed(before, own) });
    }
    const was = filesOf(
      cases.map(({ flow, before }) => textOf(flow, before, false)),
      false,
    );
    const is = filesOf(
      cases.map(({ flow, now }) => textOf(flow, now, true)),
      true,
    );
    const verdict = await changesOf(was, is);
    const versions = await released(releases, was, is);
    const deployment = new Deployment(versions[0], versions);
    const starts = new Map<string, { n: number; key: string; refused?: string }[]>();
    const from = Date.now();
    const deeds: { at: number; deed: () => Promise<void> }[] = [
      { at: 30 * 60_000, deed: async () => deployment.deploy(versions[1]) },
    ];
    let count = 0;
    for (const { flow } of cases) {
      const given: { n: number; key: string; refused?: string }[] = [];
      starts.set(flow, given);
      for (let times = 8; times > 0; times--) {
        const key = choice.oneOf(["a", "a", "b"]);
        const at = (20 + choice.upTo(20)) * 60_000 + choice.upTo(50_000);
        deeds.push({
          at,
          deed: async () => {
            const start = { n: count++, key } as (typeof given)[number];
            given.push(start);
            try {
              await deployment.call("steering:start", { name: flow, input: { key, n: start.n } });
            } catch (error) {
              start.refused = String(error);
            }
          },
        });
      }
    }
    for (const { at, deed } of deeds.toSorted((one, other) => one.at - other.at)) {
      await deployment.wait(from + at - Date.now());
      await deed();
    }
    await deployment.drive();
    expect(await deployment.pending()).toBe(0);
    for (const table of ["turns", "collected", "collectors"] as const)
      expect(await deployment.rows(table)).toEqual([]);
    const told = (await deployment.logged()).map((text) => JSON.parse(text) as Told);
    const rows = (await deployment.rows("runs")) as unknown as Row[];
    const report = cases.flatMap((each) => {
      const { flow, before, now } = each;
      const messages = verdict.filter(({ workflow }) => workflow === flow);
      const found = [
        ...faults(
          each,
          starts.get(flow) ?? [],
          rows.filter(({ workflow }) => workflow === flow),
          told.filter((one) => one.flow === flow),
        ),
        ...untold(each, messages),
      ];
      if (found.length === 0) return [];
      return [`== ${flow}\n${found.join("\n")}\n${JSON.stringify(before)}\n${JSON.stringify(now)}`];
    });
    expect(report.join("\n\n")).toBe("");
    const going = told.filter(({ what }) => what === "begins").length;
    expect(told.filter(({ what }) => what === "ends")).toHaveLength(going);
  },
);
