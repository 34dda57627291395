import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import type { Id } from "./_generated/dataModel";
import type { ActionCtx } from "./_generated/server";
import { analyzeText, mergeAnalyses, splitSections } from "./text";

/** Analyzes one section: counts its words and finds its longest sentence. */
export const analyzeSection = defineWorkflow({
  input: z.object({
    storageId: z.string(),
    heading: z.string(),
    from: z.number(),
    to: z.number(),
    rehearseFault: z.boolean(),
  }),
}).step("analysis", {
  action: async (ctx, { input }, info) => {
    // To show a retry, the first attempt fails and the second one works.
    if (input.rehearseFault && info.attempt === 1) {
      throw new Error(`Rehearsed fault in "${input.heading}": the first attempt fails.`);
    }
    const text = await readText(ctx, input.storageId);
    return analyzeText(text.slice(input.from, input.to));
  },
  retry: { maxAttempts: 3, initialBackoffMs: 250, base: 2 },
  timeout: "30s",
});

/** Analyzes all sections of a document in file storage in parallel, and makes one report. */
export const analyzeDocument = defineWorkflow({
  input: z.object({
    title: z.string().min(1),
    storageId: z.string(),
    /** The section, counted from 0, whose first attempt fails. For demonstrations. */
    rehearseFaultIn: z.number().int().optional(),
  }),
})
  .step("outline", {
    action: async (ctx, { input }) => ({
      sections: splitSections(await readText(ctx, input.storageId)),
    }),
  })
  .parent("analyses", {
    children: ({ input, outline }) =>
      outline.sections.map((section, index) =>
        child(analyzeSection, {
          ...section,
          storageId: input.storageId,
          rehearseFault: index === input.rehearseFaultIn,
        }),
      ),
    concurrency: 8,
    finalize: {
      mutation: async (_ctx, { children }) => ({
        sections: children.length,
        analysis: mergeAnalyses(children),
      }),
    },
  })
  .step("save", {
    mutation: internal.reports.save,
    args: ({ input, analyses }) => ({
      title: input.title,
      storageId: input.storageId as Id<"_storage">,
      ...analyses,
    }),
  })
  .finalize({
    query: async (_ctx, { input, analyses, save }) => ({
      title: input.title,
      reportId: save,
      sections: analyses.sections,
      ...analyses.analysis,
    }),
  });

async function readText(ctx: ActionCtx, storageId: string): Promise<string> {
  const file = await ctx.storage.get(storageId as Id<"_storage">);
  if (file === null) throw new Error(`There is no file "${storageId}" in storage.`);
  return await file.text();
}
