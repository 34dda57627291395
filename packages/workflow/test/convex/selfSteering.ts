import { vRunId, type WorkflowReference } from "@stepwise/workflow";
import { v } from "convex/values";
import { internal } from "./_generated/api";
import { internalAction, internalMutation } from "./_generated/server";
import { workflow, workflows } from "./_workflows/index";

/* What steps and callbacks do to their own runs. */

const named = workflows as unknown as Record<string, WorkflowReference<unknown>>;
function reference(name: string): WorkflowReference<unknown> {
  const found = named[name];
  if (found === undefined) throw new Error(`The test app has no workflow "${name}"`);
  return found;
}

/** Starts a run and does something to it in the same transaction. */
export const startAnd = internalMutation({
  args: {
    name: v.string(),
    input: v.any(),
    how: v.union(v.literal("cancel"), v.literal("pause"), v.literal("send")),
    event: v.optional(v.object({ name: v.string(), payload: v.any() })),
  },
  returns: vRunId,
  handler: async (ctx, { name, input, how, event }): Promise<string> => {
    const runId = await workflow.start(ctx, reference(name), input);
    if (how === "cancel") await workflow.cancel(ctx, runId);
    if (how === "pause") await workflow.pause(ctx, runId);
    if (event !== undefined)
      await workflow.sendEvent(ctx, reference(name), runId, event.name, event.payload);
    return runId;
  },
});

/** What an action may do to its own run. */
export const steer = internalAction({
  args: { name: v.string(), runId: vRunId, how: v.string() },
  returns: v.string(),
  handler: async (ctx, { name, runId, how }): Promise<string> => {
    if (how === "cancel") return String(await workflow.cancel(ctx, runId));
    if (how === "pause") return String(await workflow.pause(ctx, runId));
    try {
      await ctx.runMutation(internal.manager.restart, { name, runId });
      return "restarted";
    } catch (error) {
      return (error as Error).message;
    }
  },
});

const ended = { runId: vRunId, context: v.any(), result: v.any() };

/** A callback that removes the run, and starts another with the same key. */
export const replaced = internalMutation({
  args: ended,
  returns: v.null(),
  handler: async (ctx, { runId, context, result }) => {
    await ctx.db.insert("log", { text: `ended ${(result as { state: string }).state}` });
    await workflow.cleanup(ctx, runId);
    const { name, input } = context as { name: string; input: unknown };
    await workflow.start(ctx, reference(name), input, { key: "only" });
    return null;
  },
});

/** A callback that has the run begin anew, once. */
export const anew = internalMutation({
  args: ended,
  returns: v.null(),
  handler: async (ctx, { runId, context, result }) => {
    const text = `ended ${(result as { state: string }).state}`;
    await ctx.db.insert("log", { text });
    const log = await ctx.db.query("log").collect();
    if (log.filter((line) => line.text.startsWith("ended")).length > 1) return null;
    await workflow.restart(ctx, reference((context as { name: string }).name), runId);
    return null;
  },
});

export const startWith = internalMutation({
  args: {
    name: v.string(),
    input: v.any(),
    callback: v.union(v.literal("replaced"), v.literal("anew")),
    next: v.optional(v.any()),
  },
  returns: vRunId,
  handler: async (ctx, { name, input, callback, next }): Promise<string> =>
    await workflow.start(ctx, reference(name), input, {
      key: "only",
      onComplete: { fn: internal.selfSteering[callback], context: { name, input: next ?? input } },
    }),
});
