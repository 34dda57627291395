import {
  vOnCompleteArgs,
  vRunId,
  WorkflowManager,
  type ListFilter,
  type WorkflowReference,
} from "@stepwise/workflow";
import { v, type Value } from "convex/values";
import { components, internal } from "./_generated/api";
import { internalAction, internalMutation, internalQuery } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";

/*
 * Every member of the manager, for tests that name workflows. Their types are set aside here;
 * test/types is about those.
 */

const named = workflows as unknown as Record<string, WorkflowReference<unknown>>;
function reference(name: string): WorkflowReference<unknown> {
  const found = named[name];
  if (found === undefined) throw new Error(`The test app has no workflow "${name}"`);
  return found;
}

/** One that keeps runs for an hour after their end. */
const forgetful = new WorkflowManager(components.workflow, { retention: "1h" });

const startArgs = {
  name: v.string(),
  input: v.any(),
  key: v.optional(v.string()),
  reuse: v.optional(v.any()),
  runAt: v.optional(v.number()),
  runAfter: v.optional(v.any()),
  /** Handed to `ended`. */
  context: v.optional(v.any()),
  isForgetful: v.optional(v.boolean()),
};

export const start = internalMutation({
  args: startArgs,
  returns: vRunId,
  // `internal.manager` is this very file: so its type is said, not found.
  handler: async (ctx, { name, input, context, isForgetful, ...options }): Promise<string> =>
    await (isForgetful ? forgetful : workflow).start(ctx, reference(name), input, {
      ...options,
      ...(context === undefined ? {} : { onComplete: { fn: internal.manager.ended, context } }),
    }),
});

export const startOnDate = internalMutation({
  args: { name: v.string(), input: v.any(), at: v.number() },
  returns: vRunId,
  handler: async (ctx, { name, input, at }) =>
    await workflow.start(ctx, reference(name), input, { runAt: new Date(at) }),
});

/** Two starts with one key in one transaction. */
export const startTwice = internalMutation({
  args: { name: v.string(), input: v.any(), key: v.string() },
  returns: v.array(vRunId),
  handler: async (ctx, { name, input, key }) => [
    await workflow.start(ctx, reference(name), input, { key }),
    await workflow.start(ctx, reference(name), input, { key }),
  ],
});

const vReuse = v.optional(v.union(v.literal("never"), v.literal("ended"), v.literal("failed")));

export const startOrGet = internalMutation({
  args: { name: v.string(), input: v.any(), key: v.string(), reuse: vReuse },
  returns: v.object({ runId: vRunId, started: v.boolean() }),
  handler: async (ctx, { name, input, ...options }) =>
    await workflow.startOrGet(ctx, reference(name), input, options),
});

const vRun = v.union(v.string(), v.object({ key: v.string() }));

/** A member that is told the workflow and a run of it. */
export const steer = internalMutation({
  args: {
    how: v.union(v.literal("cancel"), v.literal("pause"), v.literal("resume")),
    name: v.string(),
    run: vRun,
  },
  returns: v.boolean(),
  handler: async (ctx, { how, name, run }) => await workflow[how](ctx, reference(name), run),
});

export const status = internalQuery({
  args: { name: v.string(), run: vRun },
  returns: v.any(),
  handler: async (ctx, { name, run }) => await workflow.status(ctx, reference(name), run),
});

export const startInAction = internalAction({
  args: { name: v.string(), input: v.any() },
  returns: v.any(),
  handler: async (ctx, { name, input }) => {
    const runId = await workflow.start(ctx, reference(name), input);
    return { runId, status: await workflow.status(ctx, reference(name), runId) };
  },
});

const batchArgs = {
  name: v.string(),
  inputs: v.array(v.any()),
  keyed: v.optional(v.boolean()),
  reuse: vReuse,
};

export const startBatch = internalMutation({
  args: batchArgs,
  returns: v.array(vRunId),
  handler: async (ctx, { name, inputs, keyed, reuse }) =>
    await workflow.startBatch(ctx, reference(name), inputs, keyed ? { key: keyOf, reuse } : {}),
});

export const startBatchInAction = internalAction({
  args: batchArgs,
  returns: v.array(vRunId),
  handler: async (ctx, { name, inputs, keyed }) =>
    await workflow.startBatch(ctx, reference(name), inputs, keyed ? { key: keyOf } : {}),
});

function keyOf(input: unknown): string {
  return `key ${(input as { n: number }).n}`;
}

/**
 * Writes down what it is called with and what it sees. As its context says it then fails, removes
 * the run, or restarts one of that workflow if it has failed.
 */
