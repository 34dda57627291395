import { Workpool } from "@convex-dev/workpool";
import { v } from "convex/values";
import { components, internal } from "./_generated/api.js";
import type { Doc } from "./_generated/dataModel.js";
import { internalAction, internalMutation, type MutationCtx } from "./_generated/server.js";
import * as server from "./server.js";

const pool = new Workpool(components.workpool, {
  maxParallelism: 20,
  defaultRetryBehavior: { maxAttempts: 3, initialBackoffMs: 1_000, base: 2 },
});
const order = { customer: v.string(), n: v.number() };
const context = v.object({ id: v.id("orders") });

export const start = internalMutation({
  args: order,
  handler: async (ctx, { customer, n }) => {
    await ctx.db.insert("orders", { customer, n, runs: false });
    await startNext(ctx, customer);
  },
});

async function startNext(ctx: MutationCtx, customer: string) {
  const of = (runs: boolean) =>
    ctx.db
      .query("orders")
      .withIndex("by_customer", (q) => q.eq("customer", customer).eq("runs", runs));
  if ((await of(true).first()) !== null) return;
  const next = await of(false).first();
  if (next === null) return;
  await ctx.db.patch("orders", next._id, { runs: true });
  await pool.enqueueAction(
    ctx,
    internal.orders.charge,
    { customer, n: next.n },
    { onComplete: internal.orders.charged, context: { id: next._id }, retry: true },
  );
}

export const charge = internalAction({
  args: order,
  handler: async (_ctx, given) => await server.charge(given),
});

export const charged = pool.defineOnComplete({
  context,
  handler: async (ctx: MutationCtx, { context: { id }, result }) => {
    const found = await ctx.db.get("orders", id);
    if (found === null) return;
    const { customer, n } = found;
    if (result.kind !== "success") return await endOrder(ctx, found);
    await pool.enqueueAction(
      ctx,
      internal.orders.ship,
      { customer, n },
      { onComplete: internal.orders.shipped, context: { id }, retry: true },
    );
  },
});

export const ship = internalAction({
  args: order,
  handler: async (_ctx, given) => await server.ship(given),
});

export const shipped = pool.defineOnComplete({
  context,
  handler: async (ctx: MutationCtx, { context: { id } }) => {
    const found = await ctx.db.get("orders", id);
    if (found !== null) await endOrder(ctx, found);
  },
});

async function endOrder(ctx: MutationCtx, { _id, customer }: Doc<"orders">) {
  await ctx.db.delete("orders", _id);
  await startNext(ctx, customer);
}
