import type { Value } from "convex/values";
import type { Info } from "../definition/context.js";
import { durationMs } from "../definition/duration.js";
import type { Policy } from "../definition/node.js";
import { describeThrown, Failure, type Problem } from "../errors/failure.js";
import { checkedOutput } from "../values.js";

/** The longest that a timer takes; beyond, it fires at once. No action may run that long anyway. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export type Attempt = { kind: "success"; output: Value } | { kind: "failed"; problem: Problem };

/** Runs an action's handler once: its result checked, its error described, its time limited. */
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
      timeout === undefined ? undefined : durationMs(timeout, `The timeout of "${stage}"`);
    const result = (async () => handler({ ...info, signal: abort.signal }))();
    const expired = new Promise<never>((_resolve, reject) => {
      if (limit === undefined) return;
      timer = setTimeout(
        () => {
          abort.abort();
          reject(new Failure("timedOut", `"${stage}" took longer than its timeout of ${timeout}`));
        },
        Math.min(limit, MAX_TIMER_MS),
      );
    });
    return { kind: "success", output: checkedOutput(stage, await Promise.race([result, expired])) };
  } catch (error) {
    return { kind: "failed", problem: describeThrown(error) };
  } finally {
    clearTimeout(timer);
  }
}
