import { describe, expect, test, vi } from "vitest";
import { Deployment, type Files, type Version, useReleases } from "./deployed.js";

/** A run sleeps an hour at each of these nodes, one after the other. */
const PLACES = ["nap", "ask", "work", "kids", "choose.left.rest", "again.rest", "one"] as const;
type Place = (typeof PLACES)[number];

const NODES = {
  first: `.step("first", {
    query: () => "first",
    compensate: { mutation: async (ctx) => { await ctx.runMutation(internal.runs.log, { text: "first undone" }); } },
  })`,
  nap: `.sleep("nap", "1h")`,
  ask: `.event("ask", { schema: z.string(), timeout: "1h" })`,
  work: `.step("work", {
    action: (_ctx, { first }, { attempt }) => { if (attempt === 1) throw new Error("once"); return first + " worked"; },
    retry: { maxAttempts: 2, initialBackoffMs: 3_600_000, base: 1 },
  })`,
  kids: `.parent("kids", {
    children: () => [child(kid, {})],
    finalize: { query: (_ctx, { children }) => children.length },
  })`,
  choose: `.branch("choose", { on: () => "left" as const, cases: {
    left: (b) => b.step("made", { query: () => "left" }).sleep("rest", "1h").step("after", { query: (_ctx, { made }) => made }),
  } })`,
  again: `.loop("again", {
    initial: () => 0,
    body: (b) => b.sleep("rest", "1h").step("add", { mutation: (_ctx, { loop }) => loop.state + 1 }),
    until: () => true,
    maxIterations: 3,
  })`,
  one: `.child("one", kid, () => ({}))`,
  last: `.finalize({ query: (_ctx, { first, work, kids, choose, again, one }) => ({ first, work, kids, choose, again, one }) })`,
};
type Nodes = Record<string, string>;

function definitions(nodes: Nodes, options = "", input = "z.object({})"): string {
  return `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const kid = defineWorkflow({ input: z.object({}) }).sleep("rest", "1h").step("grown", { query: () => "grown" });
export const flow = defineWorkflow({ input: ${input}${options} })
${Object.values(nodes).join("\n")};
`;
}

const BASE = definitions(NODES);
const WHOLE = {
  first: "first",
  work: "first worked",
  kids: 1,
  choose: "left",
  again: 1,
  one: "grown",
};

/** The nodes with one of them changed, renamed, or without it. */
function changed(name: keyof typeof NODES, from: string, to: string): Nodes {
  const text = NODES[name].replaceAll(from, to);
  if (text === NODES[name]) throw new Error(`${name} does not hold ${from}`);
  return { ...NODES, [name]: text };
}
function without(...names: (keyof typeof NODES)[]): Nodes {
  return Object.fromEntries(
    Object.entries(NODES).filter(([name]) => !names.includes(name as keyof typeof NODES)),
  );
}
/** Nothing reads what is removed. */
function removed(name: "nap" | "ask" | "work" | "kids" | "choose" | "again" | "one"): Nodes {
  const last = NODES.last.replaceAll(`, ${name}`, "");
  return { ...without(name), last };
}
function renamed(name: keyof typeof NODES): Nodes {
  const nodes = changed(name, `"${name}"`, `"${name}Anew"`);
  const reads = (text: string) =>
    text
      .replace(`, ${name},`, `, ${name}Anew: ${name},`)
      .replace(`, ${name} })`, `, ${name}Anew: ${name} })`)
      .replace(`{ ${name} }`, `{ ${name}Anew: ${name} }`)
      .replace(`{ ${name},`, `{ ${name}Anew: ${name},`);
  return Object.fromEntries(
    Object.entries(nodes).map(([key, text]) => [key, key === name ? text : reads(text)]),
  );
}
/** With a node more, before another. */
function inserted(before: keyof typeof NODES, text: string): Nodes {
  return Object.fromEntries(
    Object.entries(NODES).flatMap(([name, node]) =>
      name === before
        ? [
            ["added", text],
            [name, node],
          ]
        : [[name, node]],
    ),
  );
}

