import { isOwnJob } from "@stepwise/workpool/core";
import { type Infer, v } from "convex/values";
import { childrenFrom, childrenIn, isWaitingForChildren } from "../core/childRuns.js";
import type { MutationCtx, Run, Step } from "../core/documents.js";
import { isUnreached, takesEvents } from "../core/kinds.js";
import { goesOn } from "../core/runs.js";
import { stepRead } from "../core/steps.js";
import { reception } from "../protocol.js";

/* Which node of a run takes an event: the one that waits for it, or one that is still ahead. */

/** `within`: the branch or body that it is in, which a run of its own goes through. */
const place = { stage: v.string(), loop: v.optional(v.string()), within: v.optional(v.string()) };

/**
 * `loop`: the outermost one around it. While that goes on, it may be reached again. `matches`: it
 * takes only what its `match` says is meant for it. `races`: those it is in a case of, outermost
 * first, with the cases. Its events are sent to the run that the outermost is in.
 */
export const vReceiver = v.object({
  ...reception,
  ...place,
  matches: v.optional(v.boolean()),
  races: v.optional(v.array(v.object({ ...place, case: v.string() }))),
});
export type Receiver = Infer<typeof vReceiver>;

/** The race in a run that a node is in a case of; undefined if it is in the run itself. */
const raceIn = ({ within }: Run, { races = [], ...one }: Receiver) =>
  one.within === within ? undefined : races.find((race) => race.within === within);

/** Says whether an event for a node is sent to a run. */
export const isIn = (run: Run, one: Receiver): boolean =>
  one.within === run.within || raceIn(run, one) !== undefined;

/** Says whether a run may come to a node again: it is in a loop, or a race around it is. */
export function mayRepeat(run: Run, { within, loop, races = [] }: Receiver): boolean {
  const from = races.findIndex((race) => race.within === run.within);
  const inRun = within === run.within ? [] : races.slice(from);
  return [loop, ...inRun.map((race) => race.loop)].some((around) => around !== undefined);
}

/** The step of a run, or of a case in it, that waits at one of the nodes, unless its time is up. */
export async function stepWaitingFor(
  ctx: MutationCtx,
  run: Run,
  receivers: readonly Receiver[],
): Promise<Step | undefined> {
  const waiting = await ctx.db
    .query("steps")
    .withIndex("by_run_state", (q) => q.eq("run", run._id).eq("state", "waiting"))
    .collect();
  const own = receivers.filter(({ within }) => within === run.within);
  const step = waiting.find(
    (one) => takesEvents(one) && own.some(({ stage }) => stage === one.stage),
  );
  const isOver = step?.paused === true && (step.dueAt ?? Infinity) < Date.now();
  if (step !== undefined) return isOver || (await isOwnJob(ctx, step.job)) ? undefined : step;
  const racing = receivers.filter((one) => raceIn(run, one) !== undefined);
  const race = waiting.find((one) => racing.some((each) => raceIn(run, each)?.stage === one.stage));
  if (race === undefined || !isWaitingForChildren(race)) return undefined;
  const held: Step[] = [];
  for (const one of await childrenIn(ctx, race._id, "running").collect()) {
    const found = await stepWaitingFor(ctx, one, racing);
    if (found !== undefined && found.paused !== true) return found;
    if (found !== undefined) held.push(found);
  }
  return held[0];
}

/** Says whether the run may still come to a node, or a case of a race in it. */
export async function isAhead(ctx: MutationCtx, run: Run, receiver: Receiver): Promise<boolean> {
  const race = raceIn(run, receiver);
  const { stage, loop } = race ?? receiver;
  const at = loop ?? stage;
  const { _id, within, parentStep } = run;
  const above = within === undefined || !parentStep ? null : await ctx.db.get("steps", parentStep);
  const iterations = above?.iterations;
  const recordOf = async (of: string) => await stepRead(ctx, _id, { stage: of, iterations });
  const depth = within?.split(".").length ?? 0;
  if (await isPastCase(at.split("."), depth, recordOf)) return false;
  const record = await recordOf(at);
  if (loop !== undefined) return record?.endedAt === undefined;
  // A node that is being entered has a record already.
  if (record === null || isUnreached(record)) return true;
  if (race === undefined || !isWaitingForChildren(record)) return false;
  for await (const one of childrenFrom(ctx, record._id))
    if (one.childKey === race.case && goesOn(one)) return await isAhead(ctx, one, receiver);
  return false;
}

/**
 * Says whether a branch around a stage has ended, or the run is in another of its cases.
 * @param depth how many of the names stand for what the run itself is in.
 */
async function isPastCase(
  path: readonly string[],
  depth: number,
  recordOf: (stage: string) => Promise<Step | null>,
) {
  for (let at = depth + 2; at < path.length; at += 2) {
    const branch = await recordOf(path.slice(0, at - 1).join("."));
    if (branch?.endedAt !== undefined) return true;
    if (branch?.chosen !== undefined && branch.chosen !== path[at - 1]) return true;
  }
  return false;
}
