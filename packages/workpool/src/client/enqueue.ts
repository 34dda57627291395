import {
  createFunctionHandle,
  type FunctionArgs,
  type FunctionReference,
  type FunctionVisibility,
  getFunctionAddress,
} from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import {
  ANY,
  checkAllGiven,
  checkArgs,
  checkGiven,
  checkLogLevel,
  checkRetryBehavior,
  checkValue,
  isFunction,
  type Kind,
  type LimitKeys,
  type Limits,
  literalText,
  type MutationRunner,
  partsOf,
  fairFor,
  permitsFor,
  type RetryBehavior,
  type RunResult,
  TEXT,
  withLimitError,
  YEAR_MS,
} from "../core/index.js";
import type { WorkId } from "./validators.js";

/** What can be enqueued. */
export type WorkKind = "action" | "mutation" | "query";

export type WorkFunction<Kind extends WorkKind = WorkKind> = FunctionReference<
  Kind,
  FunctionVisibility
>;

/** A mutation that can be a work's callback; `defineOnComplete` makes one. */
export type OnComplete = FunctionReference<
  "mutation",
  FunctionVisibility,
  { workId: WorkId; context?: any; result: RunResult }
>;

/**
 * Options of every enqueue. `Callback`, the type of `onComplete`, gives that of `context`; `Keys`
 * is that of `limits`.
 */
export type EnqueueOptions<
  Callback extends OnComplete = OnComplete,
  Keys extends LimitKeys = LimitKeys,
> = {
  /** A mutation, called once when the work has ended, whatever the outcome. Default: none. */
  onComplete?: Callback | null;
  /** Kinds of results that the callback is not called for. Default: none. */
  onCompleteExcludeKinds?: readonly RunResult["kind"][];
  /**
   * The limits that the work counts towards: with the key, or `true` if it has none. Default: none.
   */
  limits?: Keys;
  /**
   * How many ms it waits at most, up to a year, for a slot and its limits. That is counted for each
   * attempt. Then it fails, and is not retried. Default: it waits for as long as it takes.
   */
  waitAtMost?: number;
  /**
   * How many ms earlier it counts as enqueued, among works that wait for the same. A later attempt
   * has the place of the first. Default: 0.
   */
  priority?: number;
  /**
   * Who the work belongs to: while works wait, each slot goes to the key that holds the fewest for
   * its weight. One of weight 3 gets three times as many as one of weight 1, which is the default.
   * Works without it share one key of weight 1.
   */
  fairness?: { key: string; weight?: number };
  /** Names the work in logs and messages. Default: the path of its function. */
  name?: string;
} & ContextOption<FunctionArgs<Callback>["context"]> &
  StartOption;

/** Must be given where the callback cannot do without. */
type ContextOption<Context> = undefined extends Context
  ? {
      /** Handed to the callback; up to 1 MB. Default: none. */
      context?: Context;
    }
  : {
      /** Handed to the callback; up to 1 MB. */
      context: Context;
    };

type StartOption =
  | {
      /** When to start, in ms since the epoch. Default: at once. */
      runAt?: number;
      runAfter?: undefined;
    }
  | {
      runAt?: undefined;
      /** When to start, in ms from now. Default: at once. */
      runAfter?: number;
    };

export type RetryOption = {
  /** Says whether, or how, a failed attempt is retried. Default: `retryActionsByDefault`. */
  retry?: boolean | RetryBehavior;
};

/** What the component takes, beyond the works' own arguments. */
type Common = Omit<FunctionArgs<ComponentApi["lib"]["enqueue"]>, "args">;

/** What the `Workpool` class adds to each enqueue. */
export type EnqueueSettings = Pick<Common, "maxParallelism" | "logLevel"> & {
  /** How a failed attempt of an action is tried again. Default: it is not. */
  retryBehavior?: RetryBehavior;
  /**
   * All limits that the pool has, as `limits` of `WorkpoolOptions`. Default: the stored ones stay.
   */
  definedLimits?: Limits;
};

/** How many bytes one call into the component carries at most … */
const BATCH_BYTES = 8_000_000;
/** … and how many works: each writes up to four documents of a transaction's 16,000. */
const BATCH_WORKS = 4_000;

