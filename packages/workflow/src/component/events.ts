import { oneOf } from "@stepwise/workpool/core";
import {
  compareValues,
  ConvexError,
  getConvexSize,
  type Infer,
  type ObjectType,
  v,
  type Value,
} from "convex/values";
import type { Problem } from "../errors/failure.js";
import { Unmatched, unmatchedIn } from "../errors/unmatched.js";
import { internal } from "./_generated/api.js";
import {
  internalMutation,
  mutation,
  type MutationCtx,
  query,
  type QueryCtx,
} from "./_generated/server.js";
import type { Doc, Run, RunId, Step, StepId } from "./core/documents.js";
import { inboxOf, inOrder, type Looked, vLooked } from "./core/inbox.js";
import { findRun, runOf, vRunOrKey } from "./core/runs.js";
import { cancelScheduled } from "./core/scheduled.js";
import { enterNow, scheduleEntry } from "./engine/entry.js";
import {
  isAhead,
  isIn,
  mayRepeat,
  type Receiver,
  stepWaitingFor,
  vReceiver,
} from "./features/receiving.js";
import { type Given, vGiven, vRunState } from "./validators.js";

/** What a row of the inbox may take: a document holds 1 MiB, with its id and time. */
const MAX_KEPT_BYTES = (1 << 20) - 1_024;

const forNode = {
  run: v.string(),
  names: v.array(v.string()),
  stage: v.string(),
  /** The run is the case of a race, or of so many one in the other: their inboxes count too. */
  races: v.optional(v.number()),
};
const eventFields = { name: v.string(), value: v.any(), given: v.optional(vGiven) };
const vStored = v.object({
  ...eventFields,
  id: v.string(),
  takenAt: v.optional(v.number()),
  since: v.number(),
});

/** Takes an event from the inbox. @param id the one to take. Default: the first for the node. */
export const take = mutation({
  args: { ...forNode, id: v.optional(v.string()) },
  returns: v.union(vStored, v.null()),
  handler: async (ctx, { id, ...of }) => {
    for await (const event of eventsFor(ctx, of)) {
      if (id !== undefined && event._id !== id) continue;
      await ctx.db.delete("inbox", event._id);
      return stored(event, of.stage);
    }
    return null;
  },
});

/** How many a node looks at in one call, to find those that match. */
const LOOK = 50;

/** The events that a node may take, in order. @param after leaves out those that it looked at. */
export const look = query({
  args: { ...forNode, after: v.optional(vLooked) },
  returns: v.object({ events: v.array(vStored), after: v.optional(vLooked) }),
  handler: async (ctx, { after, ...of }) => {
    const events: Infer<typeof vStored>[] = [];
    let looked = after;
    for await (const event of eventsFor(ctx, of, after)) {
      events.push(stored(event, of.stage));
      const wasTaken = event.takenAt !== undefined;
      const at = event.takenAt ?? event._creationTime;
      // Several may be of one moment.
      const before = looked?.at === at && looked.wasTaken === wasTaken ? looked.ids : [];
      looked = { at, wasTaken, ids: [...before, event._id] };
      if (events.length === LOOK) break;
    }
    return { events, after: events.length === 0 ? undefined : looked };
  },
});

/** Returns what an inbox holds for a stage, in the order in which it takes that. */
async function* eventsFor(
  ctx: QueryCtx,
  { run, names, stage, races = 0 }: ObjectType<typeof forNode>,
  after?: Looked,
) {
  const ids: RunId[] = [];
  let id = ctx.db.normalizeId("runs", run) ?? undefined;
  for (let level = 0; id !== undefined && level <= races; level++) {
    ids.push(id);
    if (level < races) id = (await ctx.db.get("runs", id))?.parentRun;
  }
  const lines = ids.flatMap((each) => names.map((name) => inboxOf(ctx, each, name, after)));
  const heads = await Promise.all(lines.map((line) => line.next()));
  for (;;) {
    const waiting = heads.flatMap(({ value }, line) => (value ? [{ event: value, line }] : []));
    const [first] = waiting.sort((one, other) => inOrder(one.event, other.event));
    if (first === undefined) return;
    if (forStage(first.event, stage)?.refuses !== true) yield first.event;
    heads[first.line] = await lines[first.line]!.next();
  }
}

