import {
  cleanup as cleanupWorkflow,
  getStatus,
  sendEvent,
  start as startWorkflow,
  vWorkflowId,
  type WorkflowArgs,
  type WorkflowComponent,
} from "@convex-dev/workflow";
import {
  componentsGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
  makeFunctionReference,
  type FunctionReference,
} from "convex/server";
import { v, type VFloat64 } from "convex/values";

const component = componentsGeneric()["workflow"] as unknown as WorkflowComponent;
const chain = { kind: v.string(), length: v.number(), ms: v.number() };

type Workflow = FunctionReference<
  "mutation",
  "internal",
  WorkflowArgs<{ length: VFloat64; ms: VFloat64 }>
>;

/** Starts the workflow of that kind; see `chains.ts`. */
export const start = internalMutationGeneric({
  args: chain,
  returns: vWorkflowId,
  handler: async (ctx, { kind, length, ms }) => {
    const workflow = makeFunctionReference<"mutation">(`chains:${kind}`) as unknown as Workflow;
    return await startWorkflow(ctx, workflow, { length, ms });
  },
});

/** The output of a run that is complete; null before that. */
export const output = internalQueryGeneric({
  args: { ...chain, runId: vWorkflowId },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { runId }) => {
    const status = await getStatus(ctx, component, runId);
    if (status.type === "failed") throw new Error(status.error);
    return status.type === "completed" ? (status.result as number) : null;
  },
});

/** Sends the event that a run waits for. */
export const send = internalMutationGeneric({
  args: { ...chain, runId: vWorkflowId },
  returns: v.null(),
  handler: async (ctx, { runId: workflowId }) => {
    await sendEvent(ctx, component, { name: "one", workflowId, value: 1 });
    return null;
  },
});

/** Removes a run that has ended. */
export const cleanup = internalMutationGeneric({
  args: { runId: vWorkflowId },
  returns: v.null(),
  handler: async (ctx, { runId }) => {
    await cleanupWorkflow(ctx, component, runId);
    return null;
  },
});
