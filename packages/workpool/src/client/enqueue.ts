import {
  createFunctionHandle,
  type FunctionArgs,
  type FunctionReference,
  type FunctionVisibility,
  getFunctionAddress,
} from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import type { RetryBehavior, RunResult } from "../core/index.js";
import type { MutationRunner } from "./context.js";
import type { WorkId } from "./validators.js";

/** What may be enqueued. */
export type WorkKind = "action" | "mutation" | "query";

/** A mutation that can be a work's callback; `defineOnComplete` makes one. */
export type OnComplete = FunctionReference<
  "mutation",
  FunctionVisibility,
  { workId: WorkId; context?: any; result: RunResult }
>;

/** Options of every enqueue. `Callback` is the type of `onComplete`, and gives that of `context`. */
export type EnqueueOptions<Callback extends OnComplete = OnComplete> = {
  /** A mutation that is called once when the work has ended, whatever the outcome. Default: none. */
  onComplete?: Callback | null;
  /** Kinds of results that the callback is not called for. Default: none. */
  onCompleteExcludeKinds?: RunResult["kind"][];
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
  /** Whether, or how, a failed attempt is tried again. Default: as the pool's `retryActionsByDefault` says. */
  retry?: boolean | RetryBehavior;
};

/** What the component takes, beyond the works' own arguments. */
type Common = Omit<FunctionArgs<ComponentApi["lib"]["enqueue"]>, "args">;

/** What the `Workpool` class adds to each enqueue, and the free functions take among their options. */
export type EnqueueSettings = Pick<Common, "maxParallelism" | "logLevel"> & {
  /** How a failed attempt of an action is tried again. Default: it is not. */
  retryBehavior?: RetryBehavior;
};

/** One call into the component carries at most so much, … */
const BATCH_BYTES = 8_000_000;
/** … and so many works: each writes up to four documents of a transaction's 16,000. */
const BATCH_WORKS = 4_000;

/**
 * Enqueues one work. `Workpool` does the same with less to say; this is for code that is handed a component.
 * @param component the component, as `components.workpool`.
 * @param options those of an enqueue, the pool's `maxParallelism` and `logLevel` (default: what is stored stands), and how an action is
 * tried again (default: it is not).
 * @returns the id of the work.
 * @throws where an option is not allowed, or the arguments or the context are larger than 1 MB.
 */
export async function enqueue<
  Kind extends WorkKind,
  Fn extends FunctionReference<Kind, FunctionVisibility>,
  Callback extends OnComplete = OnComplete,
>(
  component: ComponentApi,
  ctx: MutationRunner,
  kind: Kind,
  fn: Fn,
  args: FunctionArgs<Fn>,
  options?: EnqueueOptions<Callback> & EnqueueSettings,
): Promise<WorkId> {
  return await enqueueOne(component, ctx, kind, fn, args, options, options);
}

/** As {@link enqueue}, with the settings apart. */
export async function enqueueOne(
  component: ComponentApi,
  ctx: MutationRunner,
  kind: WorkKind,
  fn: FunctionReference<WorkKind, FunctionVisibility>,
  args: Record<string, Value>,
  options: EnqueueOptions<OnComplete> | undefined,
  settings: EnqueueSettings | undefined,
): Promise<WorkId> {
  const common = await commonOf(kind, fn, options, settings);
  // The component's ids are strings to others; this is where they get their type.
  return (await ctx.runMutation(component.lib.enqueue, { ...common, args })) as WorkId;
}

/**
 * Enqueues a work for each of `argsList`, in as few calls into the component as 8 MB each allow.
 * @returns the ids, in the order of the arguments. From an action, a call that fails leaves the works of the calls before it enqueued.
 * @throws as {@link enqueue}.
 */
export async function enqueueBatch<
  Kind extends WorkKind,
  Fn extends FunctionReference<Kind, FunctionVisibility>,
  Callback extends OnComplete = OnComplete,
