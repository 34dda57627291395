import { type AttemptToRun, hasRoom, leaveRoom, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import type { FunctionHandle } from "convex/server";
import type { MutationCtx } from "../_generated/server.js";
import type { Asked, Call, Via } from "../protocol.js";
import type { Token } from "../validators.js";
import { stepWithId } from "./steps.js";

/** What an executor gets of a step; `via` is known of one that follows another in its slot. */
interface Of {
  readonly args: { readonly token: Token; readonly scope: unknown };
  readonly via?: Via | undefined;
}

/** Adds what their workflows say of these steps: what to call, and where the reports enter. */
export async function withCalls(
  ctx: MutationCtx,
  attempts: readonly AttemptToRun[],
): Promise<AttemptToRun[]> {
  const prepared = [...attempts];
  const byEntry = new Map<string, { at: number; asked: Asked }[]>();
  for (const [at, attempt] of attempts.entries()) {
    const { args, via }: Of = attempt.args;
    if (via !== undefined) continue;
    if (!(await hasRoom(ctx, ROOM_TO_COMPLETE))) break;
    const step = await stepWithId(ctx, args.token.step);
    const run = step === null ? null : await ctx.db.get("runs", step.run);
    if (step === null || run === null) continue;
    const { entry } = run;
    const { stage } = step;
    prepared[at] = { ...attempt, args: { ...attempt.args, via: { entry, stage } } };
    const asked = { token: args.token, stage, scope: args.scope };
    byEntry.set(entry, [...(byEntry.get(entry) ?? []), { at, asked }]);
  }
  for (const [entry, of] of byEntry) {
    const calls = await callsFor(
      ctx,
      entry,
      of.map(({ asked }) => asked),
    );
    for (const [index, { at }] of of.entries()) {
      const attempt = prepared[at]!;
      const call = calls[index] ?? undefined;
      prepared[at] = { ...attempt, args: { ...attempt.args, call } };
    }
  }
  return prepared;
}

async function callsFor(
  ctx: MutationCtx,
  entry: string,
  steps: Asked[],
): Promise<readonly (Call | null)[]> {
  const [{ token, stage }] = steps as [Asked];
  const event = { kind: "callsFor", steps };
  const asking = { token, stage, event, scope: null, fuse: false, nested: true };
  const transactionLimits = await leaveRoom(ctx, ROOM_TO_COMPLETE);
  try {
    return await ctx.runMutation(entry as FunctionHandle<"mutation">, asking, {
      transactionLimits,
    });
  } catch {
    // Their own functions run, and fail if they have to.
    return [];
  }
}
