import {
  DEFAULT_RETRY_BEHAVIOR,
  NonRetryableError,
  type RunResult,
  vOnCompleteArgs,
  vWorkId,
  Workpool,
} from "@stepwise/workpool";
import type { ComponentApi } from "@stepwise/workpool/_generated/component.js";
import {
  componentsGeneric,
  type GenericMutationCtx,
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
  makeFunctionReference,
  type MutationBuilder,
  type QueryBuilder,
} from "convex/server";
import { v } from "convex/values";
import type { DataModel } from "../schema.js";

const components = componentsGeneric() as unknown as { workpool: ComponentApi<"workpool"> };
const internalMutation: MutationBuilder<DataModel, "internal"> = internalMutationGeneric;
const internalQuery: QueryBuilder<DataModel, "internal"> = internalQueryGeneric;

const pool = new Workpool(components.workpool, {
  maxParallelism: 3,
  logLevel: "ERROR",
  retryActionsByDefault: true,
  defaultRetryBehavior: { ...DEFAULT_RETRY_BEHAVIOR, initialBackoffMs: 100 },
});

type Send = { address: string; failures: number; forGood?: boolean };
const send = makeFunctionReference<"action", Send, string>("app:send");
const attempt = makeFunctionReference<"mutation", { address: string }, number>("app:attempt");
const add = makeFunctionReference<"mutation", { n: number }, number>("app:add");
const count = makeFunctionReference<"query", Record<string, never>, number>("app:count");
const sent = makeFunctionReference<
  "mutation",
  { workId: any; context: { label: string }; result: RunResult }
>("app:sent");
const added = makeFunctionReference<
  "mutation",
  { workId: any; context: string; result: RunResult }
>("app:added");

/** Sends an e-mail, at the attempt after so many failures. */
export const sendEmail = internalActionGeneric({
  args: { address: v.string(), failures: v.number(), forGood: v.optional(v.boolean()) },
  handler: async (ctx, { address, failures, forGood }): Promise<string> => {
    const attempts: number = await ctx.runMutation(attempt, { address });
    if (forGood === true) throw new NonRetryableError(`${address} does not exist`);
    if (attempts <= failures) throw new Error(`${address} is busy`);
    return `sent to ${address} at attempt ${attempts}`;
  },
});
export { sendEmail as send };

export const attemptEmail = internalMutation({
  args: { address: v.string() },
  handler: async (ctx, { address }): Promise<number> => {
    const email = await ctx.db
      .query("emails")
      .withIndex("by_address", (q) => q.eq("address", address))
      .unique();
    if (email === null) await ctx.db.insert("emails", { address, attempts: 1 });
    else await ctx.db.patch(email._id, { attempts: email.attempts + 1 });
    return (email?.attempts ?? 0) + 1;
  },
});
export { attemptEmail as attempt };

export const addOne = internalMutation({
  args: { n: v.number() },
  handler: async (ctx, { n }): Promise<number> => {
    await ctx.db.insert("outcomes", { label: `add ${n}`, kind: "written", value: n });
    if (n < 0) throw new Error("negative");
    return n + 1;
  },
});
export { addOne as add };

export const countEmails = internalQuery({
  args: {},
  handler: async (ctx): Promise<number> => (await ctx.db.query("emails").collect()).length,
});
export { countEmails as count };

/** A callback that the class defines. */
export const emailSent = pool.defineOnComplete({
  context: v.object({ label: v.string() }),
  handler: async (ctx: GenericMutationCtx<DataModel>, { context, result }) => {
    const value = result.kind === "success" ? result.returnValue : null;
    await ctx.db.insert("outcomes", { label: context.label, kind: result.kind, value });
  },
});
export { emailSent as sent };

/** A callback that is defined by hand. */
export const addedOne = internalMutation({
  args: vOnCompleteArgs(v.string()),
  handler: async (ctx: GenericMutationCtx<DataModel>, { context, result }) => {
    const value = result.kind === "failed" ? result.error.includes("negative") : null;
    await ctx.db.insert("outcomes", { label: context, kind: result.kind, value });
  },
});
export { addedOne as added };

export const start = internalMutation({
  args: {},
  returns: v.array(vWorkId),
  handler: async (ctx) => {
    const email = (address: string, failures: number) =>
      pool.enqueueAction(
        ctx,
        send,
        { address, failures },
        { onComplete: sent, context: { label: address } },
      );
    const ids = [await email("a", 0), await email("b", 2), await email("c", 9)];
    ids.push(
      await pool.enqueueAction(
        ctx,
        send,
        { address: "d", failures: 0, forGood: true },
        { onComplete: sent, context: { label: "d" }, retry: true, name: "to d" },
      ),
      await pool.enqueueAction(
        ctx,
        send,
        { address: "e", failures: 1 },
        { onComplete: sent, context: { label: "e" }, retry: false },
      ),
      await pool.enqueueQuery(ctx, count, {}, { onComplete: added, context: "count" }),
    );
    ids.push(
      ...(await pool.enqueueMutationBatch(ctx, add, [{ n: 1 }, { n: -1 }, { n: 2 }], {
        onComplete: added,
        context: "batch",
        onCompleteExcludeKinds: ["success"],
        runAfter: 500,
      })),
    );
    const late = await pool.enqueueMutation(
      ctx,
      add,
      { n: 99 },
      { onComplete: added, context: "late", runAt: Date.now() + 3_600_000 },
    );
    await pool.cancel(ctx, late);
    return ids;
  },
});

export const states = internalQuery({
  args: { ids: v.array(vWorkId) },
  handler: async (ctx, { ids }): Promise<string[]> => {
    const [first] = ids;
    const one = first === undefined ? [] : [await pool.status(ctx, first)];
    return [...one, ...(await pool.statusBatch(ctx, ids))].map((status) => status.state);
  },
});

export const stop = internalMutation({
  args: {},
  handler: async (ctx) => {
    await pool.enqueueMutation(
      ctx,
      add,
      { n: 7 },
      { runAfter: 60_000, onComplete: added, context: "stopped" },
    );
    await pool.cancelAll(ctx, { limit: 10 });
  },
});
