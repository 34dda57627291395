import {
  ANY,
  checkAllGiven,
  checkGiven,
  checkLimits,
  checkLogLevel,
  checkMaxParallelism,
  COUNT,
  type Kind,
  LimitControls,
  literalText,
  type Limits,
  type LogLevel,
  type MutationRunner,
  OBJECT,
  type QueryRunner,
  TEXT,
} from "@stepwise/workpool/core";
import { v } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import type { Registered } from "../definition/limits.js";
import { type Duration, durationMs } from "../rules.js";
import { inputOf } from "../runtime/input.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { restartBy } from "../runtime/restart.js";
import { Bulk } from "./bulk.js";
import { type EventName, type EventPayload, sendEvent } from "./events.js";
import { type ListedRun, type ListFilter, listRuns } from "./listing.js";
import { type SteeredLimit, type Until, untilTime } from "./limits.js";
import { asCalled, named, nodeNamed } from "./nodes.js";
import { type Page, type PageOptions, pageOf } from "./paging.js";
import type { OnComplete } from "./on-complete.js";
import {
  type Collecting,
  parsedAt,
  startAll,
  type StartBatchOptions,
  type StartOptions,
  type StartSettings,
  type WithoutCollect,
} from "./start.js";
import type { RestartOptions } from "./restart.js";
import type { Status } from "./status.js";
import { type TimelineEntry, timelineOf } from "./timeline.js";
import type { Wait } from "./waits.js";
import {
  checkCompiled,
  checkRunId,
  refusal,
  runArgs,
  type RunOrKey,
  unknownRun,
  type WhichRun,
} from "./which-run.js";

type AnyWorkflow = WorkflowReference<never>;

/** The id of a run, as `start` returns it. */
export type RunId = string;
/** Validates a run's id, for the arguments of your functions. */
export const vRunId = v.string();

export interface WorkflowManagerOptions {
  /**
   * How many actions run at once in the whole app, from 0 (paused) to 200. Default: what is stored;
   * 10 at first. The next start applies a change; `components.workflow.config.update` does at once.
   */
  maxParallelism?: number;
  /**
   * How much is logged, as lines of JSON. `INFO`: how runs begin and end. `REPORT` and `WARN`:
   * retried attempts, failed runs, lost actions. `ERROR`: only what an operator must look at.
   * Default: what is stored; `REPORT` at first.
   */
  logLevel?: LogLevel;
  /**
   * How long a run that starts from now on is kept after its end, if its workflow has no
   * `retention`. Then it is removed in the background. Default: forever.
   */
  retention?: Duration;
  /**
   * The names of renamed workflows, by the first ones that they had, for lists of runs. The
   * generated `workflow` has them.
   */
  renamed?: Readonly<Record<string, string>>;
  /**
   * How many actions that name a limit run at once: `{ perKey: 3 }` for each key, `{ total: 5 }` in
   * all, or both. Default: the stored ones, at first none.
   */
  limits?: Limits;
}

const OPTIONS: Record<keyof WorkflowManagerOptions, Kind> = {
  maxParallelism: ANY,
  logLevel: ANY,
  retention: ANY,
  renamed: OBJECT,
  limits: ANY,
};

const RESTART_OPTIONS: Record<keyof RestartOptions<AnyWorkflow>, Kind> = {
  from: TEXT,
  iteration: COUNT,
  input: ANY,
};

/**
 * Starts, watches and steers the runs of an app. Each method makes one call into the component:
 * part of the transaction of a mutation or query, a transaction of its own in an action.
 */
export class WorkflowManager {
  readonly #settings: StartSettings;
  readonly #renamed: ReadonlyMap<string, string>;
  /** Changes many runs, in the background. */
  readonly bulk: Bulk;
  /** Pauses and overrides limits while the app runs, and shows them. */
  readonly limits: LimitControls<SteeredLimit, Until, Registered>;

