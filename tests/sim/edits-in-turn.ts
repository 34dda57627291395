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

/* Nodes that come one after another, and their edits. */

const NODES: Nodes = {
  first: `.step("first", { ${changing("first")}, compensate: { ${changing("first.compensate")} } })`,
  nap: `.sleep("nap", ({ input }) => lasts("nap", { input }))`,
  work: `.step("work", { ${acting("work", `{ fails: "throws", until: 1, ms: 500 }`)}, retry: { maxAttempts: 3, initialBackoffMs: 60_000, base: 1 }, compensate: { ${acting("work.compensate", "{ ms: 100 }")} } })`,
  kids: `.parent("kids", { children: ({ input }) => [0, 1, 2].map((key) => child(KID, below({ input }, "kids", key))), concurrency: 2, finalize: { query: (_ctx, { children }) => children.length } })`,
  choose: `.branch("choose", { on: ({ input }) => pick("choose", { input }, ["left", "right"]), cases: {
    left: (b) => b${brief("made")}.sleep("rest", 90_000).step("after", { query: (_ctx, { made }) => made }),
    right: (b) => b.sleep("pause", 40_000) } })`,
  again: `.loop("again", { initial: () => 0, body: (b) => b.sleep("rest", 30_000).step("add", { ${changing("add", "{ input, loop }")} }), until: ({ loop }) => loop.iteration >= 4, maxIterations: 9 })`,
  one: `.child("one", KID, ({ input }) => below({ input }, "one", "child"))`,
  ask: `.event("ask", { schema: z.string(), timeout: 600_000 })`,
  last: `.step("last", { ${acting("last", "{ ms: 50 }")} })`,
};

const { changed, without, renamed, inserted, moved } = editsOf(NODES);

export const IN_TURN: Family = {
  before: { nodes: NODES, kid: KID },
  edits: {
    "nothing but code": { nodes: changed("last", "{ ms: 50 }", "{ ms: 70 }") },
    "a node added first": { nodes: inserted("first", brief("added")) },
    "a node added in the middle": { nodes: inserted("kids", brief("added")) },
    "a node added last": { nodes: { ...NODES, added: brief("added") } },
    "a node added in a loop": {
      nodes: changed("again", `.step("add"`, `.sleep("more", 5_000).step("add"`),
    },
    "a node added in a case": {
      nodes: changed("choose", `.step("after"`, `.step("more", { query: () => 1 }).step("after"`),
    },
    ...placeEdits(NODES, ["nap", "work", "kids", "choose", "again", "one", "ask"]),
    "work renamed, and not said": { nodes: renamed("work") },
    "kids renamed, and not said": { nodes: renamed("kids") },
    "first removed": { nodes: without("first") },
    "work moved to the end": {
      nodes: { ...without("work", "last"), work: NODES["work"]!, last: NODES["last"]! },
    },
    "kids moved to the front": { nodes: moved("kids", "nap") },
    "a case removed": {
      nodes: changed("choose", /,\s+right: \(b\) => b.sleep\("pause", 40_000\)/g, ""),
    },
    "a sleep that is a step": {
      nodes: { ...NODES, nap: NODES["first"]!.replaceAll('"first', '"nap') },
    },
    "fewer iterations": { nodes: changed("again", "maxIterations: 9", "maxIterations: 3") },
    "other retries": { nodes: changed("work", "maxAttempts: 3", "maxAttempts: 5") },
    "a compensation less": { nodes: changed("work", /, compensate: \{.*\} \}/g, " }") },
    "an optional field in the input": { more: ", also: z.string().optional()" },
    "another schema of an event": {
      nodes: changed("ask", "z.string()", "z.union([z.string(), z.number()])"),
    },
    "one child at a time": { nodes: changed("kids", "concurrency: 2", "concurrency: 1") },
    "the child's node removed": { kid: KID.slice(KID.indexOf(".step(")) },
    "the child's node added": { kid: `${KID}.sleep("more", 10_000)` },
    "an onEnd": { options: `, onEnd: { ${changing("onEnd", "{ input, run }")} }` },
    "the workflow renamed": { anew: "top" },
    "the child renamed": { anew: "kid" },
  },
};
