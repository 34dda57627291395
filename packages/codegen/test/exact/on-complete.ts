import {
  vOnCompleteArgs,
  vRunResult,
  type RunId,
  type StepError,
  type OnComplete,
  type RunResult,
  type WorkflowManager,
  type WorkflowReference,
} from "@stepwise/workflow";
import {
  internalMutationGeneric,
  type FilterApi,
  type ApiFromModules,
  type FunctionReference,
  type GenericDataModel,
  type GenericMutationCtx,
} from "convex/server";
import { v } from "convex/values";

const withContext = internalMutationGeneric({
  args: vOnCompleteArgs(v.object({ orderId: v.string(), note: v.optional(v.string()) })),
  returns: v.null(),
  handler: async (_ctx, { context, result }) => {
    const told: RunResult = result;
    if (result.state !== "completed") console.log(result.error.cause, context.orderId, told);
    return null;
  },
});
const ofOutput = internalMutationGeneric({
  args: vOnCompleteArgs(v.null(), v.object({ title: v.string() })),
  handler: (_ctx, { result }) =>
    result.state === "completed" ? result.output.title : result.error.message,
});
const withoutContext = internalMutationGeneric({ args: vOnCompleteArgs(), handler: () => null });

type Api = FilterApi<
  ApiFromModules<{
    done: {
      withContext: typeof withContext;
      ofOutput: typeof ofOutput;
      withoutContext: typeof withoutContext;
    };
  }>,
  FunctionReference<"mutation", "internal">
>;

export async function start(
  ctx: GenericMutationCtx<GenericDataModel>,
  workflow: WorkflowManager,
  order: WorkflowReference<{ n: number }>,
  { done }: Api,
): Promise<readonly OnComplete[]> {
  const context = { orderId: "o1" };
  await workflow.start(ctx, order, { n: 1 }, { onComplete: { fn: done.withContext, context } });
  await workflow.start(ctx, order, { n: 1 }, { onComplete: { fn: done.ofOutput, context: null } });
  await workflow.start(ctx, order, { n: 1 }, { onComplete: { fn: done.withoutContext } });
  return [done.withContext, done.ofOutput, done.withoutContext];
}

const byHand = internalMutationGeneric({
  args: {
    runId: v.string(),
    context: v.optional(v.object({ a: v.optional(v.number()) })),
    result: vRunResult(v.any()),
  },
  handler: async (_ctx, { result }): Promise<StepError | null> =>
    result.state === "completed" ? null : result.error,
});
const annotated = internalMutationGeneric(
  async (_ctx, args: { runId: RunId; context: { n?: number }; result: RunResult }) => args.runId,
);
type Api2 = FilterApi<
  ApiFromModules<{ done: { byHand: typeof byHand; annotated: typeof annotated } }>,
  FunctionReference<any, "internal">
>;
export async function start2(
  ctx: GenericMutationCtx<GenericDataModel>,
  workflow: WorkflowManager,
  order: WorkflowReference<{ n: number }>,
  { done }: Api2,
  { done: first }: Api,
): Promise<void> {
  await workflow.start(ctx, order, { n: 1 }, { onComplete: { fn: done.byHand } });
  await workflow.start(
    ctx,
    order,
    { n: 1 },
    { onComplete: { fn: done.byHand, context: { a: 1 } } },
  );
  await workflow.start(
    ctx,
    order,
    { n: 1 },
    { onComplete: { fn: done.annotated, context: { n: 1 } } },
  );
  await workflow.startBatch(ctx, order, [{ n: 1 }], { onComplete: { fn: done.byHand } });
  // @ts-expect-error The context is missing.
  await workflow.start(ctx, order, { n: 1 }, { onComplete: { fn: first.withContext } });
  // @ts-expect-error The context does not fit.
  await workflow.start(ctx, order, { n: 1 }, { onComplete: { fn: first.withContext, context: 1 } });
}