  /** @param component `components.workflow`. @throws if an option is out of its range. */
  constructor(
    private readonly component: ComponentApi,
    options: WorkflowManagerOptions = {},
  ) {
    checkAllGiven("The WorkflowManager", options, OPTIONS);
    const { maxParallelism, logLevel, retention, limits, renamed = {} } = options;
    if (maxParallelism !== undefined) checkMaxParallelism(maxParallelism);
    if (logLevel !== undefined) checkLogLevel(logLevel);
    if (limits !== undefined) checkLimits(limits);
    const of = "The retention of the WorkflowManager";
    const retentionMs = retention === undefined ? undefined : durationMs(retention, of);
    this.#settings = { maxParallelism, logLevel, limits, retentionMs };
    this.#renamed = new Map(Object.entries(renamed));
    const config = { maxParallelism, limits };
    this.limits = new LimitControls(component.limits, config, untilTime);
    this.bulk = new Bulk(component, retentionMs, this.#renamed);
  }

  /** Runs with the present names of their workflows. */
  #called<Row extends { workflow: string }, Rest>(found: Rest & { page: Row[] }) {
    const page = found.page.map((row) => {
      return { ...row, workflow: this.#renamed.get(row.workflow) ?? row.workflow };
    });
    return { ...found, page };
  }

  /**
   * Starts a run, as soon as the caller's transaction has committed.
   * @param input parsed with the workflow's schema; handlers see the result.
   * @param options `key` and `reuse`, `runAt` or `runAfter`, `onComplete`. None of these for a
   *   workflow with a `collect`.
   * @returns the run's id. If the `key` names a run already, or the `one` of the workflow skips the
   *   start, it is the id of that other run.
   * @throws if the input does not fit, naming the workflow and each bad field, is too large, or an
   *   option is invalid. A `LimitError` if its first action would have to wait for a limit whose
   *   `maxWaiting` is reached. Then there is no run, and the caller's transaction can go on.
   */
  async start<Input, Callback extends OnComplete = OnComplete, Collects = false>(
    ctx: MutationRunner,
    workflow: WorkflowReference<Input> & Collecting<Collects>,
    input: NoInfer<Input>,
    options?: StartOptions<Callback> & WithoutCollect<Collects>,
  ): Promise<RunId> {
    return (await this.startOrGet(ctx, workflow, input, options)).runId;
  }

  /**
   * Does what {@link start} does. @returns also `started`: false if the `key` named a run already,
   * or if the `one` of the workflow skips the start. Then the id is that of the other run.
   */
  async startOrGet<Input, Callback extends OnComplete = OnComplete, Collects = false>(
    ctx: MutationRunner,
    workflow: WorkflowReference<Input> & Collecting<Collects>,
    input: NoInfer<Input>,
    options?: StartOptions<Callback> & WithoutCollect<Collects>,
  ): Promise<{ runId: RunId; started: boolean }> {
    checkCompiled(workflow);
    const starts = [{ ...inputOf(workflow, input), key: options?.key }];
    // There is one result for each start.
    return (await this.#start(ctx, workflow, starts, options))[0]!;
  }

  /**
   * Starts a run for each input. Each call into the component starts up to 500 runs (250 with a
   * `timeout`, 166 with a `collect`), or 4 MB of inputs. A mutation can schedule 1,000 functions. A
   * run takes one if it does not wait for a slot, one for its `timeout`, and up to three if it
   * collects.
   * @param options as for {@link start}; `key` is a function that gives each run its own.
   * @returns the ids, in the order of the inputs.
   * @throws as {@link start} does, before anything is started; the message says which input it is.
   */
  async startBatch<Input, Callback extends OnComplete = OnComplete, Collects = false>(
    ctx: MutationRunner,
    workflow: WorkflowReference<Input> & Collecting<Collects>,
    inputs: readonly NoInfer<Input>[],
    options?: StartBatchOptions<NoInfer<Input>, Callback> & WithoutCollect<Collects>,
  ): Promise<RunId[]> {
    checkCompiled(workflow);
    if (!Array.isArray(inputs))
      throw new TypeError(
        `Starting "${workflow.name}": the inputs are no list, but ${literalText(inputs)}`,
      );
    // Not `map`, which leaves out what a list has no value for.
    const { key } = options ?? {};
    if (key !== undefined && typeof key !== "function")
      throw new TypeError(
        `Starting "${workflow.name}": key must be a function of each input, and is ${literalText(key)}`,
      );
    const starts = Array.from(inputs as typeof inputs & unknown[], (input, index) => ({
      ...parsedAt(workflow, input, index),
      key: key?.(input, index),
    }));
    const all = await this.#start(ctx, workflow, starts, options);
    return all.map(({ runId }) => runId);
  }

  async #start(
    ctx: MutationRunner,
    workflow: AnyWorkflow,
    starts: Parameters<typeof startAll>[3],
    options: Parameters<typeof startAll>[4] = {},
  ) {
    return await startAll(this.component, ctx, workflow, starts, options, this.#settings);
  }

  /**
   * Returns the state of a run, the nodes it is at, and its output or error.
   * @param run the run's id, or `{ key }` with which it was started.
   * @returns null if there is no such run of the workflow.
   */
  async status<Workflow extends AnyWorkflow>(
    ctx: QueryRunner,
    workflow: Workflow,
    run: RunOrKey,
  ): Promise<Status<Workflow> | null> {
    checkCompiled(workflow);
    const found = await ctx.runQuery(this.component.views.status, runArgs([workflow, run]));
    if (found === null) return null;
    const { stored } = workflow;
    const isOutdated = found.plan !== workflow.plan;
    const active = found.active.map(({ node, ...of }) => asCalled(stored, node, of));
    const kept = found.kept.map((event) => ({ ...event, name: named(stored, event.name) }));
    // The output was checked when it was stored; its type is that of the definition.
    const { name } = workflow;
    return { ...found, workflow: name, isOutdated, active, kept } as unknown as Status<Workflow>;
  }

  /**
   * Returns a run's timeline, in pages: its nodes in the order in which they were reached. It has
   * the first iteration of a loop, and the newest 100. A page can be shorter than asked for, if
   * results are large.
   * @returns an empty page if there is no such run of the workflow.
   */
  async steps<Workflow extends AnyWorkflow>(
    ctx: QueryRunner,
    workflow: Workflow,
    runId: RunId,
    page: PageOptions,
  ): Promise<Page<TimelineEntry<Workflow>>> {
    checkCompiled(workflow);
    checkRunId(runId);
    return await timelineOf(this.component, ctx, workflow, runId, page);
  }

  /**
   * Returns the events that a run and those below it wait for, in the order in which the runs
   * began. Use it, for example, to show the questions of an agent's children.
   * @param page a page can be shorter than asked for, or empty, without being the last. Default:
   *   the first 100 runs that wait.
   * @returns an empty page if there is no such run.
   */
  async waits(
    ctx: QueryRunner,
    runId: RunId,
    page: PageOptions = { numItems: 100, cursor: null },
  ): Promise<Page<Wait>> {
    checkRunId(runId);
    const args = { runId, page: pageOf("Listing waits", page) };
    return this.#called(await ctx.runQuery(this.component.waits.list, args));
  }

  /**
   * Returns runs, the newest first, in pages. A page reads a bounded number of runs, and returns it
   * as `read`. It can be shorter than asked for, or empty, without being the last.
   * @throws if the filters do not go together, or the workflow has no such node.
   */
  async list<Workflow extends AnyWorkflow = AnyWorkflow>(
    ctx: QueryRunner,
    filter: ListFilter<Workflow>,
    page: PageOptions,
  ): Promise<Page<ListedRun> & { read: number }> {
    return this.#called(await listRuns(this.component, ctx, filter, page));
  }

  /**
   * Sends an event to a run. If the run waits for it, the run goes on in this transaction.
   * Otherwise the event is kept, in order, until the run comes to a node of that name.
   * @param run the run's id, or `{ key }` with which it was started.
   * @param name the name of the event's node, or one of the names in its `anyOf`.
   * @param payload parsed with the node's schema.
   * @returns whether it was `taken` by a node that waits, or `kept`.
   * @throws if no node of the workflow waits for such an event, the payload does not fit, or there
   *   is no such run. Also if the run has ended, is past all nodes that take the event, or would
   *   keep more than a document holds.
   */
  async sendEvent<Workflow extends AnyWorkflow, const Name extends EventName<Workflow>>(
    ctx: MutationRunner,
    workflow: Workflow,
    run: RunOrKey,
    name: Name,
    payload: NoInfer<EventPayload<Workflow, Name>>,
  ): Promise<"taken" | "kept"> {
    return await sendEvent(this.component, ctx, workflow, run, name, payload);
  }

  /**
   * Cancels a run and everything under it, and undoes steps with a `compensate`. A running step is
   * not stopped, but its result changes nothing. If a step cancels its own run, what it has written
   * stays.
   * @param which the run's id, or its workflow and `{ key }`; the same for {@link pause} and {@link
   *   resume}.
   * @returns false if the run has ended already, or is being undone.
   * @throws if there is no such run.
   */
  async cancel(ctx: MutationRunner, ...which: WhichRun): Promise<boolean> {
    return await this.#steer(ctx, "cancel", which);
  }

  /**
   * Pauses a run and everything under it: running steps end, and nothing new starts until {@link
   * resume}. Timeouts go on, and events are kept. A run that ends meanwhile is no longer paused.
   * @returns false if the run has ended already, or is being undone.
   * @throws if there is no such run.
   */
  async pause(ctx: MutationRunner, ...which: WhichRun): Promise<boolean> {
    return await this.#steer(ctx, "pause", which);
  }

  /**
   * Resumes a paused run. Timers that fell due meanwhile fire at once, and kept events are taken. One
   * below a run that is paused goes on with that.
   * @returns false if the run is not paused.
   * @throws if there is no such run.
   */
  async resume(ctx: MutationRunner, ...which: WhichRun): Promise<boolean> {
    return await this.#steer(ctx, "resume", which);
  }

  async #steer(ctx: MutationRunner, verb: "cancel" | "pause" | "resume", which: WhichRun) {
    const result = await ctx.runMutation(this.component.steering[verb], runArgs(which));
    if (result === "unknown") throw unknownRun(verb, which);
    return ["canceled", "paused", "resumed"].includes(result);
  }

  /**
   * Restarts a run that has ended, as a new generation with new idempotency keys. Nothing is
   * undone, and `onComplete` is called again.
   * @param options.from a node of the top level: completed nodes that read nothing from it,
   *   directly or through others, keep their results. Default: everything is done again.
   * @param options.iteration if that is a loop: where it begins, with 1 from its `initial`. The
   *   records of that before must be kept. Default: the iteration in which the loop has failed.
   * @param options.input replaces the run's input; it is parsed as in {@link start}. With `from`,
   *   the completed nodes before it keep their results from the old input. From there on, each node
   *   that reads the input runs again. Default: the stored input, which is parsed again if the
   *   schema may have changed.
   * @throws if there is no such run of the workflow, no such node or iteration, or the input does
   *   not fit. Also if the run has not ended or is a child, or if another run of its key has not
   *   ended.
   */
  async restart<Workflow extends AnyWorkflow>(
    ctx: MutationRunner & QueryRunner,
    workflow: Workflow,
    runId: RunId,
    options: RestartOptions<Workflow> = {},
  ): Promise<void> {
    checkCompiled(workflow);
    checkRunId(runId);
    checkAllGiven(`Restarting "${workflow.name}"`, options, RESTART_OPTIONS);
    const { from, iteration, input } = options;
    const first = from === undefined ? from : nodeNamed(workflow, from, { onTop: true });
    const { retentionMs } = this.#settings;
    const how = { from: first, iteration, input, retentionMs };
    const result = await restartBy(ctx, this.component, workflow, runId, how);
    if (result !== "restarted") throw refusal("restart", runId, result);
  }

  /**
   * Removes a run that has ended, and everything under it. It is gone at once, and its key is free;
   * large runs are removed in further transactions.
   * @throws if there is no such run, it has not ended, or it is a child.
   */
  async cleanup(ctx: MutationRunner, runId: RunId): Promise<void> {
    checkRunId(runId);
    const result = await ctx.runMutation(this.component.steering.cleanup, { runId });
    if (result !== "removed") throw refusal("clean up", runId, result);
  }

  /**
   * Schedules again, in pages, everything whose scheduled function was lost, for example by a
   * restore from a backup. A second call does no harm.
   * @param workflows the generated `workflows`. With them, runs of older plans that wait for an
   *   event without a timeout wake, too. They enter their node as it is now, or end with
   *   `removedNode`. Runs that wait by a `one` that their workflow no longer has begin, too.
   */
  async repair(ctx: MutationRunner, workflows?: Readonly<Record<string, AnyWorkflow>>) {
    checkGiven("Repairing", workflows ?? {}, {}, "workflows");
    const all = workflows && Object.values(workflows);
    all?.forEach(checkCompiled);
    const plans = all?.map(({ storedAs: workflow, plan, definition }) => {
      return { workflow, plan, isOpen: definition.options.one === undefined || undefined };
    });
    await ctx.runMutation(this.component.steering.repair, { plans });
  }
}
