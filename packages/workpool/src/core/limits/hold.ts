import type { HostCtx, Host } from "../context.js";
import { ensureGate } from "../gate.js";
import { MOST_IN_GATE, whichOf } from "./limits.js";
import { isPause, type Override } from "./overrides.js";
import { poolTx } from "../transaction.js";
import { ROUND_MS } from "./rate.js";

/*
 * A work may say that its limit is to start nothing for a while, as a service has told it: that is
 * a pause with an end, beside those of operators. Many say so at one moment, and one of them
 * writes.
 */

/**
 * Has nothing of a limit start until then: of the work's key, if the limit has keys.
 * @param permits those that the work needs.
 * @returns when the work may be tried again: then, or a little later; null if none of its limits
 * is meant.
 */
export async function holdLimit(
  ctx: HostCtx,
  host: Host,
  permits: readonly string[] | undefined,
  { holds: name, at }: { holds: string; at: number },
): Promise<number | null> {
  const until = at > Date.now() ? Math.ceil(at / ROUND_MS) * ROUND_MS : at;
  // That of a key comes after that of its limit.
  const permit = permits?.findLast((each) => whichOf(each).name === name);
  if (permit === undefined) return null;
  const which = whichOf(permit);
  const gate = await ensureGate(ctx);
  const { limits = {}, overrides = [] }: { limits?: object; overrides?: Override[] } = gate;
  const isOfIt = (each: Override) =>
    isPause(each) && each.isHold === true && each.name === name && each.key === which.key;
  const others = overrides.filter((each) => !isOfIt(each));
  const heldUntil = overrides.find(isOfIt)?.until ?? Date.now();
  // Works of one round were told the same end one after another.
  if (until <= heldUntil + ROUND_MS && heldUntil > Date.now()) return until;
  // With more, only the works themselves wait.
  const isFull = others.filter(({ isHold }) => isHold === true).length >= MOST_IN_GATE;
  if (until <= Date.now() || isFull || !Object.hasOwn(limits, name)) return until;
  const hold: Override = { ...which, by: "RetryAfter", at: Date.now(), until, isHold: true };
  const held = { overrides: [...others, hold] };
  await ctx.db.patch("gate", gate._id, held);
  await ctx.scheduler.runAt(until, host.functions.endOverrides, {});
  // From here on it holds in this transaction too.
  poolTx(ctx).gate = { ...gate, ...held };
  return until;
}
