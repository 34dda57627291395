import {
  createFunctionHandle,
  type FunctionHandle,
  type FunctionReference,
  internalMutationGeneric,
  type RegisteredMutation,
} from "convex/server";
import {
  type GenericId,
  type ObjectType,
  type PropertyValidators,
  v,
  type Value,
  type VNull,
} from "convex/values";
import type { Doc, Host, HostCtx } from "./context.js";
import { cancelPending } from "./jobs.js";
import { keepSweeping } from "./watch.js";

/* What is too much for one transaction is done in pages, one after the other. */

type ContinuationId = GenericId<"continuations">;
type Args = { continuation: ContinuationId };
type Row = Pick<Doc<"continuations">, "_id" | "fn" | "page">;

/**
 * Goes on in a later transaction. If its function is lost or fails, it is scheduled again.
 * @param fn made with `continuation`, called with `page`.
 */
export async function continueLater(
  ctx: HostCtx,
  host: Host,
  fn: FunctionReference<"mutation", "internal", Args, null>,
  page: Value,
  afterMs = 0,
): Promise<ContinuationId> {
  const row = { fn: await createFunctionHandle(fn), page };
  const at = ctx.db.vars.commitTs;
  const _id: ContinuationId = await ctx.db.insert("continuations", { ...row, at });
  await scheduleContinuation(ctx, { ...row, _id }, { afterMs });
  await keepSweeping(ctx, host);
  return _id;
}

/** Schedules the next page. @param failures how often it has failed in a row. */
export async function scheduleContinuation(
  ctx: HostCtx,
  { _id, fn, page }: Row,
  { failures, afterMs = 0 }: { failures?: number; afterMs?: number } = {},
): Promise<void> {
  const next = fn as FunctionHandle<"mutation">;
  const job = await ctx.scheduler.runAfter(afterMs, next, { continuation: _id });
  await ctx.db.patch("continuations", _id, { job, page, failures });
}

/** Cancels a continuation, from outside its function: one that runs now finds nothing to do. */
export async function cancelContinuation(ctx: HostCtx, id: ContinuationId): Promise<void> {
  const row: Doc<"continuations"> | null = await ctx.db.get("continuations", id);
  if (row === null) return;
  if (row.job !== undefined) await cancelPending(ctx, row.job);
  await ctx.db.delete("continuations", id);
}

/** Makes internal mutations that return nothing, for a component of which `Ctx` is the context. */
export function mutationsOf<Ctx>() {
  const voidMutation = <Args extends PropertyValidators>(
    args: Args,
    handle: (ctx: Ctx, args: ObjectType<Args>) => Promise<void>,
  ): RegisteredMutation<"internal", ObjectType<Args>, Promise<null>> =>
    internalMutationGeneric<Args, VNull, Promise<null>, [ObjectType<Args>]>({
      args,
      returns: v.null(),
      // The generic builder does not know the component's tables.
      handler: async (ctx, given): Promise<null> => {
        await handle(ctx as Ctx, given);
        return null;
      },
    });
  /**
   * Does one page after the other, until `doPage` returns null instead of the next one.
   * It is told when it all began, in the order of commits, and how often the page has failed.
   */
  const continuation = <Page extends Value>(
    doPage: (
      ctx: Ctx,
      page: Page,
      told: { readonly at: bigint | undefined; readonly failures: number },
    ) => Promise<Page | null>,
  ) =>
    voidMutation({ continuation: v.id("continuations") }, async (own, { continuation: id }) => {
      const ctx = own as HostCtx;
      const row: Doc<"continuations"> | null = await ctx.db.get("continuations", id);
      if (row === null) return;
      const { failures = 0, at } = row;
      // The page is what the same function returned, and another transaction has committed it.
      const told = { at: at as bigint | undefined, failures };
      const next = await doPage(own, row.page as Page, told);
      if (next === null) await ctx.db.delete("continuations", id);
      else await scheduleContinuation(ctx, { ...row, page: next });
    });
  return { voidMutation, continuation };
}