/**
 * Enqueues one work, as `Workpool` does; for code that gets a component as a parameter.
 * @param component the component, as `components.workpool`.
 * @param options of the enqueue and of the pool. Default: stored pool options stay; no retries.
 * @throws if an option is invalid, or the arguments or the context are larger than 1 MB. A
 *   `LimitError` if it would have to wait for a limit whose `maxWaiting` is reached.
 */
export async function enqueue<
  Kind extends WorkKind,
  Fn extends WorkFunction<Kind>,
  Callback extends OnComplete = OnComplete,
>(
  component: ComponentApi,
  ctx: MutationRunner,
  kind: Kind,
  fn: Fn,
  args: FunctionArgs<Fn>,
  options?: EnqueueOptions<Callback> & EnqueueSettings,
): Promise<WorkId> {
  checkArgs(checkedSubject(kind, fn, options), "args", args);
  const common = await commonOf(kind, fn, options);
  // The component's ids are strings to others; this is where they get their type.
  const run = () => ctx.runMutation(component.lib.enqueue, { ...common, args });
  return (await withLimitError(run)) as WorkId;
}

/**
 * Enqueues a work for each of `argsList`, in calls of up to 8 MB.
 * @returns the ids, in order. If a call of an action fails, the works of earlier ones stay.
 * @throws as {@link enqueue}.
 */
export async function enqueueBatch<
  Kind extends WorkKind,
  Fn extends WorkFunction<Kind>,
  Callback extends OnComplete = OnComplete,
>(
  component: ComponentApi,
  ctx: MutationRunner,
  kind: Kind,
  fn: Fn,
  argsList: readonly FunctionArgs<Fn>[],
  options?: EnqueueOptions<Callback> & EnqueueSettings,
): Promise<WorkId[]> {
  checkArgsList(checkedSubject(kind, fn, options), argsList);
  const common = await commonOf(kind, fn, options);
  const ids: string[] = [];
  for (const part of batchesOf(common, argsList)) {
    const run = () => ctx.runMutation(component.lib.enqueueBatch, { ...common, argsList: part });
    ids.push(...(await withLimitError(run)));
  }
  return ids as WorkId[];
}

/** Returns how messages begin. @throws if the function is none, or an option is not allowed. */
export function checkedSubject(
  kind: WorkKind,
  fn: WorkFunction,
  options: EnqueueOptions<OnComplete> & EnqueueSettings = {},
): string {
  checkGiven(subjectOf(kind), { fn: fn ?? null }, { fn: FUNCTION });
  checkGiven("Enqueueing", options, { name: TEXT });
  const subject = subjectOf(kind, options.name ?? pathOf(fn));
  checkAllGiven(subject, options, ALL_OPTIONS);
  const { context, onCompleteExcludeKinds, runAt, runAfter, logLevel, retryBehavior } = options;
  if (runAt !== undefined && runAfter !== undefined)
    throw new Error(`${subject}: both runAt and runAfter are given; give one of them`);
  checkExcludeKinds(onCompleteExcludeKinds);
  if (logLevel !== undefined) checkLogLevel(logLevel);
  if (retryBehavior !== undefined) checkRetryBehavior(retryBehavior, "retryBehavior");
  if (context !== undefined) checkValue(subject, "context", context, LEVELS_OF_A_CONTEXT);
  return subject;
}

/** @throws if it is no list of arguments. */
export function checkArgsList(subject: string, argsList: unknown): void {
  checkGiven(subject, { argsList: argsList ?? null }, { argsList: LIST });
  // A hole is one of them, too.
  for (const [index, args] of (argsList as unknown[]).entries())
    checkArgs(subject, `argsList[${index}]`, args);
}

/** Returns what the works of one call into the component have in common. */
export async function commonOf(
  kind: WorkKind,
  fn: WorkFunction,
  options: EnqueueOptions<OnComplete> & EnqueueSettings = {},
): Promise<Common> {
  const { onComplete, context, onCompleteExcludeKinds, runAt, runAfter } = options;
  const {
    maxParallelism,
    logLevel,
    retryBehavior: retry,
    definedLimits,
    limits,
    waitAtMost,
    priority,
    fairness,
  } = options;
  return {
    maxParallelism,
    logLevel,
    limits: definedLimits,
    permits: limits === undefined ? undefined : permitsFor(limits, definedLimits),
    waitAtMostMs: waitAtMost,
    fairness: fairness === undefined ? undefined : fairFor(fairness),
    priorityMs: priority === 0 ? undefined : priority,
    spends: limits === undefined ? undefined : spendsOf(limits),
    retry,
    kind,
    fn: await handleOf(fn),
    name: options.name ?? pathOf(fn),
    runAt: runAfter === undefined ? runAt : Date.now() + runAfter,
    onComplete: onComplete
      ? {
          fn: await handleOf(onComplete),
          context,
          excludeKinds: onCompleteExcludeKinds && [...onCompleteExcludeKinds],
        }
      : undefined,
  };
}