/** The action of `work` as a function of the app's own, that gives an object. */
const acts = (result: string) => `
import { internalActionGeneric } from "convex/server";
const once = (attempt) => { if (attempt === 1) throw new Error("once"); };
export const work = internalActionGeneric(async (_ctx, { text, attempt }) => { once(attempt); return ${result}; });
export const toil = internalActionGeneric(async (_ctx, { text, attempt }) => { once(attempt); return { text: text + " toiled" }; });
`;
const ACTS = acts('{ text: text + " worked" }');
const REFERENCED: Nodes = {
  ...changed(
    "work",
    'action: (_ctx, { first }, { attempt }) => { if (attempt === 1) throw new Error("once"); return first + " worked"; }',
    "action: internal.acts.work, args: ({ first }, { attempt }) => ({ text: first, attempt })",
  ),
  last: NODES.last.replace("({ first, work,", "({ first, work: work.text,"),
};
function changedReferenced(from: string, to: string): Nodes {
  return { ...REFERENCED, work: String(REFERENCED["work"]).replace(from, to) };
}

type Ending = "completes" | "removed";
interface Edit {
  readonly what: string;
  /** What the run was started under. Default: `BASE`. */
  readonly before?: string;
  readonly definitions: string;
  /** The functions that `work` refers to, before and after. Default: it has a handler. */
  readonly acts?: readonly [before: string, now: string];
  /** What becomes of a run that sleeps there. */
  readonly ending: (place: Place) => Ending;
  readonly output?: (place: Place) => object;
}

const goesOn = () => "completes" as const;
const failsAt = (node: string) => (place: Place) =>
  place === node || place.startsWith(`${node}.`) ? "removed" : "completes";
const after = (place: Place, node: Place) => PLACES.indexOf(place) > PLACES.indexOf(node);

const addedQuery = `.step("added", { query: () => "added" })`;
const readsAdded = NODES.last
  .replace("first,", "first, added,")
  .replace("({ first,", "({ first, added: added ?? null,");

const EDITS: Edit[] = [
  {
    what: "[S113] code inside a node",
    definitions: definitions(changed("work", "worked", "worked hard")),
    ending: goesOn,
    output: (place) => (after(place, "work") ? {} : { work: "first worked hard" }),
  },
  {
    what: "[S113] another duration",
    definitions: definitions(changed("nap", "1h", "2h")),
    ending: goesOn,
  },
  {
    what: "[S113] other retry settings",
    definitions: definitions(changed("work", "maxAttempts: 2", "maxAttempts: 5")),
    ending: goesOn,
  },
  {
    what: "[S113] a timeout for the whole workflow",
    definitions: definitions(NODES, ', timeout: "30 days"'),
    ending: goesOn,
  },
  {
    what: "[S113] an optional field in the input",
    definitions: definitions(NODES, "", "z.object({ more: z.string().optional() })"),
    ending: goesOn,
  },
  {
    what: "[S113] other args of a referenced function",
    before: definitions(REFERENCED),
    definitions: definitions(changedReferenced("text: first", 'text: first + " hard"')),
    acts: [ACTS, ACTS],
    ending: goesOn,
    output: (place) => (after(place, "work") ? {} : { work: "first hard worked" }),
  },
  {
    what: "[S113] another referenced function under the node",
    before: definitions(REFERENCED),
    definitions: definitions(changedReferenced("internal.acts.work", "internal.acts.toil")),
    acts: [ACTS, ACTS],
    ending: goesOn,
    output: (place) => (after(place, "work") ? {} : { work: "first toiled" }),
  },
  {
    what: "[S113] an optional field in the input, and in a result, that a later node reads",
    before: definitions(REFERENCED),
    definitions: definitions(
      {
        ...REFERENCED,
        last: NODES.last
          .replace("{ first,", "{ input, first,")
          .replace(
            "({ first, work,",
            "({ first, work: work.text, more: [input.more ?? null, work.more ?? null],",
          ),
      },
      "",
      "z.object({ more: z.string().optional() })",
    ),
    acts: [ACTS, acts('{ text: text + " worked", more: "more" }')],
    ending: goesOn,
    output: (place) => ({ more: [null, after(place, "work") ? null : "more"] }),
  },
  {
    what: "[S113] another kind of function under a name",
    definitions: definitions(changed("first", 'query: () => "first"', 'mutation: () => "first"')),
    ending: goesOn,
  },
  {
    what: "[S113] a handler, an action now, under a name that was a query",
    definitions: definitions(
      changed("choose", 'step("after", { query:', 'step("after", { action:'),
    ),
    ending: goesOn,
  },
  {
    what: "[S114] a node added at the end",
    definitions: definitions({ ...inserted("last", addedQuery), last: readsAdded }),
    ending: goesOn,
    output: () => ({ added: "added" }),
  },
  {
    what: "[S114] a node added before: its reader gets nothing",
    definitions: definitions({ ...inserted("nap", addedQuery), last: readsAdded }),
    ending: goesOn,
    output: () => ({ added: null }),
  },
  {
    what: "[S114] a node added in the middle",
    definitions: definitions({ ...inserted("kids", addedQuery), last: readsAdded }),
    ending: goesOn,
    output: (place) => ({ added: after(place, "work") ? null : "added" }),
  },
  {
    what: "[S114] a node added inside a case, after the sleep",
    definitions: definitions(
      changed("choose", '.step("after"', '.step("more", { query: () => 1 }).step("after"'),
    ),
    ending: goesOn,
  },
  {
    what: "[S115] a node renamed that is done",
    definitions: definitions(
      {
        ...changed("first", '"first", {', '"begun", {'),
        work: NODES.work.replaceAll("{ first }", "{ begun: first }"),
        last: NODES.last.replace("{ first,", "{ begun: first,"),
      },
      ', renamed: { first: "begun" }',
    ),
    ending: goesOn,
  },
  {
    what: "[S115] nodes in another order before the place",
    definitions: definitions({ nap: NODES.nap, first: NODES.first, ...without("nap", "first") }),
    ending: goesOn,
  },
  ...(["nap", "ask", "work", "kids", "choose", "again", "one"] as const).flatMap((name): Edit[] => [
    {
      what: `[S115] [S117] ${name} removed`,
      definitions: definitions(removed(name)),
      ending: failsAt(name),
      output: () => ({ [name]: undefined }),
    },
    {
      what: `[S116] ${name} renamed, with the mapping`,
      definitions: definitions(renamed(name), `, renamed: { ${name}: "${name}Anew" }`),
      ending: goesOn,
    },
    {
      what: `[S117] ${name} renamed, without the mapping`,
      definitions: definitions(renamed(name)),
      ending: failsAt(name),
      output: (place) =>
        PLACES.findIndex((at) => at === name || at.startsWith(`${name}.`)) < PLACES.indexOf(place)
          ? { [name]: undefined }
          : {},
    },
  ]),
  {
    what: "[S117] a sleep that has become a step",
    definitions: definitions(
      changed("nap", '.sleep("nap", "1h")', '.step("nap", { query: () => 1 })'),
    ),
    ending: failsAt("nap"),
  },
  {
    what: "[S118] the whole workflow removed",
    definitions: BASE.replace(/export const flow[\s\S]*$/, ""),
    ending: () => "removed",
  },
];