function stored(event: Doc<"inbox">, stage: string): Infer<typeof vStored> {
  const { _id: id, name, given, takenAt, _creationTime: since } = event;
  const own = forStage(event, stage);
  return { id, name, value: own === undefined ? event.value : own.value, given, takenAt, since };
}

/** Keeps an event that does not fit its node any more, in its place before the others. */
export const giveBack = mutation({
  args: { run: v.string(), ...eventFields, takenAt: v.number() },
  returns: v.null(),
  handler: async (ctx, { run, ...event }) => {
    const id = ctx.db.normalizeId("runs", run);
    if (id !== null) await ctx.db.insert("inbox", { run: id, ...event });
    return null;
  },
});

/**
 * Returns what a stage makes of a stored event, if that differs from what the others make of it.
 */
function forStage({ otherwise }: Doc<"inbox">, stage: string) {
  return otherwise?.find((one) => one.stage === stage);
}

const sending = {
  workflow: v.string(),
  run: vRunOrKey,
  ...eventFields,
  receivers: v.array(vReceiver),
  /** The stages that take events of the storage name, but not of this one. */
  others: v.optional(v.array(v.string())),
};
const vSent = v.union(
  v.object({ kind: oneOf("taken", "kept", "past", "unknown") }),
  v.object({ kind: v.literal("full"), kept: v.number() }),
  v.object({ kind: v.literal("ended"), state: vRunState }),
  v.object({ kind: v.literal("refused"), stage: v.string() }),
  v.object({ kind: v.literal("elsewhere"), stage: v.string() }),
  v.object({ kind: v.literal("unmatched"), stage: v.string(), why: v.optional(v.string()) }),
  v.object({ kind: v.literal("tooLarge"), bytes: v.number(), most: v.number() }),
);
type Sent = Infer<typeof vSent>;

/**
 * Gives a run an event: it goes on with it in this transaction, or the event waits in its inbox.
 * @returns `past`: no node ahead takes it; `full`: each of them has one already; `refused`: the
 *   node does not take this payload; `elsewhere`: the node is in a run below it; `unmatched`: it is
 *   not meant for the node that waits, and no other takes it, or that node could not say;
 *   `tooLarge`: it cannot be stored. These change nothing.
 */
export const send = mutation({
  args: sending,
  returns: vSent,
  handler: async (ctx, args): Promise<Sent> => {
    if (args.receivers.every(({ matches }) => matches !== true)) return await deliver(ctx, args);
    const unmatched: string[] = [];
    for (let last: ReturnType<typeof unmatchedIn>; ;) {
      try {
        const sent = await ctx.runMutation(internal.events.sendMatching, { ...args, unmatched });
        return last === undefined || sent.kind !== "past" ? sent : { kind: "unmatched", ...last };
      } catch (thrown) {
        last = thrown instanceof ConvexError ? unmatchedIn(thrown.data) : undefined;
        if (last === undefined) throw thrown;
        if ("why" in last) return { kind: "unmatched", ...last };
        // Another case of a race may wait for it too.
        unmatched.push(last.stage);
      }
    }
  },
});

/** The same, in a transaction that the node which waits can undo. */
export const sendMatching = internalMutation({
  args: { ...sending, unmatched: v.array(v.string()) },
  returns: vSent,
  handler: async (ctx, { unmatched, ...args }) => await deliver(ctx, args, unmatched),
});