/** How a message says what is enqueued. */
function subjectOf(kind: WorkKind, name: string = kind === "action" ? "an action" : `a ${kind}`) {
  return `Enqueueing ${name}`;
}

export const LIST: Kind = { what: "a list", is: Array.isArray };

const FUNCTION: Kind = {
  what: "a function of the app, such as internal.emails.send",
  is: isFunction,
};

/** It is a field of a field of the work's record. */
const LEVELS_OF_A_CONTEXT = 14;

function within(what: string, isWithin: (ms: number) => boolean): Kind {
  return { what, is: (given) => typeof given === "number" && isWithin(given) };
}

export const WITHIN_A_YEAR = within(
  `a number of ms above 0, ${YEAR_MS} at most`,
  (ms) => ms > 0 && ms <= YEAR_MS,
);

/** What each of the {@link EnqueueOptions} may be. */
export const WORK_OPTIONS: Record<keyof EnqueueOptions, Kind> = {
  onComplete: { ...FUNCTION, is: (given) => given === null || isFunction(given) },
  context: ANY,
  onCompleteExcludeKinds: LIST,
  name: TEXT,
  // These say themselves what they must be.
  limits: ANY,
  fairness: ANY,
  waitAtMost: WITHIN_A_YEAR,
  priority: within(`a number of ms from 0 to ${YEAR_MS}`, (ms) => ms >= 0 && ms <= YEAR_MS),
  // What is past means now, and what is far ahead is told of where the clock is.
  runAt: within("ms since the epoch", Number.isFinite),
  runAfter: within("a number of ms", Number.isFinite),
};

const ALL_OPTIONS: Record<keyof (EnqueueOptions & EnqueueSettings), Kind> = {
  ...WORK_OPTIONS,
  maxParallelism: ANY,
  logLevel: ANY,
  retryBehavior: ANY,
  definedLimits: ANY,
};

/** Returns where results say what was used, by limit; undefined if none does. */
function spendsOf(limits: LimitKeys): Record<string, string> | undefined {
  const spends = Object.entries(limits).flatMap(([name, given]) =>
    typeof given === "object" && given.spend !== undefined ? [[name, given.spend] as const] : [],
  );
  return spends.length === 0 ? undefined : Object.fromEntries(spends);
}

/** @throws if one is not a kind of result. */
function checkExcludeKinds(excludeKinds: readonly string[] = []): void {
  // A hole is one of them, too.
  for (const kind of excludeKinds)
    if (!RESULT_KINDS.includes(kind))
      throw new Error(
        `onCompleteExcludeKinds holds ${literalText(kind)}: a result is one of ${RESULT_KINDS.join(", ")}`,
      );
}
const RESULT_KINDS: readonly string[] = ["success", "failed", "canceled"];

async function handleOf(fn: WorkFunction): Promise<string> {
  return isHandle(fn) ? fn : await createFunctionHandle(fn);
}

/** A function handle is typed as a reference, and is a string. */
function isHandle(fn: unknown): fn is string {
  return typeof fn === "string" && fn.startsWith("function://");
}

/** The path of a function, as "folder/module:function"; undefined for a handle, which has none. */
function pathOf(fn: WorkFunction): string | undefined {
  return isHandle(fn) ? undefined : getFunctionAddress(fn).name;
}

/** Splits a batch into calls into the component. Each work stores a copy of the context. */
export function batchesOf<Args extends Record<string, Value>>(
  { onComplete }: Pick<Common, "onComplete">,
  argsList: readonly Args[],
): Generator<Args[]> {
  const contextBytes = getConvexSize(onComplete?.context);
  const sizeOf = (args: Args) => getConvexSize(args) + contextBytes;
  return partsOf(argsList, sizeOf, { items: BATCH_WORKS, bytes: BATCH_BYTES });
}
