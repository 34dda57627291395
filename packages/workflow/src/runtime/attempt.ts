import { reportBy } from "@stepwise/workpool/core";
import type { GenericActionCtx } from "convex/server";
import type { Value } from "convex/values";
import type { Token } from "../component/validators.js";
import type { Info, StepError } from "../definition/context.js";
import type { Policy } from "../definition/node.js";
import { describeThrown, Failure } from "../errors/failure.js";
import { askedBy } from "../errors/retry-after.js";
import { durationMs } from "../rules.js";
import { checkedOutput } from "../values.js";
import type { Bound, Reported } from "./functions.js";

type Identity = Pick<Token, "run" | "iterations" | "generation">;

export function identityOf({ run, iterations = [], generation = 1 }: Identity, stage: string) {
  const inLoops = iterations.length === 0 ? "" : `#${iterations.join(".")}`;
  const again = generation === 1 ? "" : `~${generation}`;
  return { runId: run, idempotencyKey: `${run}/${stage}${inLoops}${again}` };
}

/** The same for a mutation or query, which has one attempt, and cannot be overtaken. */
export function nestedInfo(of: Identity, stage: string, tag: Info["tag"]): Info {
  return {
    ...identityOf(of, stage),
    attempt: 1,
    previousError: null,
    isCanceled: async () => false,
    tag,
    get signal() {
      return new AbortController().signal;
    },
  };
}

/** The longest that a timer takes; beyond, it fires at once. No action can run that long anyway. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Runs an action's handler once. No timer fires while it computes: its time is checked again. */
export async function attemptOf(
  stage: string,
  { timeout }: Policy,
  info: Omit<Info, "signal">,
  handler: (info: Info) => unknown,
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
      const run = async () => handler({ ...info, signal: abort.signal });
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

/**
 * Calls the completion after an attempt, then without fusion; then the component stores the result.
 * Without a slot it returns what it would report: an executor does.
 */
export async function report(
  ctx: GenericActionCtx<any>,
  { component, workflow, functions }: Bound,
  stage: string,
  { token, slot, beganAt }: { token: Token; slot: string | undefined; beganAt: number },
  attempt: Promise<Value> | { error: StepError },
): Promise<Reported | null> {
  const at = { workflow, node: stage, attempt: token.attempt };
  const failed = (error: StepError, asked?: ReturnType<typeof askedBy>) => ({
    kind: "failed" as const,
    error,
    retryAt: asked?.at,
    holds: asked?.holds,
  });
  const outcome =
    "error" in attempt
      ? failed(attempt.error)
      : await attempt.then(
          (output) => ({ kind: "success" as const, output }),
          (error: unknown) => failed({ ...describeThrown(error), ...at }, askedBy(error)),
        );
  const report = { ...outcome, beganAt };
  if (slot === undefined) return report;
  const completion = functions.completion(stage);
  const complete = (fuse: boolean) => () =>
    ctx.runMutation(completion, { token, slot, report, fuse });
  const keep = () => ctx.runMutation(component.lib.keep, { token, slot, report });
  const later = () => ctx.scheduler.runAfter(0, completion, { token, slot, report, fuse: false });
  await reportBy([complete(true), complete(false), keep], beganAt, later);
  return null;
}
