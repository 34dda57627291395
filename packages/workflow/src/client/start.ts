import type { LogLevel } from "@stepwise/workpool/core";
import { createFunctionHandle } from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import type { FunctionArgs } from "convex/server";
import type { ComponentApi } from "../component/_generated/component.js";
import { durationMs, type Duration } from "../definition/duration.js";
import { describeThrown, Failure } from "../errors/failure.js";
import type { WorkflowReference } from "../runtime/reference.js";
import type { MutationRunner } from "./context.js";
import type { OnComplete, OnCompleteOption } from "./on-complete.js";

type WhenOption =
  | {
      /** When it begins: a date, or ms since the epoch. One that is past is now. Default: now. */
      runAt?: Date | number;
      runAfter?: undefined;
    }
  | {
      runAt?: undefined;
      /** After how long it begins: ms, or text such as `"10m"`. Default: at once. */
      runAfter?: Duration;
    };

interface CommonOptions<Callback extends OnComplete> {
  /**
   * A mutation that is called once when the run has ended, however: `{ fn, context }`. It is called in the transaction that ends the run,
   * as a nested one: if it throws, the run's result stays, and `status` tells the error. A run that is restarted calls it again at its end.
   */
  onComplete?: OnCompleteOption<Callback>;
}

/** `Key`: how the key is given. */
type KeyOptions<Key> =
  | { key?: Key; reuse?: undefined }
  | {
      /**
       * Makes the start idempotent: the same key of the same workflow gives the same run, until that is removed. `startOrGet` tells whether a
       * run was started.
       */
      key: Key;
      /**
       * When a new run is started although the key names one: `"ended"`, once that has ended, or `"failed"`, once it has failed, timed out or
       * been canceled. A run that is being undone has not ended. The key names the new run then. Default: `"never"`.
       */
      reuse?: "never" | "ended" | "failed";
    };

export type StartOptions<Callback extends OnComplete = OnComplete> = CommonOptions<Callback> &
  WhenOption &
  KeyOptions<string>;

/** `key` gives each run its own. */
export type StartBatchOptions<
  Input,
  Callback extends OnComplete = OnComplete,
> = CommonOptions<Callback> & WhenOption & KeyOptions<(input: Input, index: number) => string>;

/** What the manager adds to every start. */
export interface StartSettings {
  readonly maxParallelism: number | undefined;
  readonly logLevel: LogLevel | undefined;
  readonly retentionMs: number | undefined;
}

type Starts = FunctionArgs<ComponentApi["lib"]["start"]>;

/** @throws where it is something else than its type says, such as the definition. */
function checkCompiled(workflow: WorkflowReference<never>): void {
  if (typeof workflow?.parse === "function") return;
  throw new TypeError(
    "What is started is one of the `workflows` that workflow-codegen generates, such as `workflows.order`, and not its definition",
  );
}

/** What runs of a workflow start with that are started together. @throws where the options do not go together. */
export async function startOf<Callback extends OnComplete>(
  workflow: WorkflowReference<never>,
  {
    key,
    reuse,
    runAt,
    runAfter,
    onComplete,
  }: CommonOptions<Callback> & WhenOption & KeyOptions<unknown>,
  { maxParallelism, logLevel, retentionMs }: StartSettings,
): Promise<Omit<Starts, "starts">> {
  if (reuse !== undefined && key === undefined)
    throw new Error(
      `Starting "${workflow.name}": reuse has no effect without a key; give a key too`,
    );
  const begin = await workflow.begin();
  const at = startTime(workflow.name, runAt, runAfter);
  return {
    begin:
      begin.retentionMs === undefined && retentionMs !== undefined
        ? { ...begin, retentionMs }
        : begin,
    ...(at === undefined ? {} : { at }),
    ...(reuse === undefined || reuse === "never" ? {} : { reuse }),
    ...(onComplete === undefined
      ? {}
      : {
          onComplete: {
            fn: await createFunctionHandle(onComplete.fn),
            context: onComplete.context ?? null,
          },
        }),
    ...(maxParallelism === undefined ? {} : { maxParallelism }),
    ...(logLevel === undefined ? {} : { logLevel }),
  };
}

function startTime(
  workflow: string,
  runAt: Date | number | undefined,
  runAfter: Duration | undefined,
): number | undefined {
  if (runAt !== undefined && runAfter !== undefined)
    throw new Error(`Starting "${workflow}": both runAt and runAfter are given; give one of them`);
  if (runAfter !== undefined)
    return Date.now() + durationMs(runAfter, `Starting "${workflow}": runAfter`);
  if (runAt === undefined) return undefined;
  const at = runAt instanceof Date ? runAt.getTime() : runAt;
  if (!Number.isFinite(at)) throw new Error(`Starting "${workflow}": runAt is no time`);
  return at;
}

/** One call into the component carries at most so many bytes of inputs, … */
const BATCH_BYTES = 4_000_000;
/** … and schedules at most so many functions, of the 1,000 that a transaction may: one for each run, and one more where its time is watched. */
const BATCH_FUNCTIONS = 500;

/** Starts a run, or finds the one of the same key. @returns its id, and whether it was started. */
export async function startOne<Input, Callback extends OnComplete>(
  component: ComponentApi,
  ctx: MutationRunner,
  workflow: WorkflowReference<Input>,
  input: Input,
  options: StartOptions<Callback>,
  settings: StartSettings,
): Promise<{ runId: string; started: boolean }> {
  checkCompiled(workflow);
  const { key } = options;
  const start = { input: workflow.parse(input), ...(key === undefined ? {} : { key }) };
  const common = await startOf(workflow, options, settings);
  const [started] = await ctx.runMutation(component.lib.start, { ...common, starts: [start] });
  if (started === undefined) throw new Error("A run that was started has no id");
  return started;
}

/** Starts runs, in as few calls into the component as can carry them. @returns their ids, in the order of the inputs. */
export async function startAll<Input>(
  component: ComponentApi,
  ctx: MutationRunner,
  workflow: WorkflowReference<Input>,
  inputs: readonly Input[],
  options: StartBatchOptions<Input>,
  settings: StartSettings,
): Promise<string[]> {
  checkCompiled(workflow);
  const { key } = options;
  const starts = inputs.map((input, index) => ({
    input: parsedAt(workflow, input, index),
    ...(key === undefined ? {} : { key: key(input, index) }),
  }));
  const common = await startOf(workflow, options, settings);
  const ids: string[] = [];
  const runs = common.begin.timeoutMs === undefined ? BATCH_FUNCTIONS : BATCH_FUNCTIONS / 2;
  for (const part of partsOf(starts, runs)) {
    const started = await ctx.runMutation(component.lib.start, { ...common, starts: part });
    ids.push(...started.map(({ runId }) => runId));
  }
  return ids;
}

/** @throws as `parse` does, and says which input it was. */
function parsedAt(workflow: WorkflowReference<never>, input: unknown, index: number): Value {
  try {
    return workflow.parse(input);
  } catch (error) {
    const { kind, message, data } = describeThrown(error);
    throw new Failure(kind, `Input ${index} of the batch: ${message}`, data);
  }
}

/** @param runs how many there are in a part at most. */
function* partsOf(starts: Starts["starts"], runs: number): Generator<Starts["starts"]> {
  let part: Starts["starts"] = [];
  let bytes = 0;
  for (const start of starts) {
    const size = getConvexSize(start as Value);
    if (part.length > 0 && (bytes + size > BATCH_BYTES || part.length === runs)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(start);
    bytes += size;
  }
  if (part.length > 0) yield part;
}
