import { acting, changing, editsOf, type Family, KID, type Nodes } from "./edits.js";

/* What workflows say of limits, of turns and of collected starts, and the edits of that. */

const NODES: Nodes = {
  work: `.step("work", { ${acting("work", "{ ms: 60_000 }")}, limits: ["exports", { tenant: ({ input }) => pick("tenant", { input }, ["a", "b"]) }] })`,
  nap: `.sleep("nap", ({ input }) => lasts("nap", { input }) % 200_000)`,
  kids: `.parent("kids", { children: ({ input }) => [0, 1, 2].map((key) => child(KID, below({ input }, "kids", key))) })`,
  paced: `.step("paced", { ${acting("paced", `{ fails: "throws", until: 1, ms: 5_000 }`)}, retry: { maxAttempts: 3, initialBackoffMs: 30_000, base: 1 }, limits: ["api"] })`,
  spends: `.step("spends", { ${acting("spends", "{ ms: 20_000 }")}, limits: [{ tokens: { estimate: 100, spend: ({ output }) => spent(output) } }] })`,
  last: `.step("last", { ${acting("last", "{ ms: 50 }")} })`,
};
const ONE = `, one: { key: ({ input }) => pick("one", { input }, ["a", "b"]), otherwise: "wait" }`;
const OF_RUNS = `, limits: ["many"], priority: ({ input }) => pick("priority", { input }, ["0s", "1m"]), fairness: { key: ({ input }) => pick("fair", { input }, ["a", "b"]) }, tags: ({ input }) => ({ at: input.at })`;
const KEY = `key: ({ input }) => pick("collect", { input }, ["a", "b"])`;
const collecting = (more: string) => `, collect: { ${KEY}, keep: "last", ${more} }`;

const { changed } = editsOf(NODES);
/** A member that has other nodes or options at first. */
const from = (before: object, after: object) => ({ from: before, ...after });
const named = (limit: string) => ({ nodes: changed("work", `"exports"`, `"${limit}"`) });
const rest = { nodes: NODES, options: "" };

export const CONTROLS: Family = {
  before: { nodes: NODES, kid: KID, options: ONE + OF_RUNS },
  edits: {
    "limits of a step removed": { nodes: changed("work", /, limits: \[.*\}\]/g, "") },
    "a limit added to a step": {
      nodes: changed("last", "{ ms: 50 }) }", `{ ms: 50 }), limits: ["exports"] }`),
    },
    "another limit of a step": named("many"),
    "another key of a limit": { nodes: changed("work", `pick("tenant"`, `pick("other"`) },
    "a limit without its rate": from(named("slower"), named("slower")),
    "a limit that is larger": from(named("wider"), named("wider")),
    "a limit that is smaller": from(named("narrower"), named("narrower")),
    "a limit that is gone": from(named("gone"), { nodes: NODES }),
    "a limit that is new": named("fresh"),
    "a budget without its spend": { nodes: changed("spends", /, spend: .*output\)/g, "") },
    "a rate for a budget": {
      nodes: changed("paced", `["api"]`, "[{ tokens: { estimate: 50 } }]"),
    },
    "no limits of the workflow": { options: ONE },
    "no priority and no fairness": { options: `${ONE}, limits: ["many"]` },
    "no one": { options: OF_RUNS },
    "a one": from(rest, { options: ONE }),
    "another key of a one": { options: ONE.replace(`"one"`, `"other"`) + OF_RUNS },
    "a one that skips": { options: ONE.replace("wait", "skip") + OF_RUNS },
    "a one that cancels": { options: ONE.replace("wait", "cancelOld") + OF_RUNS },
    "a collect": from(rest, { options: collecting("quiet: 20_000") }),
    "no collect": from({ options: collecting("quiet: 20_000") }, rest),
    "another collect": from(
      { options: collecting("quiet: 20_000") },
      { options: collecting("quiet: 60_000, atMost: 90_000, size: 2") },
    ),
    "other tags": { options: `${ONE}, tags: ({ input }) => ({ n: input.n })` },
    "another onEnd, and a one": from(
      { options: `${ONE}, onEnd: { ${changing("onEnd", "{ input, run }")} }` },
      { options: ONE },
    ),
  },
};

/** The app's limits before and after: some members name those that change. */
export const LIMITS_BEFORE = {
  many: { total: 4 },
  gone: { total: 1 },
  slower: { total: 2, rate: { limit: 1, per: 30_000 } },
  wider: { total: 1 },
  narrower: { total: 3 },
};
export const LIMITS_AFTER = {
  many: { total: 4 },
  fresh: { total: 1 },
  slower: { total: 2 },
  wider: { total: 3 },
  narrower: { total: 1 },
};
