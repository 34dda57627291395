import {
  createFunctionHandle,
  type FunctionHandle,
  type FunctionReference,
  type FunctionVisibility,
  internalMutationGeneric,
  type MutationBuilder,
  mutationGeneric,
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
import type { Doc, Host, HostCtx, HostQueryCtx } from "./context.js";
import { cancelPending } from "./jobs.js";
import { logs } from "./log.js";
import { messageOf } from "./result.js";
import { HALF_OF_A_TRANSACTION, hasRoom } from "./room.js";
import { CHECK_AGAIN_MS } from "./times.js";
import { type Continued, keepSweeping } from "./watch.js";

/* What is too much for one transaction is done in pages, one after the other. */

type ContinuationId = GenericId<"continuations">;
type Args = { continuation: ContinuationId };
type Row = Doc<"continuations">;
type Scheduling = Pick<Row, "_id" | "fn" | "page">;

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
async function scheduleContinuation(
  ctx: HostCtx,
  { _id, fn, page }: Scheduling,
  { failures, afterMs = 0 }: { failures?: number; afterMs?: number | undefined },
): Promise<void> {
  const next = fn as FunctionHandle<"mutation">;
  const job = await ctx.scheduler.runAfter(afterMs, next, { continuation: _id });
  await ctx.db.patch("continuations", _id, { job, page, failures });
}

/** Cancels a continuation, from outside its function: one that runs now finds nothing to do. */
export async function cancelContinuation(ctx: HostCtx, id: ContinuationId): Promise<void> {
  const row: Row | null = await ctx.db.get("continuations", id);
  if (row === null) return;
  if (row.job !== undefined) await cancelPending(ctx, row.job);
  await ctx.db.delete("continuations", id);
}

const FAILED = "failed";
/** A page names the next one in its own transaction: only a row of a backup names one that ran. */
const ENDED: Readonly<Record<string, string>> = {
  failed: FAILED,
  canceled: "was canceled",
  success: "has run",
};

/** Finds those that the watchdog must repair. Read it stale, as each page writes its document. */
export async function findLostContinuations(ctx: HostQueryCtx): Promise<Continued> {
  const found: Continued = { any: false, lost: [] };
  for await (const row of ctx.db.query("continuations")) {
    found.any = true;
    if ((await lossOf(ctx, row)) !== null) found.lost.push(row._id);
    if (!(await hasRoom(ctx, HALF_OF_A_TRANSACTION))) break;
  }
  return found;
}

/** Schedules lost continuations again. @returns when to check again; undefined if none is there. */
export async function reviveContinuations(
  ctx: HostCtx,
  idle: boolean,
  { any, lost }: Continued = { any: false, lost: [] },
): Promise<number | undefined> {
  for (const id of lost) {
    if (!(await hasRoom(ctx, HALF_OF_A_TRANSACTION))) return Date.now();
    const row: Row | null = await ctx.db.get("continuations", id);
    const why = row === null ? null : await lossOf(ctx, row);
    if (row === null || why === null) continue;
    if (await logs(ctx, "WARN"))
      console.warn(
        `What should have gone on did not, as its scheduled function ${why}: it goes on now`,
      );
    const failures = (row.failures ?? 0) + (why === FAILED ? 1 : 0);
    await scheduleContinuation(ctx, row, { failures }).catch((error: unknown) =>
      console.error(`What should have gone on cannot: ${messageOf(error)}`),
    );
  }
  // That there is none is concluded from the table itself.
  const goesOn = any || (idle && (await ctx.db.query("continuations").first()) !== null);
  return goesOn ? Date.now() + CHECK_AGAIN_MS : undefined;
}

/** What has become of its scheduled function; null if that is still to come. */
async function lossOf(ctx: HostQueryCtx, { job }: Row): Promise<string | null> {
  const scheduled = job && (await ctx.db.system.get("_scheduled_functions", job));
  return scheduled ? (ENDED[scheduled.state.kind] ?? null) : "is gone";
}

/** Makes mutations that return nothing, for a component of which `Ctx` is the context. */
export function mutationsOf<Ctx>() {
  const madeBy =
    <Visibility extends FunctionVisibility>(build: MutationBuilder<any, Visibility>) =>
    <Args extends PropertyValidators>(
      args: Args,
      handle: (ctx: Ctx, args: ObjectType<Args>) => Promise<void>,
    ): RegisteredMutation<Visibility, ObjectType<Args>, Promise<null>> =>
      build<Args, VNull, Promise<null>, [ObjectType<Args>]>({
        args,
        returns: v.null(),
        // The generic builder does not know the component's tables.
        handler: async (ctx, given): Promise<null> => {
          await handle(ctx as Ctx, given);
          return null;
        },
      });
  const voidMutation = madeBy(internalMutationGeneric);
  /**
   * Does one page after the other, until `doPage` returns null instead of the next one.
   * It is told when it all began, in the order of commits and by the time of its creation, and how
   * often the page has failed.
   * @param pauseMs how long before a page. Default: not at all.
   */
  const continuation = <Page extends Value>(
    doPage: (
      ctx: Ctx,
      page: Page,
      told: {
        readonly at: bigint | undefined;
        readonly createdAt: number;
        readonly failures: number;
      },
    ) => Promise<Page | null>,
    pauseMs?: (page: Page) => number,
  ) =>
    voidMutation({ continuation: v.id("continuations") }, async (own, { continuation: id }) => {
      const ctx = own as HostCtx;
      const row: Row | null = await ctx.db.get("continuations", id);
      if (row === null) return;
      const { failures = 0, at, _creationTime: createdAt } = row;
      // The page is what the same function returned, and another transaction has committed it.
      const told = { at: at as bigint | undefined, createdAt, failures };
      const next = await doPage(own, row.page as Page, told);
      if (next === null) await ctx.db.delete("continuations", id);
      else await scheduleContinuation(ctx, { ...row, page: next }, { afterMs: pauseMs?.(next) });
    });
  return { voidMutation, publicMutation: madeBy(mutationGeneric), continuation };
}
