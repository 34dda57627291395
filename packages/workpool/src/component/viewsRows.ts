import { type Infer, v } from "convex/values";
import { vResultKind } from "../core/index.js";
import type { Doc } from "./_generated/dataModel.js";
import type { QueryCtx } from "./_generated/server.js";
import { vWorkKind } from "./schema.js";

/** A work in a list. Its arguments and its context are left out: they may be large, or secret. */
export const vSeenWork = v.object({
  workId: v.string(),
  /** Null where its record is gone, which should not be. */
  kind: v.union(vWorkKind, v.null()),
  name: v.union(v.string(), v.null()),
  /** Attempts that have ended. */
  previousAttempts: v.number(),
  /** In ms since the epoch; of what, the list says. */
  at: v.number(),
  /** Whether it was canceled while it ran: a failure is not tried again. */
  canceled: v.boolean(),
});
export type SeenWork = Infer<typeof vSeenWork>;

export const vDelayedWork = v.object({
  ...vSeenWork.fields,
  /** What was to start it is canceled, gone, or has failed: it starts with the next look of the watchdog after its time, or by `lib.repair`. */
  stalled: v.boolean(),
});

export const vFailedCallback = v.object({
  id: v.string(),
  workId: v.string(),
  /** The name of the work. */
  name: v.optional(v.string()),
  resultKind: vResultKind,
  error: v.string(),
  at: v.number(),
});

export function seen(work: Doc<"works">, at: number): SeenWork {
  const { _id, kind, name, attempts, canceled } = work;
  return {
    workId: _id,
    kind,
    name: name ?? null,
    previousAttempts: attempts,
    at,
    canceled: canceled ?? false,
  };
}

export async function seenById(ctx: QueryCtx, id: string, at: number): Promise<SeenWork> {
  const workId = ctx.db.normalizeId("works", id);
  const work = workId === null ? null : await ctx.db.get("works", workId);
  if (work !== null) return seen(work, at);
  return { workId: id, kind: null, name: null, previousAttempts: 0, at, canceled: false };
}
