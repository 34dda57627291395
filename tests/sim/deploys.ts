import { compileSources, type WrittenPlan } from "@stepwise/codegen";
import { compare } from "../../packages/codegen/src/compatibility/compare.js";
import type { Change, WorkflowThen } from "../../packages/codegen/src/compatibility/lines.js";

/*
 * A family of edits, each to a workflow of its own. Both versions of all of them are compiled once
 * for a process, and `check` says once what they mean for runs in flight.
 */

type Nodes = Readonly<Record<string, string>>;

const ACT = "(ctx, { input }, info) => act(ctx, info";
const NODES: Nodes = {
  first: `.step("first", { mutation: (ctx, { input }, info) => change(ctx, info, "first", { input }), compensate: { mutation: (ctx, { input }, info) => change(ctx, info, "first.compensate", { input }) } })`,
  nap: `.sleep("nap", ({ input }) => lasts("nap", { input }))`,
  work: `.step("work", { action: ${ACT}, "work", { input }, { fails: "throws", until: 1, ms: 500 }), retry: { maxAttempts: 3, initialBackoffMs: 60_000, base: 1 }, compensate: { action: ${ACT}, "work.compensate", { input }, { ms: 100 }) } })`,
  kids: `.parent("kids", { children: ({ input }) => [0, 1, 2].map((key) => child(KID, below({ input }, "kids", key))), concurrency: 2, finalize: { query: (_ctx, { children }) => children.length } })`,
  choose: `.branch("choose", { on: ({ input }) => pick("choose", { input }, ["left", "right"]), cases: {
    left: (b) => b.step("made", { mutation: (ctx, { input }, info) => change(ctx, info, "made", { input }) }).sleep("rest", 90_000).step("after", { query: (_ctx, { made }) => made }),
    right: (b) => b.sleep("pause", 40_000) } })`,
  again: `.loop("again", { initial: () => 0, body: (b) => b.sleep("rest", 30_000).step("add", { mutation: (ctx, { input, loop }, info) => change(ctx, info, "add", { input, loop }) }), until: ({ loop }) => loop.iteration >= 4, maxIterations: 9 })`,
  one: `.child("one", KID, ({ input }) => below({ input }, "one", "child"))`,
  ask: `.event("ask", { schema: z.string(), timeout: 600_000 })`,
  last: `.step("last", { action: ${ACT}, "last", { input }, { ms: 50 }) })`,
};
const KID = `.sleep("rest", ({ input }) => lasts("rest", { input }) % 200_000).step("grown", { action: ${ACT}, "grown", { input }, { ms: 200 }) })`;

const ONE_CASE = NODES["choose"]!.replace(/, "right"/, "").replace(/,\s+right: .*/s, " } })");

/** What a version of one workflow, and of its child, is made of. */
interface Version {
  readonly nodes?: Nodes;
  readonly kid?: string;
  readonly options?: string;
  /** A field more of the input. */
  readonly more?: string;
  /** Which of the two has another name. */
  readonly anew?: "top" | "kid";
}

function changed(name: string, from: string, to: string): Nodes {
  const text = NODES[name]!.replaceAll(from, to);
  if (text === NODES[name]) throw new Error(`${name} does not hold ${from}`);
  return { ...NODES, [name]: text };
}
const without = (...names: string[]): Nodes =>
  Object.fromEntries(Object.entries(NODES).filter(([name]) => !names.includes(name)));
const renamed = (name: string): Nodes => changed(name, `"${name}", `, `"${name}Anew", `);
const inserted = (before: string, text: string): Nodes =>
  Object.fromEntries(
    Object.entries(NODES).flatMap(([name, node]) =>
      name === before
        ? [
            ["added", text],
            [name, node],
          ]
        : [[name, node]],
    ),
  );
/** In another order: one node is moved before another. */
function moved(name: string, before: string): Nodes {
  const { [name]: node, ...rest } = NODES;
  return Object.fromEntries(
    Object.entries(rest).flatMap(([each, text]) =>
      each === before
        ? [
            [name, node!],
            [each, text],
          ]
        : [[each, text]],
    ),
  );
}

const ADDED = `.step("added", { mutation: (ctx, { input }, info) => change(ctx, info, "added", { input }) })`;
const PLACES = ["nap", "work", "kids", "choose", "again", "one", "ask"];

