import { internal } from "../_generated/api.js";
import { continueLater, hasRoomInPage, untilDone } from "../core/continuations.js";
import type { MutationCtx, Run, RunId, Step } from "../core/documents.js";
import { hasNotEnded } from "../core/steps.js";
import { holderOf, takeTurn, type Turn, turnOf, turnsIn } from "../core/turns.js";
import { beginDeadline, setDeadline } from "../engine/deadlineTimer.js";
import { scheduleEntry } from "../engine/entry.js";
import type { Plans } from "../validators.js";

/* The turn of a key goes from one run to the next, in the transaction that ends the first. */

type Of = Pick<Turn, "workflow" | "key">;

/** The first of those that wait begins, or the last, if that replaces the others. */
async function passTurn(ctx: MutationCtx, { workflow, key }: Of): Promise<void> {
  for (;;) {
    const of = { workflow, key };
    const first = await turnsIn(ctx, of, "waits").first();
    // Starts join behind the last: who reads that conflicts with them.
    const replaces = first?.replaces === true;
    const next = replaces ? await turnsIn(ctx, of, "waits").order("desc").first() : first;
    if (next === null) return;
    const waiting = await waitingWith(ctx, next);
    if (waiting === null) continue;
    await ctx.db.patch("turns", next._id, { state: "has it", step: undefined });
    return await begin(ctx, waiting);
  }
}

interface Waiting {
  run: Run;
  step: Step;
}

/** The run of a turn with its first record; null, and the turn is dropped, if it does not wait. */
async function waitingWith(ctx: MutationCtx, turn: Turn): Promise<Waiting | null> {
  const step = turn.step === undefined ? null : await ctx.db.get("steps", turn.step);
  const run = await ctx.db.get("runs", turn.run);
  if (step !== null && run !== null && hasNotEnded(step)) return { run, step };
  await ctx.db.delete("turns", turn._id);
  return null;
}

async function begin(ctx: MutationCtx, { run, step }: Waiting): Promise<void> {
  // One of the top level is `pending`, and begins when it is entered.
  if (run.state !== "pending") {
    await ctx.db.patch("runs", run._id, { startedAt: Date.now() });
    if (run.timeoutMs !== undefined) await beginDeadline(ctx, run._id, run.timeoutMs);
  }
  if (step.deadline !== undefined) await setDeadline(ctx, run._id, step.deadline);
  await scheduleEntry(ctx, step, {}, { kind: "entry", state: "pending", deadline: undefined });
}

async function drop(ctx: MutationCtx, turn: Turn): Promise<void> {
  await ctx.db.delete("turns", turn._id);
  if (turn.state === "has it") await passTurn(ctx, turn);
}

/** A run that was to be skipped begins after all. @returns false if its key is taken. */
export async function beginIfFree(ctx: MutationCtx, waiting: Waiting): Promise<boolean> {
  if (!(await takeTurn(ctx, waiting.run))) return false;
  await begin(ctx, waiting);
  return true;
}

/** A run that only waits will not begin: what it did before a restart is undone without a turn. */
export async function giveUpWaiting(ctx: MutationCtx, { _id, one }: Run): Promise<void> {
  const turn = one === undefined ? null : await turnOf(ctx, _id);
  if (turn !== null && turn.state !== "has it") await ctx.db.delete("turns", turn._id);
}

/** A run has ended: another of its key begins, unless its `onEnd` goes on. */
export async function leaveLine(ctx: MutationCtx, { _id, one, onEnd }: Run): Promise<void> {
  if (one === undefined) return;
  const turn = await turnOf(ctx, _id);
  if (turn === null) return;
  const isEnding = onEnd === true && (await ctx.db.get("runs", _id))?.ending !== undefined;
  // guard: turn-after-on-end
  if (turn.state === "has it" && isEnding) return;
  await drop(ctx, turn);
}

/** The `onEnd` of a run has ended. */
export async function passTurnOf(ctx: MutationCtx, run: RunId): Promise<void> {
  const turn = await turnOf(ctx, run);
  if (turn !== null) await drop(ctx, turn);
}

/** A paused run keeps its place, and lets those behind it begin before it. */
export async function pauseInLine(ctx: MutationCtx, run: RunId): Promise<void> {
  const turn = await turnOf(ctx, run);
  if (turn !== null) await ctx.db.patch("turns", turn._id, { state: "paused" });
}

export async function resumeInLine(ctx: MutationCtx, run: RunId): Promise<void> {
  const turn = await turnOf(ctx, run);
  if (turn === null) return;
  await ctx.db.patch("turns", turn._id, { state: "waits" });
  await passIfFree(ctx, turn);
}

async function passIfFree(ctx: MutationCtx, of: Of): Promise<void> {
  if ((await holderOf(ctx, of)) === null) await passTurn(ctx, of);
}

/** What a restore from a backup, or a row that was removed by hand, may have left. */
export async function repairTurn(ctx: MutationCtx, turn: Turn, plans: Plans = []): Promise<void> {
  const isOpen = plans.some((each) => each.workflow === turn.workflow && each.isOpen === true);
  const run = await ctx.db.get("runs", turn.run);
  const isOver = run === null || (run.endedAt !== undefined && run.ending === undefined);
  if (isOver) await drop(ctx, turn);
  else if (turn.state !== "has it" && isOpen) await release(ctx, turn);
  else if (turn.state === "waits") await passIfFree(ctx, turn);
}

/** A run waits no more, as its workflow has no `one` any more. */
async function release(ctx: MutationCtx, turn: Turn): Promise<void> {
  const waiting = await waitingWith(ctx, turn);
  if (waiting === null) return;
  await ctx.db.delete("turns", turn._id);
  await ctx.db.patch("runs", turn.run, { one: undefined });
  await begin(ctx, waiting);
}

/** The same for all that wait for the key of a run. */
export async function unlockTurn(ctx: MutationCtx, run: RunId): Promise<void> {
  const turn = await turnOf(ctx, run);
  await ctx.db.patch("runs", run, { one: undefined });
  if (turn === null) return;
  await ctx.db.delete("turns", turn._id);
  const { workflow, key } = turn;
  if (!(await releaseSome(ctx, { workflow, key })))
    await continueLater(ctx, internal.features.passTurn.releaseMore, { workflow, key });
}

/** @returns whether these were all. */
async function releaseSome(ctx: MutationCtx, of: Of): Promise<boolean> {
  for (const state of ["waits", "paused"] as const)
    for await (const turn of turnsIn(ctx, of, state)) {
      if (!(await hasRoomInPage(ctx))) return false;
      await release(ctx, turn);
    }
  return true;
}

export const releaseMore = untilDone<Of>(releaseSome);
