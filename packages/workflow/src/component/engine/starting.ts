import * as core from "@stepwise/workpool/core";
import type { MutationCtx, QueryCtx, Step, StepId } from "../core/documents.js";
import { isInPool } from "../core/kinds.js";
import { pool } from "../core/poolHost.js";
import { failStep } from "./entry.js";

/** Gives a work to the pool. @returns false if its function is gone: then its run fails. */
export async function startWork(ctx: MutationCtx, work: core.Work): Promise<boolean> {
  try {
    await core.enqueueWork(ctx, work, pool);
    return true;
  } catch (error) {
    const step = await ctx.db.get("steps", work.work as StepId);
    // A transaction that is used up refuses everything.
    if (step === null || !(await core.hasRoom(ctx, core.ROOM_TO_COMPLETE))) throw error;
    const message = `Its function no longer exists: ${core.messageOf(error)}`;
    await failStep(ctx, step._id, { kind: "removedNode", message });
    return false;
  }
}

/** How many works start together at most: each may have a quarter of a megabyte of arguments. */
const TOGETHER = 10;
const ROOM_TO_START = {
  ...core.ROOM_TO_COMPLETE,
  bytesWritten: 4 * core.MIB,
  functionsScheduled: core.ROOM_TO_COMPLETE.functionsScheduled + TOGETHER,
  scheduledFunctionArgsBytes: 4 * core.MIB,
};

/** Works that start together, a few at a time: what they all need is read once. */
export class Starts {
  /** Says whether one could not start: its run has failed, and perhaps others with it. */
  hasFailed = false;
  readonly #works: core.Work[] = [];

  constructor(private readonly ctx: MutationCtx) {}

  /** Says whether there is room to begin another run, and then to start all works. */
  async hasRoom(): Promise<boolean> {
    return await core.hasRoom(this.ctx, ROOM_TO_START);
  }

  /** Takes a work, for `beginRun`. One with permits starts alone, as they are looked for. */
  readonly add = async (_ctx: MutationCtx, work: core.Work): Promise<boolean> => {
    const isAlone = work.permits !== undefined;
    if (isAlone) await this.end();
    this.#works.push(work);
    if (isAlone || this.#works.length === TOGETHER) await this.end();
    return !this.hasFailed;
  };

  /** Starts those that it has. */
  async end(): Promise<void> {
    const works = this.#works.splice(0);
    try {
      await core.enqueueWorks(this.ctx, works, pool);
    } catch {
      // Those before the one whose function is gone have started.
      for (const work of works)
        if ((await isToStart(this.ctx, work)) && !(await startWork(this.ctx, work)))
          this.hasFailed = true;
    }
  }
}

async function isToStart(ctx: QueryCtx, { work }: core.Work): Promise<boolean> {
  const step = await ctx.db.get("steps", work as StepId);
  return step !== null && step.paused !== true && (await isStranded(ctx, step));
}

/** Says whether an action is neither in the queue nor in a slot, and its run will not be told. */
export async function isStranded(ctx: QueryCtx, step: Step): Promise<boolean> {
  const { entersAt, _id } = step;
  if (!isInPool(step) || entersAt !== undefined) return false;
  return !(await core.isWaiting(ctx, _id)) && (await core.slotOf(ctx, _id)) === null;
}
