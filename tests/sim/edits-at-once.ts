import {
  acting,
  brief,
  changing,
  editsOf,
  type Family,
  KID,
  type Nodes,
  placeEdits,
} from "./edits.js";

/* Nodes that go on at once, cases that are told apart and ends, and their edits. */

const ITEM = "{ input, each }";
const NODES: Nodes = {
  both: `.parallel("both", { branches: {
    quick: (b) => b.step("made", { ${changing("both.0>made")}, compensate: { ${changing("both.0>made.compensate")} } }).sleep("rest", ({ input }) => lasts("both.0>rest", { input })).step("after", { query: (_ctx, { made }) => made }),
    slow: (b) => b.step("work", { ${acting("both.1>work", `{ fails: "throws", until: 1, ms: 500 }`)}, retry: { maxAttempts: 3, initialBackoffMs: 60_000, base: 1 } }).event("ok", { schema: z.string(), timeout: 300_000 }) } })`,
  all: `.each("all", { of: ({ input }) => items("all", { input }, 3), body: (b) => b.sleep("rest", (${ITEM}) => lasts("rest", ${ITEM})).step("grown", { ${acting("grown", "{ ms: 200 }", ITEM)}, compensate: { ${changing("grown.compensate", ITEM)} } }), concurrency: 2 })`,
  way: `.step("way", { query: (_ctx, { input }) => ({ kind: pick("way", { input }, ["left", "right"]) }) })`,
  choose: `.match("choose", { of: "way", by: "kind", cases: {
    left: (b) => b.sleep("rest", 90_000)${brief("chosen")},
    right: (b) => b.sleep("pause", 40_000) } })`,
  fast: `.race("fast", { cases: {
    act: (b) => b.step("done", { ${acting("fast.0>done")}, compensate: { ${acting("fast.0>done.compensate", "{ ms: 100 }")} } }),
    nap: (b) => b${brief("begun", "fast.1>begun")}.sleep("rest", ({ input }) => lasts("fast.1>rest", { input })) } })`,
  early: `.branch("early", { on: ({ input }) => pick("early", { input }, ["ends", "goes on"]), cases: {
    ends: (b) => b.sleep("rest", 70_000)${brief("ended")}.end(({ input }) => digest({ input })),
    "goes on": (b) => b.sleep("rest", 50_000) } })`,
  one: `.child("one", KID, ({ input }) => below({ input }, "one", "child"))`,
  last: `.step("last", { ${acting("last", "{ ms: 50 }")} })`,
};
const ON_END = `, onEnd: { ${changing("onEnd", "{ input, run }")} }`;

const { changed, renamed, inserted, moved } = editsOf(NODES);
/** With the workflow's `onEnd`, what has another name. */
const said = (from: string, to: string) => `${ON_END}, renamed: { "${from}": "${to}" }`;

export const AT_ONCE: Family = {
  before: { nodes: NODES, kid: KID, options: ON_END },
  edits: {
    "other code in a branch": { nodes: changed("both", "ms: 500", "ms: 700") },
    ...placeEdits(NODES, ["both", "all", "choose", "fast", "early"], ON_END),
    ...Object.fromEntries(
      ["both", "all", "fast"].flatMap((name): [string, object][] => [
        [`${name} renamed, and not said`, { nodes: renamed(name) }],
        [`${name} is a sleep`, { nodes: { ...NODES, [name]: `.sleep("${name}", 60_000)` } }],
        [`a node added before ${name}`, { nodes: inserted(name, brief("added")) }],
      ]),
    ),
    "the parallel moved behind the race": { nodes: moved("both", "early") },
    "a node added in a branch": {
      nodes: changed("both", `.step("after"`, `${brief("more", "both.0>more")}.step("after"`),
    },
    "a node removed in a branch": { nodes: changed("both", /\.sleep\("rest".*?\}\)\)/g, "") },
    "an event removed in a branch": { nodes: changed("both", /\.event\(.*?\}\)/g, "") },
    "a node renamed in a branch": {
      nodes: changed("both", `"work", `, `"labour", `),
      options: said("both.slow.work", "both.slow.labour"),
    },
    "a node renamed in a branch, and not said": { nodes: changed("both", `"rest", `, `"pause", `) },
    "a branch added": {
      nodes: changed(
        "both",
        "slow: (b)",
        `third: (b) => b${brief("third", "both.2>third")}, slow: (b)`,
      ),
    },
    "a branch removed": { nodes: changed("both", /,\s+slow: .*\}\) \}/g, " }") },
    "a branch renamed": {
      nodes: changed("both", "slow: (b)", "steady: (b)"),
      options: said("both.slow", "both.steady"),
    },
    "one branch at a time": { nodes: changed("both", 'both", {', 'both", { concurrency: 1,') },
    "branches that may fail": { nodes: changed("both", 'both", {', 'both", { tolerate: "all",') },
    "a node added to items": {
      nodes: changed("all", `.step("grown"`, `.sleep("more", 5_000).step("grown"`),
    },
    "a node removed of items": { nodes: changed("all", /\.sleep\("rest".*?\}\)\)/g, "") },
    "a node renamed in items": {
      nodes: changed("all", `"rest", `, `"pause", `),
      options: said("all.rest", "all.pause"),
    },
    "more items": { nodes: changed("all", "{ input }, 3", "{ input }, 5") },
    "one item at a time": { nodes: changed("all", "concurrency: 2", "concurrency: 1") },
    "items without their compensation": {
      nodes: changed("all", /, compensate: \{.*?\} \}/g, " }"),
    },
    "a case removed": { nodes: changed("choose", /left: .*\n\s+/g, "") },
    "a case renamed": {
      nodes: changed("choose", "left: (b)", "links: (b)"),
      options: said("choose.left", "choose.links"),
    },
    "a default added": {
      nodes: changed("choose", "40_000) }", `40_000) }, default: (b) => b.sleep("never", 1_000)`),
    },
    "a branch for a match": {
      nodes: changed(
        "choose",
        /\.match\((.*), \{ of: "way", by: "kind",/g,
        `.branch($1, { on: ({ way }) => way.kind,`,
      ),
    },
    "a case added to the race": {
      nodes: changed("fast", "nap: (b)", `long: (b) => b.sleep("long", 500_000), nap: (b)`),
    },
    "a case removed from the race": { nodes: changed("fast", /act: .*\n\s+/g, "") },
    "a case of the race renamed": {
      nodes: changed("fast", "nap: (b)", "doze: (b)"),
      options: said("fast.nap", "fast.doze"),
    },
    "losers keep what they did": {
      nodes: changed("fast", 'fast", {', 'fast", { compensateLosers: false,'),
    },
    "the first that ends": { nodes: changed("fast", 'fast", {', 'fast", { first: "any",') },
    "an end removed": { nodes: changed("early", /\.end\(.*?\)\)/g, "") },
    "an end added": {
      nodes: changed("choose", `"pause", 40_000)`, `"pause", 40_000).end(() => "ended")`),
    },
    "an end in a branch": {
      nodes: changed("both", "=> made })", "=> made }).end(() => 1)"),
    },
    "no onEnd": { options: "" },
    "another onEnd": { options: ON_END.replace("mutation: (ctx", "mutation: async (ctx") },
    "an onEnd that takes its time": {
      options: `, onEnd: { ${acting("onEnd", "{}", "{ input, run }")} }`,
    },
    "the workflow renamed": { anew: "top" },
  },
};
