import {
  type ApiFromModules,
  type FunctionHandle,
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
} from "convex/server";
import { v } from "convex/values";
import {
  type CallWork,
  carryArgs,
  carryWorks,
  slotsToTake,
  takeArgs,
  takeWorks,
  vCarried,
} from "./carrier.js";
import type { Host, HostCtx, HostQueryCtx } from "./context.js";
import { findLostContinuations, mutationsOf } from "./continuations.js";
import { drainArgs } from "./drain.js";
import { drainQueue } from "./drain-queue.js";
import { seeArgs, seeForOwner, vSeenByOwner } from "./owner-looks.js";
import { fairlyArgs, lookFairly, vFairly } from "./fair.js";
import { lookAtLine, lookAtLineArgs, vLook } from "./limits/permits.js";
import { releaseRate } from "./limits/release.js";
import { countWaiting, countWaitingArgs } from "./limits/refuse.js";
import { endOverrides } from "./limits/steer.js";
import { wakeArgs, wakeSome } from "./limits/wake.js";
import { lookAtLanes, looksArgs, vSeen } from "./queue.js";
import { freeSlotArgs, freeSlotsFrom, vFreeSlots } from "./slots.js";
import { inspectSlots, recoverSlot, sweepSlots } from "./sweep.js";
import { endWaits, endWaitsArgs } from "./waits.js";
import { inspectArgs, recoverArgs, sweepArgs, vInspected } from "./watch.js";

interface HostFunctions {
  /** What `Host.alsoSweep` needs of what others write, read from a stale snapshot. */
  readonly inspect?: (ctx: HostQueryCtx) => Promise<unknown>;
  /** Calls a work's function in a carrier. Default: runs it as an action. */
  readonly call?: CallWork;
}

/** The functions that a pool schedules and calls: its host exports them all from one module. */
export function poolFunctions(host: Host, { inspect, call = runAction }: HostFunctions = {}) {
  const { voidMutation } = mutationsOf<HostCtx>();
  return {
    lookAtLanes: internalQueryGeneric({
      args: looksArgs,
      returns: v.array(vSeen),
      handler: lookAtLanes,
    }),
    freeSlots: internalQueryGeneric({
      args: freeSlotArgs,
      returns: v.union(vFreeSlots, v.null()),
      handler: freeSlotsFrom,
    }),
    drainQueue: voidMutation(drainArgs, async (ctx, args) => await drainQueue(ctx, host, args)),
    sweep: voidMutation(sweepArgs, async (ctx, args) => await sweepSlots(ctx, host, args)),
    inspect: internalQueryGeneric({
      args: inspectArgs,
      returns: vInspected,
      handler: async (ctx, args) => {
        const found = await inspectSlots(ctx, args);
        if (found.next !== null) return found;
        const continued = await findLostContinuations(ctx);
        return { ...found, continued, added: await inspect?.(ctx) };
      },
    }),
    recover: internalMutationGeneric({
      args: recoverArgs,
      returns: v.boolean(),
      handler: async (ctx, suspect) => await recoverSlot(ctx, host, suspect),
    }),
    seeForOwner: internalQueryGeneric({
      args: seeArgs,
      returns: vSeenByOwner,
      handler: seeForOwner,
    }),
    lookFairly: internalQueryGeneric({
      args: fairlyArgs,
      returns: vFairly,
      handler: lookFairly,
    }),
    lookAtLine: internalQueryGeneric({
      args: lookAtLineArgs,
      returns: vLook,
      handler: lookAtLine,
    }),
    countWaiting: internalQueryGeneric({
      args: countWaitingArgs,
      returns: v.number(),
      handler: countWaiting,
    }),
    endOverrides: voidMutation({}, async (ctx) => void (await endOverrides(ctx, host))),
    endWaits: voidMutation(endWaitsArgs, async (ctx, args) => await endWaits(ctx, host, args)),
    releaseRate: voidMutation(
      { name: v.string() },
      async (ctx, args) => await releaseRate(ctx, host, args),
    ),
    wakeLines: voidMutation(wakeArgs, async (ctx, args) => await wakeSome(ctx, host, args)),
    carry: internalActionGeneric({
      args: carryArgs,
      returns: v.null(),
      handler: async (ctx, first): Promise<null> => {
        await carryWorks(ctx, host, first, call);
        return null;
      },
    }),
    take: internalMutationGeneric({
      args: takeArgs,
      returns: v.array(vCarried),
      handler: async (ctx, args) => await takeWorks(ctx, host, args),
    }),
    toTake: internalQueryGeneric({
      args: { count: v.number() },
      returns: v.array(v.id("slots")),
      handler: slotsToTake,
    }),
  };
}

const runAction: CallWork = async (ctx, fn, args) =>
  await ctx.runAction(fn as FunctionHandle<"action">, args);

export type PoolFunctions = ApiFromModules<{ pool: ReturnType<typeof poolFunctions> }>["pool"];
