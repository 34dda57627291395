import { expect, test, vi } from "vitest";
import type { Change } from "../../packages/codegen/src/compatibility/lines.js";
import { Deployment, type Files, released, useReleases } from "./deployed.js";
import { changesOf } from "./edited.js";

/*
 * Edits of each kind of node that holds others, while runs are before it, at it, in it and after
 * it. Those of one kind are deployed at once, each to a workflow of its own.
 */

const releases = useReleases();

interface Flow {
  readonly kind: keyof typeof KINDS;
  /** The case or branch in which runs rest, what is in it, and the others. */
  readonly key: string;
  readonly body: string;
  readonly others: Readonly<Record<string, string>>;
  readonly name: string;
  readonly node: (name: string, cases: string, body: string) => string;
  readonly options: string;
}

const BODY = `.sleep("rest", "1h").step("made", { query: () => "made" })`;
const KINDS = {
  parallel: (name: string, cases: string) => `.parallel("${name}", { branches: {${cases}} })`,
  each: (name: string, _cases: string, body: string) =>
    `.each("${name}", { of: () => [1], body: (b) => b${body} })`,
  race: (name: string, cases: string) => `.race("${name}", { cases: {${cases}} })`,
  match: (name: string, cases: string) =>
    `.match("${name}", { of: "way", by: "is", cases: {${cases}} })`,
  end: (name: string, cases: string) =>
    `.branch("${name}", { on: ({ way }) => way.is, cases: {${cases}} })`,
};

function flow(kind: Flow["kind"]): Flow {
  const other = kind === "race" ? `.sleep("long", "9h")` : `.step("other", { query: () => "b" })`;
  const body = kind === "end" ? `${BODY}.end(() => "ended")` : BODY;
  const node = KINDS[kind];
  return { kind, key: "a", body, others: { b: other }, name: "node", node, options: "" };
}

function textOf(flow: Flow, id: string): string {
  const { key, body, others, name, node, options } = flow;
  const cases = Object.entries({ [key]: body, ...others }).map(
    ([key, is]) => `${key}: (b) => b${is}`,
  );
  const written = node(name, cases.join(", "), body);
  const isRead = written !== "" && !written.includes(`.sleep("${name}"`);
  const ways = [key, ...Object.keys(others)].map((each) => `"${each}"`);
  return `export const ${id} = defineWorkflow({ input: z.object({})${options} })
  .step("way", { query: (): { is: ${ways.join(" | ")} } => ({ is: "${key}" }) })
  .sleep("before", "1h")
  ${written}
  .sleep("after", "1h")
  .step("last", { query: (_ctx, scope) => ${isRead ? `JSON.stringify(scope.${name} ?? null)` : `"none"`} });\n`;
}

const renamed = (from: string, to: string) => `, renamed: { "${from}": "${to}" }`;
const inside = ({ kind, key, name }: Flow) => (kind === "each" ? name : `${name}.${key}`);
const EDITS: Readonly<Record<string, (flow: Flow) => Flow | undefined>> = {
  "other code inside": (is) => ({ ...is, body: is.body.replace(`"made" })`, `"changed" })`) }),
  "the first node inside removed": (is) => ({
    ...is,
    body: is.body.replace(`.sleep("rest", "1h")`, ""),
  }),
  "the second node inside removed": (is) => ({
    ...is,
    body: is.body.replace(/\.step\("made", \{ query: \(\) => "made" \}\)/, ""),
  }),
  "a node inside renamed": (is) => ({
    ...is,
    body: is.body.replace(`"rest"`, `"pause"`),
    options: renamed(`${inside(is)}.rest`, `${inside(is)}.pause`),
  }),
  "a node inside renamed, which is not said": (is) => ({
    ...is,
    body: is.body.replace(`"rest"`, `"pause"`),
  }),
  "another branch added": (is) =>
    is.kind === "each"
      ? undefined
      : { ...is, others: { ...is.others, c: `.step("third", { query: () => "c" })` } },
  // Without its other case, an end has nothing behind it.
  "another branch removed": (is) =>
    is.kind === "each" || is.kind === "end" ? undefined : { ...is, others: {} },
  "its branch renamed": (is) =>
    is.kind === "each" ? undefined : { ...is, key: "c", options: renamed("node.a", "node.c") },
  "its branch removed": (is) =>
    is.kind === "each" ? undefined : { ...is, key: "b", body: is.others["b"]!, others: {} },
  "the node renamed": (is) => ({ ...is, name: "other", options: renamed("node", "other") }),
  "the node renamed, which is not said": (is) => ({ ...is, name: "other" }),
  "the node removed": (is) => ({ ...is, node: () => "" }),
  "another kind": (is) => ({ ...is, node: (name) => `.sleep("${name}", "1h")` }),
  "an end inside": (is) =>
    is.kind === "end" ? { ...is, body: BODY } : { ...is, body: `${BODY}.end(() => "ended")` },
};

