import type { Infer, Value } from "convex/values";
import type { vReported } from "./component/protocol.js";
import type { StepError } from "./definition/context.js";
import { describeThrown, Failure } from "./errors/failure.js";
import { askedBy } from "./errors/retry-after.js";
import { type Duration, durationMs } from "./rules.js";
import { checkedOutput } from "./values.js";

/** The longest that a timer takes; beyond, it fires at once. No action can run that long anyway. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Runs an action once. No timer fires while it computes: its time is checked again. */
export async function attemptOf(
  stage: string,
  timeout: Duration | undefined,
  call: (signal: AbortSignal) => unknown,
): Promise<Value> {
  const abort = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const of = `The timeout of "${stage}"`;
    const limit = timeout === undefined ? Infinity : durationMs(timeout, of);
    const output = await new Promise<unknown>((resolve, reject) => {
      const startedAt = Date.now();
      const expire = () => {
        abort.abort();
        reject(new Failure("timedOut", `"${stage}" took longer than its timeout of ${timeout}`));
      };
      if (limit < Infinity) timer = setTimeout(expire, Math.min(limit, MAX_TIMER_MS));
      const run = async () => call(abort.signal);
      run()
        .finally(() => {
          if (Date.now() - startedAt > limit) expire();
        })
        .then(resolve, reject);
    });
    return checkedOutput(stage, output);
  } finally {
    clearTimeout(timer);
  }
}

/** What an action reports of its attempt. */
export async function reportOf(
  attempt: Promise<Value>,
  at: Pick<StepError, "workflow" | "node" | "attempt">,
  beganAt: number,
): Promise<Infer<typeof vReported>> {
  try {
    return { kind: "success", output: await attempt, beganAt };
  } catch (thrown) {
    const asked = askedBy(thrown);
    const error = { ...describeThrown(thrown), ...at };
    return { kind: "failed", error, retryAt: asked?.at, holds: asked?.holds, beganAt };
  }
}
