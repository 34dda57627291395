import {
  type FunctionArgs,
  type GenericDataModel,
  type GenericMutationCtx,
  internalMutationGeneric,
  type RegisteredMutation,
} from "convex/server";
import type { Infer, Validator } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import {
  ANY,
  checkAllGiven,
  checkFields,
  checkGiven,
  checkLimits,
  checkLogLevel,
  checkMaxParallelism,
  checkRetryBehavior,
  checkText,
  COUNT,
  FLAG,
  isPlain,
  type KeysOf,
  type Kind,
  LimitControls,
  type Limits,
  type LogLevel,
  type MutationRunner,
  type QueryRunner,
  DEFAULT_RETRY_BEHAVIOR,
  type RetryBehavior,
  type RunResult,
  type SteeredName,
  timeOf,
} from "../core/index.js";
import {
  enqueue,
  enqueueBatch,
  type EnqueueOptions,
  LIST,
  type OnComplete,
  type RetryOption,
  WORK_OPTIONS,
  type WorkFunction,
  type WorkKind,
} from "./enqueue.js";
import { vOnCompleteArgs, type WorkId, type WorkStatus } from "./validators.js";

export interface WorkpoolOptions<Defined extends Limits = {}> extends WorkpoolRetryOptions {
  /** How many works run at once, from 0 (paused) to 200. Default: the stored value, at first 10. */
  maxParallelism?: number;
  /**
   * How much is logged: DEBUG (all), TRACE, INFO (each start and end), REPORT (once a minute while
   * works end), WARN or ERROR. Default: the stored value, at first REPORT.
   */
  logLevel?: LogLevel;
  /**
   * How many works that name a limit run at once: `{ perKey: 3 }` for each key, `{ total: 5 }` in
   * all, or both. `{ rate: { limit: 500, per: "1m" } }` limits how many start per minute. Works
   * name them in `limits` of an enqueue. With `maxWaiting`, an enqueue throws a `LimitError` if
   * that many already wait. Default: the stored ones, at first none.
   */
  limits?: Defined;
}

export interface WorkpoolRetryOptions {
  /** What `retry: true` means. Default: 5 attempts after waits of 250 ms, 500 ms, 1 s and 2 s. */
  defaultRetryBehavior?: RetryBehavior;
  /** Says whether actions that are enqueued without `retry` are retried. Default: false. */
  retryActionsByDefault?: boolean;
}

const RETRY: Kind = {
  what: "true, false or { maxAttempts: 5, initialBackoffMs: 250, base: 2 }",
  is: (given) => typeof given === "boolean" || isPlain(given),
};

/** What each option of an enqueue may be. */
const OPTIONS = { ...WORK_OPTIONS, retry: RETRY };

const POOL_OPTIONS: Record<keyof WorkpoolOptions, Kind> = {
  // These say themselves what they must be.
  maxParallelism: ANY,
  logLevel: ANY,
  limits: ANY,
  defaultRetryBehavior: ANY,
  retryActionsByDefault: FLAG,
};

/**
 * A pool of works: it limits how many run at once, retries actions, and calls back at their end.
 *
 * @example
 * const emails = new Workpool(components.workpool, { maxParallelism: 5 });
 * export const signUp = mutation({
 *   args: { address: v.string() },
 *   handler: async (ctx, { address }) => {
 *     await emails.enqueueAction(ctx, internal.emails.send, { address }, { retry: true });
 *   },
 * });
 */
export class Workpool<Defined extends Limits = {}> {
  /** Pauses and overrides limits while the app runs, and shows them. */
  readonly limits: LimitControls<SteeredName<Defined>, Date | number, Defined>;

  /** @param component such as `components.workpool`. @throws if an option is out of its range. */
  constructor(
    readonly component: ComponentApi,
    readonly options: WorkpoolOptions<Defined> = {},
  ) {
    checkAllGiven("The Workpool", options, POOL_OPTIONS);
    const { maxParallelism, logLevel, limits, defaultRetryBehavior } = options;
    if (maxParallelism !== undefined) checkMaxParallelism(maxParallelism);
    if (logLevel !== undefined) checkLogLevel(logLevel);
    if (limits !== undefined) checkLimits(limits);
    if (defaultRetryBehavior !== undefined)
      checkRetryBehavior(defaultRetryBehavior, "defaultRetryBehavior");
    this.limits = new LimitControls(component.limits, { maxParallelism, limits }, timeOf);
  }

