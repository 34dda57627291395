import {
  ANY,
  checkAllGiven,
  isFunction,
  isPlain,
  isPromise,
  type Kind,
  type Limits,
  type LogLevel,
  type MutationRunner,
  partsOf,
  withLimitError,
} from "@stepwise/workpool/core";
import { createFunctionHandle, type FunctionArgs } from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import { Failure } from "../errors/failure.js";
import { checkStorable } from "../values.js";
import { atMostYear, type Duration, durationMs, literalText } from "../rules.js";
import { asWhole, collectOf } from "../runtime/collect.js";
import { inputOf, PASS_AN_ID } from "../runtime/input.js";
import { madeOf } from "../runtime/made.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { beginningOf } from "../runtime/restart.js";
import type { OnComplete, OnCompleteOption } from "./on-complete.js";

interface CommonOptions<Callback extends OnComplete> {
  /**
   * A mutation that is called once when the run has ended, however: `{ fn, context }`. It is nested
   * in the transaction that ends the run: if it throws, the run's result stays, and `status` tells
   * the error. A restarted run calls it again at its end.
   */
  onComplete?: OnCompleteOption<Callback>;
}

type WhenOption =
  | {
      /** When it begins: a date, or ms since the epoch. A past time is now. Default: now. */
      runAt?: Date | number;
      runAfter?: undefined;
    }
  | {
      runAt?: undefined;
      /** After how long it begins: ms, or text such as `"10m"`. Default: at once. */
      runAfter?: Duration;
    };

type KeyOptions<Key> =
  | { key?: Key; reuse?: undefined }
  | {
      /**
       * Makes the start idempotent: the same key of the same workflow gives the same run, until
       * that is removed. `startOrGet` tells whether a run was started.
       */
      key: Key;
      /**
       * When a key that names a run gets a new one. `"ended"`: once that run has ended. `"failed"`:
       * once it has failed, timed out or been canceled. A run that is being undone has not ended.
       * Default: `"never"`.
       */
      reuse?: "never" | "ended" | "failed";
    };

type Options<Callback extends OnComplete, Key> = CommonOptions<Callback> &
  WhenOption &
  KeyOptions<Key>;

export type StartOptions<Callback extends OnComplete = OnComplete> = Options<Callback, string>;

/** `key` gives each run its own. */
export type StartBatchOptions<Input, Callback extends OnComplete = OnComplete> = Options<
  Callback,
  (input: Input, index: number) => string
>;

/** A workflow that may have a `collect`. */
export interface Collecting<Collects> {
  readonly "~collects"?: Collects;
}

/** Several starts become one run, so that none of them has a key, a time or a callback of its own. */
export type WithoutCollect<Collects> = [Collects] extends [true]
  ? {
      key?: undefined;
      reuse?: undefined;
      runAt?: undefined;
      runAfter?: undefined;
      onComplete?: undefined;
    }
  : unknown;

/** What the manager adds to every start. */
export interface StartSettings {
  readonly maxParallelism: number | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly limits: Limits | undefined;
  readonly retentionMs: number | undefined;
}

type Starts = FunctionArgs<ComponentApi["lib"]["start"]>;

/** The names of the options. Their values are checked one by one. */
const OPTIONS: Record<keyof StartOptions, Kind> = {
  key: ANY,
  reuse: ANY,
  runAt: ANY,
  runAfter: ANY,
  onComplete: ANY,
};

const REUSES: readonly unknown[] = ["never", "ended", "failed"];

/** Returns when a run begins, in ms since the epoch. @throws if the options do not go together. */
function startTime(
  workflow: string,
  { key, reuse, runAt, runAfter }: Options<OnComplete, unknown>,
) {
  const wrong = (why: string) => new Error(`Starting "${workflow}": ${why}`);
  if (reuse !== undefined && !REUSES.includes(reuse))
    throw wrong(
      `reuse is ${literalText(reuse)}: write ${REUSES.map((each) => `"${each}"`).join(", ")}`,
    );
  if (reuse !== undefined && key === undefined)
    throw wrong("reuse has no effect without a key; give a key too");
  if (runAt !== undefined && runAfter !== undefined)
    throw wrong("both runAt and runAfter are given; give one of them");
  if (runAfter !== undefined)
    return Date.now() + durationMs(runAfter, `Starting "${workflow}": runAfter`);
  if (runAt === undefined) return undefined;
  const at = runAt instanceof Date ? runAt.getTime() : runAt;
  if (!Number.isFinite(at))
    throw wrong(`runAt is ${literalText(runAt)}: give a date, or ms since the epoch`);
  atMostYear(at - Date.now(), `Starting "${workflow}": runAt`, literalText(runAt));
  return at;
}

/** How deep a context can be: a document has 16 levels, and the context is inside one. */
const MAX_DEPTH = 14;

/** @throws a {@link Failure} that names the option, if it cannot be stored. */
function checkOption(workflow: string, option: string, value: unknown): Value {
  const subject = `Starting "${workflow}": ${option}`;
  const named = { subject, root: option, maxDepth: MAX_DEPTH, advice: PASS_AN_ID };
  checkStorable(value as Value, { ...named, kind: "invalidInput", cannot: "cannot be stored" });
  return value as Value;
}