>(
  component: ComponentApi,
  ctx: MutationRunner,
  kind: Kind,
  fn: Fn,
  argsList: readonly FunctionArgs<Fn>[],
  options?: EnqueueOptions<Callback> & EnqueueSettings,
): Promise<WorkId[]> {
  return await enqueueMany(component, ctx, kind, fn, argsList, options, options);
}

/** As {@link enqueueBatch}, with the settings apart. */
export async function enqueueMany(
  component: ComponentApi,
  ctx: MutationRunner,
  kind: WorkKind,
  fn: FunctionReference<WorkKind, FunctionVisibility>,
  argsList: readonly Record<string, Value>[],
  options: EnqueueOptions<OnComplete> | undefined,
  settings: EnqueueSettings | undefined,
): Promise<WorkId[]> {
  const common = await commonOf(kind, fn, options, settings);
  const ids: string[] = [];
  for (const part of partsOf(common, argsList))
    ids.push(...(await ctx.runMutation(component.lib.enqueueBatch, { ...common, argsList: part })));
  return ids as WorkId[];
}

/** What is said once for all works of a call into the component. */
export async function commonOf(
  kind: WorkKind,
  fn: FunctionReference<WorkKind, FunctionVisibility>,
  options: EnqueueOptions<OnComplete> = {},
  { maxParallelism, logLevel, retryBehavior }: EnqueueSettings = {},
): Promise<Common> {
  const { onComplete, context, onCompleteExcludeKinds: excludeKinds, runAt, runAfter } = options;
  const name = options.name ?? pathOf(fn);
  if (runAt !== undefined && runAfter !== undefined)
    throw new Error(
      `Enqueueing ${name ?? `a ${kind}`}: both runAt and runAfter are given; give one of them`,
    );
  checkExcludeKinds(excludeKinds);
  return {
    ...(maxParallelism === undefined ? {} : { maxParallelism }),
    ...(logLevel === undefined ? {} : { logLevel }),
    ...(retryBehavior === undefined ? {} : { retry: retryBehavior }),
    kind,
    fn: await handleOf(fn),
    ...(name === undefined ? {} : { name }),
    ...(runAt === undefined ? {} : { runAt }),
    ...(runAfter === undefined ? {} : { runAt: Date.now() + runAfter }),
    ...(onComplete === undefined || onComplete === null
      ? {}
      : { onComplete: { fn: await handleOf(onComplete), context, excludeKinds } }),
  };
}

/** @throws where one is no kind of result: it would be stored, and exclude nothing. */
function checkExcludeKinds(excludeKinds: readonly string[] = []): void {
  const unknown = excludeKinds.find((kind) => !RESULT_KINDS.includes(kind));
  if (unknown !== undefined)
    throw new Error(
      `onCompleteExcludeKinds holds "${unknown}": a result is one of ${RESULT_KINDS.join(", ")}`,
    );
}
const RESULT_KINDS: readonly string[] = ["success", "failed", "canceled"];

async function handleOf(fn: FunctionReference<WorkKind, FunctionVisibility>): Promise<string> {
  return isHandle(fn) ? fn : await createFunctionHandle(fn);
}

/** A function handle is typed as a reference, and is a string. */
function isHandle(fn: unknown): fn is string {
  return typeof fn === "string" && fn.startsWith("function://");
}

/** The path of a function of the same app or component, as "folder/module:function"; undefined of others, which have none. */
function pathOf(fn: FunctionReference<WorkKind, FunctionVisibility>): string | undefined {
  return isHandle(fn) ? undefined : getFunctionAddress(fn).name;
}

/** Parts of a batch that one call into the component can carry each. Each work stores a copy of the context. */
export function* partsOf<Args extends Record<string, Value>>(
  { onComplete }: Pick<Common, "onComplete">,
  argsList: readonly Args[],
): Generator<Args[]> {
  const contextBytes = getConvexSize(onComplete?.context);
  let part: Args[] = [];
  let bytes = 0;
  for (const args of argsList) {
    const size = getConvexSize(args) + contextBytes;
    if (part.length > 0 && (bytes + size > BATCH_BYTES || part.length === BATCH_WORKS)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(args);
    bytes += size;
  }
  if (part.length > 0) yield part;
}