  /**
   * Enqueues an action. It starts when the caller's transaction has committed, or waits for a slot.
   * @param ctx the context of a mutation, which the enqueue is then part of, or of an action.
   * @param fn a reference to the action, or its function handle.
   * @param args its arguments; up to 1 MB.
   * @returns the work's id.
   * @throws if an option is invalid, or the arguments or the context are too large.
   */
  readonly enqueueAction = this.one("action");
  /** Enqueues an action for each of `argsList`. @returns the ids, in their order. */
  readonly enqueueActionBatch = this.batch("action");

  /**
   * Enqueues a mutation. It runs once, in a transaction of its own: if it throws, its writes are
   * rolled back and it has failed. Parameters as in {@link enqueueAction}.
   */
  readonly enqueueMutation = this.one("mutation");
  /** Enqueues a mutation for each of `argsList`. @returns the ids, in their order. */
  readonly enqueueMutationBatch = this.batch("mutation");

  /** Enqueues a query, whose result goes to `onComplete`. Otherwise as {@link enqueueMutation}. */
  readonly enqueueQuery = this.one("query");
  /** Enqueues a query for each of `argsList`. @returns the ids, in their order. */
  readonly enqueueQueryBatch = this.batch("query");

  /**
   * Cancels a work. One that waits never starts, and its callback gets `canceled` in this
   * transaction. One that runs goes on: if it fails, it is not retried, and its result is
   * `canceled`. A work that is finished or unknown is ignored.
   */
  async cancel(ctx: MutationRunner, id: WorkId): Promise<void> {
    checkText("Canceling a work", "its id", id);
    await ctx.runMutation(this.component.lib.cancel, { id });
  }

  /**
   * Cancels all works that have been enqueued so far, as {@link cancel} does, in pages.
   * @param options.limit how many works a page holds, 1 to 1,000. Default: 100. A page ends early
   *   if its callbacks have used up half of a transaction. @throws if it is out of its range.
   */
  async cancelAll(ctx: MutationRunner, options: { limit?: number } = {}): Promise<void> {
    checkAllGiven("cancelAll", options, { limit: COUNT });
    await ctx.runMutation(this.component.lib.cancelAll, { limit: options.limit });
  }

  /**
   * Schedules again what was lost: canceled or removed by hand, or by a restore from a backup. The
   * pool finds most of that itself, but not delayed works and retries while it is idle.
   */
  async repair(ctx: MutationRunner): Promise<void> {
    await ctx.runMutation(this.component.lib.repair, {});
  }

  /**
   * Returns the state of a work. `pending`: it waits for a slot, its time, or its next attempt.
   * `running`: it has a slot. `finished`: it has ended, or the id is unknown.
   */
  async status(ctx: QueryRunner, id: WorkId): Promise<WorkStatus> {
    checkText("Getting the status of a work", "its id", id);
    return await ctx.runQuery(this.component.lib.status, { id });
  }

  /**
   * Returns the states of works, in the order of the ids; see {@link status}. A query or mutation
   * may ask for about 2,000, as each takes two of its 4,096 index ranges; an action for any number.
   */
  async statusBatch(ctx: QueryRunner, ids: readonly WorkId[]): Promise<WorkStatus[]> {
    const subject = "Getting the status of works";
    checkGiven(subject, { ids: ids ?? null }, { ids: LIST });
    for (const [index, id] of ids.entries()) checkText(subject, `ids[${index}]`, id);
    const states: WorkStatus[] = [];
    for (let from = 0; from < ids.length; from += STATUS_BATCH) {
      const part = ids.slice(from, from + STATUS_BATCH);
      states.push(...(await ctx.runQuery(this.component.lib.statusBatch, { ids: part })));
    }
    return states;
  }