/** @param unmatched the stages that wait, but do not take it this time. */
async function deliver(
  ctx: MutationCtx,
  { workflow, run: which, name, value, given: raw, others = [], ...to }: ObjectType<typeof sending>,
  unmatched: readonly string[] = [],
): Promise<Sent> {
  const run = await findRun(ctx, which, workflow);
  if (run === null) return { kind: "unknown" };
  const { _id: id, state } = run;
  if (state !== "running" && state !== "pending") return { kind: "ended", state };
  const own = to.receivers.filter((one) => isIn(run, one));
  const [elsewhere] = to.receivers;
  if (own.length === 0 && elsewhere !== undefined)
    return { kind: "elsewhere", stage: elsewhere.stage };
  const receivers = own.filter((one) => !unmatched.includes(one.stage) || mayRepeat(run, one));
  const asked = receivers.filter(({ stage }) => !unmatched.includes(stage));
  const waiting = await stepWaitingFor(ctx, run, asked);
  const awaiting = receivers.find(({ stage }) => stage === waiting?.stage);
  const isKept = waiting === undefined || waiting.paused === true;
  // A paused node takes its event when it is resumed.
  const ahead: Receiver[] = [];
  for (const one of isKept ? receivers : [])
    if (one === awaiting || (await isAhead(ctx, run, one))) ahead.push(one);
  const receiver = awaiting ?? ahead.find(({ refuses }) => refuses !== true) ?? ahead[0];
  if (receiver === undefined) return { kind: "past" };
  const { stage, refuses } = receiver;
  if (refuses === true) return { kind: "refused", stage };
  const given = "value" in receiver ? receiver.value : value;
  const event = { name, value: given, ...(raw === undefined ? {} : { given: raw }) };
  // What is kept may not be meant for a node that matches: it must not keep out what is.
  const takesOne = (one: Receiver) => one.matches !== true && !mayRepeat(run, one);
  if (isKept && ahead.every(takesOne)) {
    let kept = 0;
    for await (const _event of inboxOf(ctx, id, name)) if (++kept === ahead.length) break;
    if (kept === ahead.length) return { kind: "full", kept };
  }
  // If the run waits for it, what others would make of it is not needed.
  const refusing = others.map((stage) => ({ stage, refuses: true }));
  const otherwise = isKept ? [...otherwiseThan(given, value, receivers), ...refusing] : [];
  const entry = { run: id, ...event, ...(otherwise.length === 0 ? {} : { otherwise }) };
  const bytes = getConvexSize(entry);
  if (bytes > MAX_KEPT_BYTES) return { kind: "tooLarge", bytes, most: MAX_KEPT_BYTES };
  const isTaken = !isKept && (await takesUp(ctx, run, waiting, event));
  if (!isTaken) {
    await ctx.db.insert("inbox", entry);
    // A paused node may have begun to wait before it took such events.
    const storedNames = waiting?.storedNames ?? waiting?.names ?? [];
    if (waiting !== undefined && !storedNames.includes(name))
      await ctx.db.patch("steps", waiting._id, { storedNames: [...storedNames, name] });
  }
  return { kind: isTaken ? "taken" : "kept" };
}

/** The nodes that refuse a payload, or make something else of it than the first that takes it. */
function otherwiseThan(given: Value, value: Value, receivers: readonly Receiver[]) {
  return receivers.flatMap(({ stage, refuses, ...one }) => {
    if (refuses === true) return { stage, refuses };
    const its: Value = "value" in one ? one.value : value;
    return compareValues(its, given) === 0 ? [] : { stage, value: its };
  });
}

/**
 * @returns false if there is no room here: the node is entered later, and finds it.
 * @throws an {@link Unmatched} if it is not meant for the node.
 */
async function takesUp(
  ctx: MutationCtx,
  sentTo: Run,
  waiting: Step,
  event: { name: string; value: unknown; given?: Given },
) {
  let isTaken = true;
  const run = waiting.run === sentTo._id ? sentTo : await runOf(ctx, waiting);
  // It waits no more: the run itself may send such an event next.
  const state = "running" as const;
  await ctx.db.patch("steps", waiting._id, { state });
  const otherwise = async (_ctx: MutationCtx, _step: StepId, { data }: Problem) => {
    const unmatched = unmatchedIn(data);
    if (unmatched !== undefined) throw new Unmatched(unmatched);
    isTaken = false;
    await cancelScheduled(ctx, waiting);
    await scheduleEntry(ctx, waiting, {}, { kind: "entry", state: "pending", names: undefined });
  };
  await enterNow(ctx, run, { ...waiting, state }, { event: { kind: "got", ...event }, otherwise });
  return isTaken;
}