export const ended = internalMutation({
  args: vOnCompleteArgs(v.any()),
  returns: v.null(),
  handler: async (ctx, { runId, context, result }) => {
    const seen = await ctx.runQuery(components.workflow.views.status, { run: { runId } });
    await ctx.db.insert("log", {
      text: JSON.stringify({ context, result, seen: seen?.state }),
    });
    const { throws, removes, restarts } = Object(context) as Record<string, string>;
    if (throws === "all") throw new Error(JSON.stringify(result));
    if (throws === "at its limits") for (;;) await ctx.db.query("log").first();
    if (throws !== undefined) throw new Error("the callback fails");
    if (removes !== undefined) await workflow.cleanup(ctx, runId);
    if (restarts !== undefined && result.state === "failed")
      await workflow.restart(ctx, reference(restarts), runId);
    return null;
  },
});

export const sendEvent = internalMutation({
  args: {
    name: v.string(),
    run: vRun,
    event: v.string(),
    payload: v.any(),
  },
  returns: v.string(),
  handler: async (ctx, { name, run, event, payload }) =>
    await workflow.sendEvent(ctx, reference(name), run, event, payload),
});

/** A sender that catches: its transaction goes on. */
export const sendOrLog = internalMutation({
  args: { name: v.string(), runId: vRunId, event: v.string(), payload: v.any() },
  returns: v.null(),
  handler: async (ctx, { name, runId, event, payload }) => {
    try {
      await workflow.sendEvent(ctx, reference(name), runId, event, payload);
    } catch (error) {
      await ctx.db.insert("log", { text: (error as Error).message });
    }
    return null;
  },
});

export const restart = internalMutation({
  args: {
    name: v.string(),
    runId: vRunId,
    from: v.optional(v.string()),
    iteration: v.optional(v.number()),
    input: v.optional(v.any()),
  },
  returns: v.null(),
  handler: async (ctx, { name, runId, ...options }) => {
    await workflow.restart(ctx, reference(name), runId, options);
    return null;
  },
});

export const pause = internalMutation({
  args: { runId: vRunId },
  returns: v.boolean(),
  handler: async (ctx, { runId }) => await workflow.pause(ctx, runId),
});

export const resume = internalMutation({
  args: { runId: vRunId },
  returns: v.boolean(),
  handler: async (ctx, { runId }) => await workflow.resume(ctx, runId),
});

export const cleanup = internalMutation({
  args: { runId: vRunId },
  returns: v.null(),
  handler: async (ctx, { runId }) => {
    await workflow.cleanup(ctx, runId);
    return null;
  },
});

export const repair = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => {
    await workflow.repair(ctx);
    return null;
  },
});

const vPageOptions = v.object({ numItems: v.number(), cursor: v.union(v.string(), v.null()) });

export const steps = internalQuery({
  args: { name: v.string(), runId: vRunId, page: vPageOptions },
  returns: v.any(),
  handler: async (ctx, { name, runId, page }) =>
    (await workflow.steps(ctx, reference(name), runId, page)) as unknown as Value,
});

function filterOf(filter: { workflow?: string }): ListFilter<WorkflowReference<unknown>> {
  const { workflow: name, ...rest } = filter;
  return { ...rest, ...(name === undefined ? {} : { workflow: reference(name) }) };
}

export const list = internalQuery({
  args: { filter: v.any(), page: vPageOptions },
  returns: v.any(),
  handler: async (ctx, { filter, page }) =>
    (await workflow.list(ctx, filterOf(filter), page)) as unknown as Value,
});

export const startBulk = internalMutation({
  args: { options: v.any() },
  returns: v.string(),
  handler: async (ctx, { options }) =>
    await workflow.bulk.start(ctx, { ...options, where: filterOf(options.where) }),
});

export const stopBulk = internalMutation({
  args: { bulkId: v.string() },
  returns: v.boolean(),
  handler: async (ctx, { bulkId }) => await workflow.bulk.stop(ctx, bulkId),
});

export const bulks = internalQuery({
  args: { bulkId: v.optional(v.string()), where: v.optional(v.any()) },
  returns: v.any(),
  handler: async (ctx, { bulkId, where }) => {
    const { bulk } = workflow;
    if (where !== undefined) return await bulk.count(ctx, filterOf(where));
    return bulkId === undefined
      ? await bulk.list(ctx, { numItems: 10, cursor: null })
      : await bulk.get(ctx, bulkId);
  },
});

export const waits = internalQuery({
  args: { runId: vRunId, page: v.optional(vPageOptions) },
  returns: v.any(),
  handler: async (ctx, { runId, page }) =>
    (await workflow.waits(ctx, runId, page)) as unknown as Value,
});