function checkKey(workflow: string, key: unknown): void {
  if (key === undefined) return;
  if (typeof checkOption(workflow, "key", key) !== "string")
    throw new Failure("invalidInput", `Starting "${workflow}": key must be a string`);
  // All starts that lack what it is made of would be one run.
  if (key === "")
    throw new Failure(
      "invalidInput",
      `Starting "${workflow}": key is empty; leave it out for none`,
    );
}

/** The names of the fields of `onComplete`. */
const CALLBACK: Record<keyof OnCompleteOption<OnComplete>, Kind> = { fn: ANY, context: ANY };

function checkCallback(workflow: string, onComplete: unknown): void {
  const subject = `Starting "${workflow}"`;
  if (isPromise(onComplete))
    throw new TypeError(`${subject}: onComplete is ${literalText(onComplete)}`);
  // A reference has each field that is asked for: a reference to another function.
  if (isFunction(onComplete))
    throw new TypeError(
      `${subject}: onComplete is a function: write { fn: internal.orders.ended }, with the context if it has one`,
    );
  const { fn }: { fn?: unknown } = isPlain(onComplete) ? onComplete : {};
  if (!isFunction(fn))
    throw new TypeError(
      `${subject}: onComplete.fn is ${literalText(fn)}: give a mutation, such as internal.orders.ended`,
    );
  checkAllGiven(`${subject}, onComplete`, onComplete, CALLBACK);
}

/** @throws if a start that is collected has an option that only a run of its own can have. */
function checkCollected(
  workflow: string,
  key: string | undefined,
  { runAt, runAfter, onComplete }: Options<OnComplete, unknown>,
): void {
  const refused = (option: string, hint: string) =>
    new Error(
      `Starting "${workflow}": its \`collect\` makes one run of several starts, so this one has no ${option} of its own; ${hint}`,
    );
  if (key !== undefined)
    throw refused(
      "key",
      "name the run by the id that start returns, or leave doubles out in its first step",
    );
  if (runAt !== undefined || runAfter !== undefined)
    throw refused(
      runAt === undefined ? "runAfter" : "runAt",
      "it begins as `quiet` and `atMost` say",
    );
  if (onComplete !== undefined) throw refused("onComplete", "give the workflow an `onEnd`");
}

/** How many bytes of inputs one call into the component carries at most, … */
const BATCH_BYTES = 4_000_000;
/** … and how many functions it schedules at most: one for each run and each timeout. */
const BATCH_FUNCTIONS = 500;
/**
 * A start that opens a run and closes it schedules its time, a check of that, and its beginning.
 */
const FUNCTIONS_TO_COLLECT = 3;

/** Starts runs, or finds those of the same keys, in as few calls as possible. */
export async function startAll(
  component: ComponentApi,
  ctx: MutationRunner,
  workflow: WorkflowReference<never>,
  starts: Starts["starts"],
  options: Options<OnComplete, unknown>,
  settings: StartSettings,
): Promise<{ runId: string; started: boolean }[]> {
  const { reuse, onComplete } = options;
  const { maxParallelism, logLevel, limits = workflow.limits } = settings;
  const subject = `Starting "${workflow.name}"`;
  checkAllGiven(subject, options, OPTIONS);
  for (const { key } of starts) checkKey(workflow.name, key);
  const at = startTime(workflow.name, options);
  if (onComplete !== undefined) checkCallback(workflow.name, onComplete);
  const begin = await beginningOf(workflow, settings.retentionMs, true);
  const context = checkOption(workflow.name, "onComplete.context", onComplete?.context ?? null);
  const tagged: Starts["starts"] = [];
  for (const start of starts) {
    // What is made of a start that is collected is made again, when its run begins.
    const collect = collectOf(workflow, start.input);
    if (collect !== undefined) checkCollected(workflow.name, start.key, options);
    const whole = asWhole(workflow, start);
    const made = madeOf(workflow, whole.input);
    if (collect !== undefined) tagged.push({ ...start, tags: made.tags, collect });
    else {
      const permits = await workflow.permits(whole.input);
      tagged.push({ ...start, ...whole, ...made, permits });
    }
  }
  const common = {
    begin,
    at,
    reuse: reuse === "never" ? undefined : reuse,
    onComplete: onComplete && {
      fn: await createFunctionHandle(onComplete.fn),
      context,
    },
    maxParallelism,
    logLevel,
    limits,
  };
  const each = tagged.some(({ collect }) => collect !== undefined)
    ? FUNCTIONS_TO_COLLECT
    : begin.timeoutMs === undefined
      ? 1
      : 2;
  const items = Math.floor(BATCH_FUNCTIONS / each);
  const started = [];
  const sizeOf = (start: Starts["starts"][number]) => getConvexSize(start as Value);
  for (const part of partsOf(tagged, sizeOf, { items, bytes: BATCH_BYTES })) {
    const run = () => ctx.runMutation(component.lib.start, { ...common, starts: part });
    started.push(...(await withLimitError(run)));
  }
  return started;
}

/** An input of a batch, parsed. @throws as `parse` does, and says which input it was. */
export function parsedAt(workflow: WorkflowReference<never>, input: unknown, index: number) {
  try {
    return inputOf(workflow, input);
  } catch (error) {
    throw Failure.from(error, `Input ${index} of the batch: `);
  }
}
