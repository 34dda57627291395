import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { compileSources } from "../src/compile.js";
import { writeGeneratedTypes } from "./type-check.js";

/* An app whose functions call workflows that refer to functions of the same files. */

export const definition = `import { defineWorkflow } from "@stepwise/workflow";
import { type Infer, v } from "convex/values";
import { z } from "zod";
import { internal } from "./_generated/api";

const by = v.string();
const Answer = v.object({ by });
export type Answer = Infer<typeof Answer>;
function hidden() {
  return z.object({ note: z.string() });
}
export interface Row { readonly item: string }
const Row: z.ZodType<Row> = z.object({ item: z.string() });
export const auction = defineWorkflow({ input: Row })
  .event("bid", { schema: v.object({ cents: v.number() }), timeout: "1d" })
  .step("closed", { mutation: internal.auctions.close, args: ({ input }) => input })
  .race("settled", {
    cases: {
      "at once": (b) =>
        b.event("payment", { schema: Answer }).step("booked", {
          mutation: internal.auctions.close,
          args: ({ input }) => input,
        }),
      asked: (b) => b.event("reply", { anyOf: { yes: Answer, bid: z.object({ cents: z.string() }) } }),
    },
  })
  .event("noted", { schema: hidden() })
  .finalize({ query: () => 1 });
const helped = (b: any) => b.event("told", { schema: z.string() });
export const hiding = defineWorkflow({ input: v.object({}) }).branch("way", {
  on: () => "only" as const,
  cases: { only: (b) => helped(b) },
});
export const silent = defineWorkflow({ input: v.object({}) }).step("only", {
  mutation: internal.auctions.close,
  args: () => ({ item: "none" }),
});
`;

/** What each mutation gives depends on the workflow's types, and is not annotated. */
const functions = `import { v } from "convex/values";
import { internalMutationGeneric, internalQueryGeneric, mutationGeneric } from "convex/server";
import { workflow, workflows } from "./_workflows/index";

export const bid = mutationGeneric({
  args: { item: v.string(), cents: v.number() },
  handler: async (ctx, { item, cents }) =>
    await workflow.sendEvent(ctx, workflows.auction, { key: item }, "bid", { cents }),
});
export const begin = mutationGeneric({
  args: { item: v.string() },
  handler: async (ctx, { item }) => await workflow.start(ctx, workflows.auction, { item }),
});
export const again = mutationGeneric({
  args: { run: v.string() },
  handler: async (ctx, { run }) =>
    await workflow.restart(ctx, workflows.auction, run, { from: "closed", input: { item: "x" } }),
});
export const bidding = internalQueryGeneric({
  args: {},
  handler: async (ctx) =>
    await workflow.list(
      ctx,
      { workflow: workflows.auction, node: "settled.at once.booked" },
      { numItems: 10, cursor: null },
    ),
});
export const close = internalMutationGeneric({
  args: { item: v.string() },
  handler: async (_ctx, { item }) => ({ soldTo: item }),
});
`;

const misuses = `import type { WorkflowReference } from "@stepwise/workflow/runtime";
import type { GenericMutationCtx } from "convex/server";
import { workflow, workflows } from "./_workflows/index";

export async function misused(ctx: GenericMutationCtx<any>, either: boolean): Promise<void> {
  const { auction, hiding, silent } = workflows;
  await workflow.sendEvent(ctx, auction, "run", "yes", { by: "Ada" });
  await workflow.sendEvent(ctx, auction, "run", "payment", { by: "Ada" });
  await workflow.sendEvent(ctx, auction, "run", "noted", { note: "so" });
  await workflow.sendEvent(ctx, auction, "run", "bid", { cents: "one of two schemas" });
  await workflow.restart(ctx, auction, "run", { from: "finalize" });
  await workflow.sendEvent(ctx, hiding, "run", "told", "by a function that hides its types");
  const known: WorkflowReference<never> = either ? auction : silent;
  await workflow.sendEvent(ctx, known, "run", "whatever", 1);
  // @ts-expect-error a name that no node waits for
  await workflow.sendEvent(ctx, auction, "run", "bit", { cents: 1 });
  // @ts-expect-error the name of a node, and no event
  await workflow.sendEvent(ctx, auction, "run", "reply", { by: "Ada" });
  // @ts-expect-error a payload that is of no schema
  await workflow.sendEvent(ctx, auction, "run", "payment", { by: 1 });
  // @ts-expect-error what makes the schema is not exported, and the payload is none of it
  await workflow.sendEvent(ctx, auction, "run", "noted", { note: 1 });
  // @ts-expect-error nothing waits for an event
  await workflow.sendEvent(ctx, silent, "run", "bid", { cents: 1 });
  // @ts-expect-error there is no such node
  await workflow.restart(ctx, auction, "run", { from: "close" });
  // @ts-expect-error it is not on the top level
  await workflow.restart(ctx, auction, "run", { from: "settled.asked.reply" });
}
`;

/** Writes the app into a folder, with what is generated. */
export async function writeCircle(folder: string): Promise<void> {
  const app = {
    "auctions.workflow.ts": definition,
    "auctions.ts": functions,
    "misuses.ts": misuses,
  };
  const { files, diagnostics } = await compileSources([
    { file: "auctions.workflow.ts", text: definition },
  ]);
  expect(diagnostics).toEqual([]);
  const written = Object.entries(app).map(([path, text]) => ({ path, text }));
  for (const { path, text } of [...files, ...written]) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  await writeGeneratedTypes(folder);
}
