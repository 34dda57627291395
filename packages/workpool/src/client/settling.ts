import {
  createFunctionHandle,
  type FunctionArgs,
  type FunctionReference,
  type FunctionVisibility,
  type GenericActionCtx,
  type GenericDataModel,
} from "convex/server";
import { type ObjectType, v } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import { checkGiven, type MutationRunner, reportBy } from "../core/index.js";
import {
  batchesOf,
  checkArgsList,
  checkedSubject,
  commonOf,
  type EnqueueOptions,
  type EnqueueSettings,
  type OnComplete,
  WITHIN_A_YEAR,
} from "./enqueue.js";
import { vWorkId, type WorkId } from "./validators.js";

/** The extra arguments of a function that settles itself: spread them into its validators. */
export const settlingArgs = {
  token: v.object({ workId: vWorkId, attempt: v.number() }),
  slot: v.string(),
};
export type SettlingArgs = ObjectType<typeof settlingArgs>;

/** How an attempt ended. A failed one is retried as `retryBehavior` says, if it is `retryable`. */
export type Settlement =
  | { kind: "success"; returnValue?: unknown }
  | { kind: "failed"; error: string; retryable?: boolean };

type Settling = FunctionReference<"action" | "mutation", FunctionVisibility, any>;

export type SettlingOptions<Callback extends OnComplete> = EnqueueOptions<Callback> &
  EnqueueSettings & {
    /** An attempt that has not settled some seconds after this many ms has failed; up to a year. */
    timeoutMs?: number;
  };

/**
 * Enqueues works that settle themselves. A function is scheduled as it is, and calls {@link settle}
 * in the mutation that records its result. So an action takes 2 root executions, not 3. An action
 * that ends without having settled has failed.
 *
 * @param component the component, as `components.workpool`.
 * @param fn an action or a mutation whose arguments have {@link settlingArgs} among them.
 * @param argsList for each work its arguments, without those.
 * @returns the ids, in the order of the arguments.
 * @throws if the function does not exist, or an option or an argument is not allowed.
 * @example
 * export const fetchPage = internalAction({
 *   args: { ...settlingArgs, url: v.string() },
 *   handler: async (ctx, { token, slot, url }) => {
 *     const text = await (await fetch(url)).text();
 *     const args = { token, slot, url, text };
 *     await reportSettled(components.workpool, ctx, internal.pages.fetched, args);
 *   },
 * });
 * export const fetched = internalMutation({
 *   args: { ...settlingArgs, url: v.string(), text: v.string() },
 *   handler: async (ctx, { token, slot, url, text }) => {
 *     if (await settle(components.workpool, ctx, { token, slot }, { kind: "success" }))
 *       await ctx.db.insert("pages", { url, text });
 *   },
 * });
 */
export async function enqueueSettling<
  Fn extends Settling,
  Callback extends OnComplete = OnComplete,
>(
  component: ComponentApi,
  ctx: MutationRunner,
  kind: Fn["_type"],
  fn: Fn,
  argsList: readonly Omit<FunctionArgs<Fn>, keyof SettlingArgs>[],
  options?: SettlingOptions<Callback>,
): Promise<WorkId[]> {
  checkGiven("Enqueueing", options ?? {}, { timeoutMs: WITHIN_A_YEAR });
  const { timeoutMs, ...others }: SettlingOptions<OnComplete> = options ?? {};
  checkArgsList(checkedSubject(kind, fn, others), argsList);
  const common = { ...(await commonOf(kind, fn, others)), timeoutMs };
  const { enqueue } = component.settling;
  const ids: string[] = [];
  for (const part of batchesOf(common, argsList))
    ids.push(...(await ctx.runMutation(enqueue, { ...common, argsList: part })));
  // The component's ids are strings to others; this is where they get their type.
  return ids as WorkId[];
}

/**
 * Ends an attempt of a work that settles itself, in the caller's transaction.
 * @param ended the token and the slot that the function was given.
 * @returns whether it counts: a stale or repeated token changes nothing.
 */
export async function settle(
  component: ComponentApi,
  ctx: MutationRunner,
  { token, slot }: SettlingArgs,
  outcome: Settlement,
): Promise<boolean> {
  return await ctx.runMutation(component.settling.settle, { token, slot, outcome });
}

/**
 * Calls the mutation that settles, from an action. If the call fails, the mutation is scheduled;
 * while the deployment refuses that, it is repeated for minutes. If it runs twice,
 * {@link settle} returns false the second time.
 */
export async function reportSettled<Args extends SettlingArgs>(
  component: ComponentApi,
  ctx: Pick<GenericActionCtx<GenericDataModel>, "runMutation" | "scheduler">,
  mutation: FunctionReference<"mutation", FunctionVisibility, Args, any>,
  args: Args,
): Promise<void> {
  const since = Date.now();
  const given: FunctionArgs<FunctionReference<"mutation">> = args;
  const fn: FunctionReference<"mutation", FunctionVisibility> = mutation;
  const later = async () => {
    const { token, slot } = args;
    const handle = await createFunctionHandle(mutation);
    await ctx.runMutation(component.settling.settleLater, { token, slot, fn: handle, args });
  };
  await reportBy([() => ctx.runMutation(fn, given), later], since, () =>
    ctx.scheduler.runAfter(0, fn, given),
  );
}