  /**
   * Defines a callback, an internal mutation that is called once when a work has ended. If it
   * throws it is rolled back, and not called again, and the table `failedCallbacks` has the error.
   * The types come from the validators, and from how the handler declares its `ctx`. If you name
   * the data model, as in `defineOnComplete<DataModel>(…)`, context and return value are `any`.
   *
   * @param context the validator of the context. Default: anything, or none.
   * @param returnValue the validator of what the work's function returns. Default: anything.
   * @example
   * export const emailed = emails.defineOnComplete({
   *   context: v.object({ user: v.id("users") }),
   *   handler: async (ctx: MutationCtx, { context, result }) => {
   *     if (result.kind === "failed") await ctx.db.patch("users", context.user, { bounced: true });
   *   },
   * });
   */
  defineOnComplete<
    DataModel extends GenericDataModel,
    Context extends Validator<any, "required" | "optional", any> = Validator<any, any, any>,
    Returns extends Validator<any, "required", any> = Validator<any, "required", any>,
  >(definition: {
    context?: Context;
    returnValue?: Returns;
    handler: (
      ctx: GenericMutationCtx<DataModel>,
      args: { workId: WorkId; context: Infer<Context>; result: RunResult<Infer<Returns>> },
    ) => Promise<void>;
  }): RegisteredMutation<
    "internal",
    ContextArg<Context> & { workId: WorkId; result: RunResult<Infer<Returns>> },
    Promise<null>
  > {
    const { context, returnValue, handler } = definition;
    const registered = internalMutationGeneric({
      args: vOnCompleteArgs(context, returnValue),
      // The data model and the validated types are the definer's; the generic builder knows
      // neither.
      handler: async (ctx, args): Promise<null> => {
        await handler(
          ctx as GenericMutationCtx<any> as GenericMutationCtx<DataModel>,
          args as { workId: WorkId; context: Infer<Context>; result: RunResult<Infer<Returns>> },
        );
        return null;
      },
    });
    return registered as ReturnType<typeof this.defineOnComplete<DataModel, Context, Returns>>;
  }

  private one<Kind extends WorkKind>(kind: Kind): EnqueueOne<Kind, Defined> {
    return async (ctx, fn, args, options) =>
      await enqueue(this.component, ctx, kind, fn, args, this.withSettings(kind, options));
  }

  private batch<Kind extends WorkKind>(kind: Kind): EnqueueBatch<Kind, Defined> {
    return async (ctx, fn, argsList, options) =>
      await enqueueBatch(this.component, ctx, kind, fn, argsList, this.withSettings(kind, options));
  }

  private withSettings<Options extends RetryOption>(kind: WorkKind, options?: Options) {
    checkFields("Enqueueing", options ?? {}, { fields: OPTIONS });
    checkGiven("Enqueueing", options ?? {}, { retry: RETRY });
    if (isPlain(options?.retry)) checkRetryBehavior(options.retry);
    const { maxParallelism, logLevel, limits, retryActionsByDefault = false } = this.options;
    const { defaultRetryBehavior = DEFAULT_RETRY_BEHAVIOR } = this.options;
    const retry = kind === "action" && (options?.retry ?? retryActionsByDefault);
    const retryBehavior = retry === true ? defaultRetryBehavior : retry || undefined;
    const settings = { maxParallelism, logLevel, definedLimits: limits, retryBehavior };
    return { ...options, retry: undefined, ...settings };
  }
}

type OptionsOf<
  Kind extends WorkKind,
  Callback extends OnComplete,
  Defined extends Limits,
> = EnqueueOptions<Callback, KeysOf<Defined>> &
  (Kind extends "action" ? RetryOption : { retry?: undefined });

type EnqueueOne<Kind extends WorkKind, Defined extends Limits> = <
  Fn extends WorkFunction<Kind>,
  Callback extends OnComplete = OnComplete,
>(
  ctx: MutationRunner,
  fn: Fn,
  args: FunctionArgs<Fn>,
  options?: OptionsOf<Kind, Callback, Defined>,
) => Promise<WorkId>;

type EnqueueBatch<Kind extends WorkKind, Defined extends Limits> = <
  Fn extends WorkFunction<Kind>,
  Callback extends OnComplete = OnComplete,
>(
  ctx: MutationRunner,
  fn: Fn,
  argsList: readonly FunctionArgs<Fn>[],
  options?: OptionsOf<Kind, Callback, Defined>,
) => Promise<WorkId[]>;

/** How many states one call into the component asks for. */
const STATUS_BATCH = 1_000;

/** A context that may be absent stays so in the arguments' type. */
type ContextArg<Context extends Validator<any, any, any>> =
  Context extends Validator<any, "optional", any>
    ? { context?: Infer<Context> }
    : { context: Infer<Context> };
