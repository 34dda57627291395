import { v } from "convex/values";
import { query } from "./_generated/server.js";
import type { RunId } from "./core/documents.js";
import { settledOutput } from "./core/scope.js";
import { childrenFrom } from "./core/children.js";
import { stepRead } from "./core/steps.js";
import { recordArgs } from "./validators.js";

/** Outputs are read in pages of so many bytes: a transaction may read 16 MiB. */
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

export const outputs = query({
  args: { ...recordArgs, from: v.number(), most: v.number(), tolerant: v.boolean() },
  returns: v.object({
    outputs: v.array(v.object({ key: v.union(v.string(), v.number()), output: v.any() })),
    isLast: v.boolean(),
  }),
  handler: async (ctx, { run, from, most, tolerant, ...of }) => {
    const parent = await stepRead(ctx, run as RunId, of);
    const page: { key: string | number; output: unknown }[] = [];
    if (parent === null) return { outputs: page, isLast: true };
    for await (const child of childrenFrom(ctx, parent._id, from)) {
      const output = await settledOutput(ctx, parent, child, tolerant);
      page.push({ key: child.childKey ?? child.index, output: output ?? null });
      const { bytesRead } = await ctx.meta.getTransactionMetrics();
      if (page.length >= most || bytesRead.used > MAX_PAGE_BYTES) break;
    }
    return { outputs: page, isLast: from + page.length >= (parent.total ?? 0) };
  },
});

/** What the outputs of the first children were reduced to so far, and of how many. */
export const reduced = query({
  args: recordArgs,
  returns: v.object({ value: v.any(), from: v.number() }),
  handler: async (ctx, { run, ...of }) => {
    const parent = await stepRead(ctx, run as RunId, of);
    return { value: parent?.reduced?.value ?? null, from: parent?.reduced?.from ?? 0 };
  },
});
