import {
  createFunctionHandle,
  type FunctionArgs,
  type FunctionReference,
  type FunctionVisibility,
} from "convex/server";
import { type Infer, type Validator, v, type VString } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import type { MutationRunner, QueryRunner } from "./context.js";
import {
  commonOf,
  type EnqueueOptions,
  type EnqueueSettings,
  type OnComplete,
  partsOf,
  type WorkKind,
} from "./enqueue.js";
import type { SettlingArgs } from "./settling.js";

/** The id of a group. A string, told apart from others by its type only. */
export type GroupId = string & { __isGroupId: true };

/** Validates the id of a group. */
// The validator knows strings; the brand is for the types alone.
export const vGroupId = v.string() as VString<GroupId>;

const counts = {
  /** How many members it had, and what became of them. */
  total: v.number(),
  succeeded: v.number(),
  failed: v.number(),
  canceled: v.number(),
};

/** What became of a group: `failed` where more members failed than were tolerated; `error` is that of the one that was too much. */
export const vGroupResult = v.union(
  v.object({ kind: v.literal("success"), ...counts }),
  v.object({ kind: v.literal("failed"), error: v.string(), ...counts }),
  v.object({ kind: v.literal("canceled"), ...counts }),
);
export type GroupResult = Infer<typeof vGroupResult>;

/**
 * Validates the arguments of a group's callback.
 * @param context the validator of the context. Default: anything, or none.
 */
export function vOnGroupDoneArgs<
  Context extends Validator<any, "required" | "optional", any> = typeof vAnyContext,
>(context?: Context) {
  return v.object({
    groupId: vGroupId,
    // Without an argument the type parameter is that of the default.
    context: (context ?? vAnyContext) as Context,
    result: vGroupResult,
  });
}
const vAnyContext = v.optional(v.any());

/** A mutation that can be a group's callback. */
export type OnGroupDone = FunctionReference<
  "mutation",
  FunctionVisibility,
  { groupId: GroupId; context?: any; result: GroupResult }
>;

export interface GroupOptions extends EnqueueSettings {
  /** How many members run at once at most, from 1. Default: as many as the pool lets run. */
  concurrency?: number;
  /**
   * How many members may fail, or be canceled, before the rest is canceled: 0 to 500, or "all". Default: 0, the first failure cancels the
   * rest. What runs by then goes on to its end.
   */
  tolerate?: number | "all";
  /** A mutation that is called once, when the last member has ended. Default: none. */
  onDone?: OnGroupDone;
  /** Handed to `onDone`; up to 1 MB. Default: none. */
  context?: unknown;
  /** Called for each member as it ends, as for a work that is enqueued alone. Default: none. */
  onEach?: OnComplete;
  /** Handed to each call of `onEach`; up to 1 MB. Default: none. */
  eachContext?: unknown;
  /** Names the members in logs and messages. Default: the path of their function. */
  name?: string;
  /** Whether the function settles itself; see `enqueueSettling`. Default: false. */
  settles?: boolean;
  /** Of members that settle themselves: after how many ms an attempt has settled. Default: none. */
  timeoutMs?: number;
}

/**
 * Enqueues works that belong together: so many at once, one callback at the end, and the rest canceled when too many fail. Thousands are
 * passed in several calls: from a mutation they are part of its transaction, which holds some 7,000 of them; from an action, each call
 * has one of its own, and if a later one fails the group is left without its end: cancel it then.
 *
 * @param component the component, as `components.workpool`.
 * @param argsList for each member its arguments.
 * @returns the group's id.
 * @throws where an option is not allowed, or arguments or a context are larger than 1 MB.
 * @example
 * await enqueueGroup(components.workpool, ctx, "action", internal.mails.send, addresses.map((to) => ({ to })), {
 *   concurrency: 5,
 *   tolerate: "all",
 *   onDone: internal.mails.allSent,
 * });
 */
export async function enqueueGroup<Fn extends FunctionReference<WorkKind, FunctionVisibility, any>>(
  component: ComponentApi,
  ctx: MutationRunner,
  kind: Fn["_type"],
  fn: Fn,
  argsList: readonly Omit<FunctionArgs<Fn>, keyof SettlingArgs>[],
  options: GroupOptions = {},
): Promise<GroupId> {
  const { concurrency, tolerate, onDone, context, onEach, eachContext, settles, timeoutMs } =
    options;
  const each: EnqueueOptions = {
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(onEach === undefined ? {} : { onComplete: onEach, context: eachContext }),
  };
  const { runAt: _, ...common } = await commonOf(kind, fn, each, options);
  const parts = [...partsOf(common, argsList)];
  const [first = [], ...rest] = parts;
  const group = await ctx.runMutation(component.groups.start, {
    ...common,
    ...(settles === undefined ? {} : { settles }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(tolerate === undefined ? {} : { tolerate: tolerate === "all" ? null : tolerate }),
    ...(onDone === undefined
      ? {}
      : {
          onDone: {
            fn: await createFunctionHandle(onDone),
            ...(context === undefined ? {} : { context }),
          },
        }),
    argsList: first,
    last: rest.length === 0,
  });
  for (const [index, part] of rest.entries())
    await ctx.runMutation(component.groups.add, {
      group,
      argsList: part,
      last: index === rest.length - 1,
    });
  // The component's ids are strings to others; this is where they get their type.
  return group as GroupId;
}

/** Cancels a group: members that have not begun never start, those that run go on, and the callback comes when the last has ended. */
export async function cancelGroup(
  component: ComponentApi,
  ctx: MutationRunner,
  group: GroupId,
): Promise<void> {
  await ctx.runMutation(component.groups.cancel, { group });
}

/** The state of a group; one that is done or unknown is finished. */
export async function groupStatus(
  component: ComponentApi,
  ctx: QueryRunner,
  group: GroupId,
): Promise<{ state: "running"; total: number; canceling: boolean } | { state: "finished" }> {
  return await ctx.runQuery(component.groups.status, { group });
}
