import type { Value } from "convex/values";
import type { Info } from "../definition/context.js";
import { durationMs } from "../rules.js";
import type { Policy } from "../definition/node.js";
import { describeThrown, Failure, type Problem } from "../errors/failure.js";
import { checkedOutput } from "../values.js";

/** The longest that a timer takes; beyond, it fires at once. No action may run that long anyway. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export type Attempt = { kind: "success"; output: Value } | { kind: "failed"; problem: Problem };

/**
 * Runs an action's handler once: its result checked, its error described, its time limited. One that ends after its limit has timed out,
 * whatever it gave: no timer fires while it computes.
 */
export async function attemptOf(
  stage: string,
  { timeout }: Policy,
  info: Omit<Info, "signal">,
  handler: (info: Info) => unknown,
): Promise<Attempt> {
  const abort = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const limit =
      timeout === undefined ? Infinity : durationMs(timeout, `The timeout of "${stage}"`);
    const output = await new Promise<unknown>((resolve, reject) => {
      const startedAt = Date.now();
      const expire = () => {
        abort.abort();
        reject(new Failure("timedOut", `"${stage}" took longer than its timeout of ${timeout}`));
      };
      if (limit < Infinity) timer = setTimeout(expire, Math.min(limit, MAX_TIMER_MS));
      const run = async () => handler({ ...info, signal: abort.signal });
      run()
        .finally(() => {
          if (Date.now() - startedAt > limit) expire();
        })
        .then(resolve, reject);
    });
    return { kind: "success", output: checkedOutput(stage, output) };
  } catch (error) {
    return { kind: "failed", problem: describeThrown(error) };
  } finally {
    clearTimeout(timer);
  }
}