/** By what is edited, what a workflow then is. */
const EDITS: Readonly<Record<string, Version>> = {
  "nothing but code": { nodes: changed("last", "{ ms: 50 }", "{ ms: 70 }") },
  "a node added first": { nodes: inserted("first", ADDED) },
  "a node added in the middle": { nodes: inserted("kids", ADDED) },
  "a node added last": { nodes: { ...NODES, added: ADDED } },
  "a node added in a loop": {
    nodes: changed("again", `.step("add"`, `.sleep("more", 5_000).step("add"`),
  },
  "a node added in a case": {
    nodes: changed("choose", `.step("after"`, `.step("more", { query: () => 1 }).step("after"`),
  },
  ...Object.fromEntries(
    PLACES.flatMap((name): [string, Version][] => [
      [`${name} removed`, { nodes: without(name) }],
      [
        `${name} renamed`,
        { nodes: renamed(name), options: `, renamed: { ${name}: "${name}Anew" }` },
      ],
    ]),
  ),
  "work renamed, and not said": { nodes: renamed("work") },
  "kids renamed, and not said": { nodes: renamed("kids") },
  "first removed": { nodes: without("first") },
  "work moved to the end": {
    nodes: { ...without("work", "last"), work: NODES["work"]!, last: NODES["last"]! },
  },
  "kids moved to the front": { nodes: moved("kids", "nap") },
  "a case removed": { nodes: { ...NODES, choose: ONE_CASE } },
  "a sleep that is a step": {
    nodes: { ...NODES, nap: NODES["first"]!.replaceAll('"first', '"nap') },
  },
  "fewer iterations": { nodes: changed("again", "maxIterations: 9", "maxIterations: 3") },
  "other retries": { nodes: changed("work", "maxAttempts: 3", "maxAttempts: 5") },
  "a compensation less": {
    nodes: changed(
      "work",
      /, compensate: .*\}/.exec(NODES["work"]!)?.[0].slice(0, -2).trimEnd() ?? "",
      "",
    ),
  },
  "an optional field in the input": { more: ", also: z.string().optional()" },
  "another schema of an event": {
    nodes: changed("ask", "z.string()", "z.union([z.string(), z.number()])"),
  },
  "one child at a time": { nodes: changed("kids", "concurrency: 2", "concurrency: 1") },
  "the child's node removed": { kid: KID.slice(KID.indexOf(".step(")) },
  "the child's node added": { kid: `${KID}.sleep("more", 10_000)` },
  "the workflow renamed": { anew: "top" },
  "the child renamed": { anew: "kid" },
};

const IMPORTS = `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { act, below, change, lasts, pick } from "./behaviour";
`;
const INPUT = "at: z.string(), n: z.number(), more: z.string().optional()";

/** What a workflow is called that has been renamed: its runs stay those of the old name. */
const ANEW = "Anew";
export const nameBefore = (name: string): string => name.replace(new RegExp(`${ANEW}$`), "");

/** Both workflows of a family's member. */
function textOf(
  index: number,
  { nodes = NODES, kid = KID, options = "", more = "", anew }: Version,
) {
  const kidName = `e${index}kid`;
  const define = (which: "top" | "kid", fields: string, others: string, text: string) => {
    const name = `e${index}${which}`;
    const before = which === anew ? `, renamedFrom: "${name}"` : "";
    return `export const ${name}${which === anew ? ANEW : ""} = defineWorkflow({ input: z.object({ ${fields} })${others}${before} })${text};\n`;
  };
  const called = anew === "kid" ? kidName + ANEW : kidName;
  const top = Object.values(nodes).join("\n").replaceAll("KID", called);
  // The child has no part in what is renamed.
  return define("kid", INPUT, "", kid) + define("top", INPUT + more, options, top);
}

const names = Object.keys(EDITS);
/** How many members the family has. */
export const FAMILY = names.length;
export const topOf = (index: number): string => `e${index}top`;
export const editOf = (index: number): string => names[index]!;
export const isOfMember = (workflow: string, index: number): boolean =>
  workflow === topOf(index) || workflow === `e${index}kid`;

/** The definitions of the whole family, before and after. */
export const versions = {
  before: IMPORTS + names.map((_, index) => textOf(index, {})).join("\n"),
  after: IMPORTS + names.map((name, index) => textOf(index, EDITS[name]!)).join("\n"),
};

/** The plan as it is committed, of which `check` compares two. */
async function planOf(text: string, before?: WrittenPlan): Promise<WrittenPlan> {
  const { files, diagnostics } = await compileSources(
    [{ file: "family.workflow.ts", text }],
    before,
  );
  const parsed = files
    .filter(({ path }) => path.endsWith("plan.json"))
    .map((file) => JSON.parse(file.text) as Partial<WrittenPlan & { workflow: WorkflowThen }>);
  const app = parsed.find(({ workflow }) => workflow === undefined);
  if (app === undefined) throw new Error(diagnostics.map(({ message }) => message).join("\n"));
  const workflows = parsed.flatMap(({ workflow = [] }) => workflow);
  return { ...(app as WrittenPlan), workflows };
}

/** What `check` says of the edits. */
export async function verdicts(): Promise<readonly Change[]> {
  const before = await planOf(versions.before);
  return compare(before, await planOf(versions.after, before));
}
