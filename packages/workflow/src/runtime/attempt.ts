import { reportBy } from "@stepwise/workpool/core";
import type { Value } from "convex/values";
import { reportOf } from "../attempts.js";
import type { Token } from "../component/validators.js";
import type { ActionCtx, Info, StepError } from "../definition/context.js";
import type { Bound, Reported } from "./functions.js";
import { tagging } from "./tags.js";

type Identity = Pick<Token, "run" | "iterations" | "generation">;

export function identityOf({ run, iterations = [], generation = 1 }: Identity, stage: string) {
  const inLoops = iterations.length === 0 ? "" : `#${iterations.join(".")}`;
  const again = generation === 1 ? "" : `~${generation}`;
  return { runId: run, idempotencyKey: `${run}/${stage}${inLoops}${again}` };
}

/**
 * What a mutation or query is told of its step, which has one attempt, and cannot be overtaken.
 * @param ctx that of a query cannot run a mutation.
 */
export function nestedInfo(
  ctx: Parameters<typeof tagging>[0],
  { component }: Bound,
  of: Identity,
  stage: string,
): Info {
  return {
    ...identityOf(of, stage),
    attempt: 1,
    previousError: null,
    isCanceled: async () => false,
    tag: tagging(ctx, component, of.run),
    get signal() {
      return new AbortController().signal;
    },
  };
}

/**
 * Calls the completion after an attempt, then without fusion; then the component stores the result.
 * Without a slot it returns what it would report: an executor does.
 */
export async function report(
  ctx: ActionCtx,
  { component, workflow, functions }: Bound,
  stage: string,
  { token, slot, beganAt }: { token: Token; slot: string | undefined; beganAt: number },
  attempt: Promise<Value> | { error: StepError },
): Promise<Reported | null> {
  const at = { workflow, node: stage, attempt: token.attempt };
  const report =
    "error" in attempt
      ? { kind: "failed" as const, error: attempt.error, beganAt }
      : await reportOf(attempt, at, beganAt);
  if (slot === undefined) return report;
  const completion = functions.completion(stage);
  const complete = (fuse: boolean) => () =>
    ctx.runMutation(completion, { token, slot, report, fuse });
  const keep = () => ctx.runMutation(component.lib.keep, { token, slot, report });
  const later = () => ctx.scheduler.runAfter(0, completion, { token, slot, report, fuse: false });
  await reportBy([complete(true), complete(false), keep], beganAt, later);
  return null;
}