const releases = useReleases();
const versions = new Map<string, Promise<Version>>();
const app = (text: string, acts?: string) => ({
  "flow.workflow.ts": text,
  ...(acts === undefined ? {} : { "acts.ts": acts }),
});
/** A release of an app, after that of another: each is made once. */
const version = (now: Files, before = now) => {
  const key = JSON.stringify([now, before]);
  const made = versions.get(key) ?? releases.release(now, before);
  versions.set(key, made);
  return made;
};

describe.each(EDITS)("$what", ({ before: old = BASE, ending, output, ...edit }) => {
  const { definitions, acts = [] } = edit;
  test.each(PLACES)("a run that sleeps at %s", { tags: ["large"] }, async (place) => {
    vi.useRealTimers();
    const files = app(old, acts[0]);
    const later = app(definitions, acts[1]);
    const [before, now] = [await version(files), await version(later, files)];
    vi.useFakeTimers();
    const deployed = new Deployment(before, [now]);
    const id = (await deployed.call("start", { name: "flow", input: {} })) as string;
    await deployed.drive(async () =>
      (await deployed.see(id)).active.some(
        ({ node, state }) => node === place && state === "waiting",
      ),
    );
    expect((await deployed.see(id)).active.map(({ node }) => node)).toContain(place);
    deployed.deploy(now);
    await deployed.drive();
    const seen = await deployed.see(id);
    if (ending(place) === "completes") {
      const defined = (value: object) => JSON.parse(JSON.stringify(value)) as object;
      expect(seen).toMatchObject({ state: "completed" });
      expect(defined(seen.output as object)).toEqual(defined({ ...WHOLE, ...output?.(place) }));
      expect(await deployed.logged()).toEqual([]);
    } else {
      expect(seen).toMatchObject({ state: "failed", error: { kind: "removedNode" } });
      // A compensation that was removed along with its workflow does not run.
      const kept = definitions.includes("first undone");
      expect(await deployed.logged()).toEqual(kept ? ["first undone"] : []);
    }
    expect(seen.active).toEqual([]);
    expect(await deployed.pending()).toBe(0);
  });
});
