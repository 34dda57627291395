import { child, defineWorkflow } from "@stepwise/workflow";
import { v } from "convex/values";
import { z } from "zod";

/* Workflows whose starts with one key are collected into one run. */

const Change = z.object({
  key: z.string().optional(),
  /** A number in a text is one: what is parsed is not what was given. */
  n: z.coerce.number(),
  bulk: z.string().default(""),
  secret: z.string().default(""),
});
type Change = z.infer<typeof Change>;

const key = ({ input }: { input: Change }) => input.key;

export const collectsLast = defineWorkflow({
  input: Change,
  collect: { key, quiet: "30s", keep: "last" },
  tags: ({ input }) => ({ n: input.n }),
}).step("save", {
  mutation: async (ctx, { input }) => void (await ctx.db.insert("log", { text: `${input.n}` })),
});

export const collectsFirst = defineWorkflow({
  input: Change,
  collect: { key, quiet: "30s", atMost: "1m", keep: "first" },
}).step("save", { query: (_ctx, { input }) => input.n });

export const collectsAll = defineWorkflow({
  input: Change,
  collect: { key, quiet: "30s", atMost: "5m", size: 3, keep: "all" },
  tags: ({ input }) => ({ count: input.items.length }),
  sensitive: ["input.items.secret"],
  timeout: "1m",
})
  .step("count", { query: (_ctx, { input }) => input.items.map(({ n }) => n) })
  .sleep("rest", "5s")
  .finalize({ action: async (_ctx, { count, input }) => ({ count, first: input.items[0]?.n }) });

/** Collected runs of one key follow each other. */
export const collectsInTurn = defineWorkflow({
  input: Change,
  collect: { key, quiet: "10s", keep: "all" },
  one: { key: ({ input }) => input.items[0]?.key, otherwise: "wait" },
})
  .step("begin", {
    mutation: async (ctx, { input }) =>
      void (await ctx.db.insert("log", { text: input.items.map(({ n }) => n).join() })),
  })
  .sleep("rest", "1m");

/** What another function reads, the compiler does not see. */
const secretOf = ({ secret }: { secret: string }) => secret;

export const collectsSecret = defineWorkflow({
  input: Change,
  collect: { key: ({ input }) => secretOf(input), quiet: "10s", keep: "all" },
  sensitive: ["input.items.secret"],
}).step("begin", { query: () => 1 });

export const collectsOdd = defineWorkflow({
  input: Change,
  collect: { key, quiet: "10s", keep: "all" },
  tags: ({ input }) => {
    if (input.items.length > 1) throw new Error("too many to tag");
    return {};
  },
}).step("begin", { query: (_ctx, { input }) => input.items.length });

export const collectsWaiting = defineWorkflow({
  input: Change,
  collect: { key, quiet: "10s", keep: "last" },
}).event("approved", { schema: v.object({ by: v.string() }) });

/** What a child gets is not collected. */
export const collectsBelow = defineWorkflow({
  input: z.object({ ns: z.array(z.number()) }),
}).parent("below", {
  children: ({ input }) => input.ns.map((n) => child(collectsAll, { key: "k", n })),
});

export const collectsEnding = defineWorkflow({
  input: Change,
  collect: { key, quiet: "10s", keep: "all" },
  onEnd: {
    mutation: async (ctx, { input, run }) =>
      void (await ctx.db.insert("log", { text: `${run.state}: ${input.items.length}` })),
  },
}).step("begin", { query: (_ctx, { input }) => input.items.length });
