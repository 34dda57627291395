import { MOST_COUNTED } from "./room.js";
import { MIB } from "@stepwise/workpool/core";
import { type Infer, v } from "convex/values";
import type { Doc, MutationCtx, QueryCtx, RunId, Step } from "./documents.js";
import { takesEvents } from "./kinds.js";

/* Events that wait in their run's inbox, in the order in which nodes take them. */

/** How far somebody has looked through an inbox: up to a moment, and at these of that moment. */
export const vLooked = v.object({
  /** A time of what was taken before, or of what was sent. */
  at: v.number(),
  wasTaken: v.boolean(),
  ids: v.array(v.id("inbox")),
});
export type Looked = Infer<typeof vLooked>;

/**
 * The events of a name. Those that were taken before a restart come first, in that order.
 * @param after leaves out what was looked at.
 */
export async function* inboxOf(ctx: QueryCtx, run: RunId, name: string, after?: Looked) {
  const { at, wasTaken, ids = [] } = after ?? {};
  const inbox = () => ctx.db.query("inbox");
  if (wasTaken !== false)
    for await (const event of inbox().withIndex("by_run_name", (q) => {
      const named = q.eq("run", run).eq("name", name);
      return at === undefined ? named.gt("takenAt", undefined) : named.gte("takenAt", at);
    }))
      if (!ids.includes(event._id)) yield event;
  const from = wasTaken === false ? at! : 0;
  for await (const event of inbox().withIndex("by_run_name", (q) =>
    q.eq("run", run).eq("name", name).eq("takenAt", undefined).gte("_creationTime", from),
  ))
    if (!ids.includes(event._id)) yield event;
}

/** Compares two events: the one that was taken first, or else sent first, comes first. */
export function inOrder(one: Doc<"inbox">, other: Doc<"inbox">): number {
  const [taken, otherTaken] = [one.takenAt ?? Infinity, other.takenAt ?? Infinity];
  return taken === otherTaken ? one._creationTime - other._creationTime : taken - otherTaken;
}

type Fields = Readonly<Record<string, unknown>>;

/** What a node may put around a payload, from outside: the field of it, and what is beside that. */
const AROUND = Object.entries({ event: "timedOut", value: "name" });

/** Returns where an output has the payload of its event, if its node has put something around it. */
export function payloadIn(output: unknown): string[] {
  const path: string[] = [];
  let inner = output;
  for (const [field, beside] of AROUND)
    if (isOf(inner, field, beside)) {
      path.push(field);
      inner = inner[field];
    }
  return path;
}

const isOf = (value: unknown, ...names: string[]): value is Fields =>
  typeof value === "object" &&
  value !== null &&
  `${Object.keys(value).toSorted()}` === `${names.toSorted()}`;

/** A node runs again: the event that it had taken waits for it. */
export async function giveBack(ctx: MutationCtx, step: Step): Promise<void> {
  const { run, names = [], storedNames = names, took = {}, output, timedOut } = step;
  // A run comes to its nodes in the order in which they take events.
  const { name = storedNames[0], within = payloadIn(output), given } = took;
  const { takenAt = step._creationTime } = took;
  if (!takesEvents(step) || step.state !== "completed" || timedOut === true) return;
  if (name === undefined) return;
  let value: unknown = output;
  for (const field of within) value = (value as Fields)[field];
  await ctx.db.insert("inbox", { run, name, value, given, takenAt });
}

/** The events of one name that wait in an inbox, and since when the first of them does. */
export const vKept = v.object({ name: v.string(), count: v.number(), since: v.number() });

/** Returns what waits in an inbox, by storage names. At most 100 events are counted. */
export async function keptEvents(ctx: QueryCtx, run: RunId): Promise<Infer<typeof vKept>[]> {
  const kept = new Map<string, Infer<typeof vKept>>();
  const rows = ctx.db.query("inbox").withIndex("by_run_name", (q) => q.eq("run", run));
  const { used } = (await ctx.meta.getTransactionMetrics()).bytesRead;
  let read = 0;
  for await (const { name, _creationTime: at } of rows) {
    const { count, since } = kept.get(name) ?? { count: 0, since: Infinity };
    kept.set(name, { name, count: count + 1, since: Math.min(since, at) });
    const { bytesRead } = await ctx.meta.getTransactionMetrics();
    if (++read === MOST_COUNTED || bytesRead.used - used > MIB) break;
  }
  return [...kept.values()];
}