const HEAD = `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
`;
const filesOf = (texts: readonly string[]): Files => ({
  "flow.workflow.ts": HEAD + texts.join(""),
});

const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];

test.each(kinds)(
  "[S117] [S165] [S168] before, at, in and after %s, what check says of an edit comes true",
  { tags: ["large"] },
  async (kind) => {
    vi.useRealTimers();
    const edits = Object.entries(EDITS).flatMap(([what, edit]) => {
      const is = edit(flow(kind));
      return is === undefined ? [] : [{ what, is }];
    });
    const before = filesOf([textOf(flow(kind), "edited")]);
    const cases = await Promise.all(
      edits.map(async ({ what, is }, at) => {
        const id = `f${at}`;
        const texts = [textOf(flow(kind), id), textOf(is, id)] as const;
        const changes = await changesOf(before, filesOf([textOf(is, "edited")]));
        return { id, what, texts, changes, runs: [] as string[] };
      }),
    );
    const was = filesOf(cases.map(({ texts }) => texts[0]));
    const is = filesOf(cases.map(({ texts }) => texts[1]));
    const versions = await released(releases, was, is);
    const deployment = new Deployment(versions[0], versions);
    const start = async () => {
      const started: string[] = [];
      for (const { id, runs } of cases) {
        const run = (await deployment.call("start", { name: id, input: {} })) as string;
        runs.push(run);
        started.push(run);
      }
      return started;
    };
    const drive = (hours: number) => deployment.wait(hours * 3_600_000);
    await start();
    await drive(1);
    const inNode = [...(await start()), ...(await start())].slice(cases.length);
    await drive(0.25);
    const atNode = await start();
    await drive(0.75);
    await start();
    await drive(0.1);
    // One is in the node by then. The other comes to it while it is paused.
    const paused = [...inNode, ...atNode];
    for (const runId of paused) await deployment.call("pause", { runId });
    await drive(0.4);
    deployment.deploy(versions[1]);
    for (const runId of paused) await deployment.call("resume", { runId });
    await start();
    await deployment.drive();
    expect(await deployment.pending()).toBe(0);
    const faults: string[] = [];
    const all = await deployment.seeAll(cases.flatMap(({ runs }) => runs));
    for (const { what, changes, runs } of cases) {
      const seen = all.splice(0, runs.length);
      const ends = seen.map((end) => (end.state === "completed" ? String(end.output) : end.state));
      const found = faultsOf(kind, ends, changes);
      const told = changes.map((each) => `${each.node} ${each.compatibility}: ${each.message}`);
      if (found.length > 0) faults.push([what, ...found, ...ends, ...told].join("\n  "));
    }
    expect(faults.join("\n")).toBe("");
  },
);

/** What a run of each kind gives that is not edited. */
const GIVEN = {
  parallel: '{"a":"made","b":"b"}',
  each: '["made"]',
  race: '{"case":"a","output":"made"}',
  match: '"made"',
  end: "ended",
};

/**
 * @param ends of runs that were after the node, in it, paused in it, paused at it, and before it
 * when the deploy came; and of one that began under it.
 */
function faultsOf(
  kind: keyof typeof KINDS,
  ends: readonly string[],
  changes: readonly Change[],
): string[] {
  const [after, inside, held, at, before, fresh = ""] = ends;
  const says = (what: RegExp) => changes.some(({ message }) => what.test(message));
  const stops = changes.filter(({ compatibility }) => ["stops", "rename"].includes(compatibility));
  /** In a race, a case that stops is out. */
  const isStopped = (end = "") =>
    stops.length > 0 && (end === "failed" || (kind === "race" && end.includes(`"b"`)));
  const isOld = (end: string | undefined) => end === GIVEN[kind];
  const found: string[] = [];
  const must = (is: boolean, what: string) => {
    if (!is) found.push(what);
  };
  must(fresh !== "failed", "a new run fails");
  const isUndefined = after === "null" && says(/undefined in them/);
  const isRenamed = fresh.includes("made") && fresh.includes('"c"') && !fresh.includes('"a"');
  must(!isRenamed || says(/renamed from "a".*"last" finds/), "after it, by its old name");
  must(isOld(after) || isUndefined || (after === "none" && fresh === "none"), "after it");
  const keeps = says(/do not run it|branch is removed/);
  for (const end of [inside, held])
    must(end === fresh || isStopped(end) || (keeps && isOld(end)), "in it");
  for (const end of [at, before])
    must(end === fresh || (isStopped(end) && says(/given before/)), "before it");
  // No run is in the other branch.
  const isSure = stops.some(({ node }) => node !== "node.b");
  must(!isSure || ends.some(isStopped), "check says that runs stop, and none does");
  return found;
}
