import { checkLogLevel, checkMaxParallelism, type LogLevel } from "@stepwise/workpool/core";
import { v } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import { durationMs, type Duration } from "../definition/duration.js";
import { firstStageOf } from "../runtime/place.js";
import type { WorkflowReference } from "../runtime/reference.js";
import type { MutationRunner, QueryRunner } from "./context.js";
import { sendEvent, type EventName, type EventPayload } from "./events.js";
import {
  listRuns,
  type ListedRun,
  type ListFilter,
  type Page,
  type PageOptions,
} from "./listing.js";
import { asCalled, nodeNamed, type NodeName } from "./nodes.js";
import type { OnComplete } from "./on-complete.js";
import {
  startAll,
  startOf,
  startOne,
  type StartBatchOptions,
  type StartOptions,
  type StartSettings,
} from "./start.js";
import type { Status } from "./status.js";
import { timelineOf, type TimelineEntry } from "./timeline.js";
import { refusal, runArgs, unknownRun, type RunOrKey, type WhichRun } from "./which-run.js";

/** The id of a run, as `start` returns it. */
export type RunId = string;
/** Its validator, for the arguments of your functions. */
export const vRunId = v.string();

export interface WorkflowManagerOptions {
  /**
   * How many steps run at once in the whole app, from 0 (paused) to 200. It is applied by the next start after it has changed; for at once,
   * and to pause, call `components.workflow.config.update`. Default: what is stored; 10 at first.
   */
  maxParallelism?: number;
  /**
   * How much is logged, each event as one line of JSON. `INFO`: how runs begin and end. `REPORT` and `WARN`: attempts that are tried again,
   * runs that fail, actions that were lost. `ERROR`: only what an operator has to look at, and at any level. It is applied as
   * `maxParallelism` is. Default: what is stored; `REPORT` at first.
   */
  logLevel?: LogLevel;
  /**
   * How long a run of a workflow that says nothing of `retention` is kept after its end; then it is removed in the background, with what is
   * under it. It holds for runs that start from now on. Default: for ever.
   */
  retention?: Duration;
}

/**
 * Starts, watches and steers the runs of an app. Each member makes one call into the component: called in a mutation or query it is part of
 * its transaction, in an action it is one of its own.
 */
export class WorkflowManager {
  readonly #settings: StartSettings;

  /**
   * @param component the component as it is mounted: `components.workflow`.
   * @throws where an option is out of its range.
   */
  constructor(
    private readonly component: ComponentApi,
    { maxParallelism, logLevel, retention }: WorkflowManagerOptions = {},
  ) {
    if (maxParallelism !== undefined) checkMaxParallelism(maxParallelism);
    if (logLevel !== undefined) checkLogLevel(logLevel);
    const retentionMs =
      retention === undefined
        ? undefined
        : durationMs(retention, "The retention of the WorkflowManager");
    this.#settings = { maxParallelism, logLevel, retentionMs };
  }

  /**
   * Starts a run, as soon as the caller's transaction has committed.
   * @param workflow one of the generated `workflows`.
   * @param input parsed with the workflow's schema; what the schema makes of it is what handlers see.
   * @param options `key` and `reuse`, `runAt` or `runAfter`, `onComplete`.
   * @returns the run's id. With a `key` that names a run already it is the id of that one; {@link startOrGet} tells which.
   * @throws where the input does not fit, naming the workflow and each bad field, or is too large; where an option is none. There is no run
   * then, and the caller's transaction can go on.
   */
  async start<Input, Callback extends OnComplete = OnComplete>(
    ctx: MutationRunner,
    workflow: WorkflowReference<Input>,
    input: NoInfer<Input>,
    options: StartOptions<Callback> = {},
  ): Promise<RunId> {
    return (await this.startOrGet(ctx, workflow, input, options)).runId;
  }

  /**
   * As {@link start}, and tells whether it started a run.
   * @returns `started: false` if the `key` names a run already, which is given then.
   */
  async startOrGet<Input, Callback extends OnComplete = OnComplete>(
    ctx: MutationRunner,
    workflow: WorkflowReference<Input>,
    input: NoInfer<Input>,
    options: StartOptions<Callback> = {},
  ): Promise<{ runId: RunId; started: boolean }> {
    return await startOne(this.component, ctx, workflow, input, options, this.#settings);
  }

  /**
   * Starts a run for each of the inputs, in as few calls into the component as 500 runs (250 of a workflow with a `timeout`) and 4 MB of
   * inputs each allow. In a mutation all of it is part of its transaction, which may schedule 1,000 functions: one for each run that does not
   * wait for a slot, and one for each `timeout`. From an action each call is a transaction, and one that fails leaves the runs of those before
   * it started.
   * @param options as for {@link start}; `key` is a function that gives each run its own.
   * @returns the ids, in the order of the inputs.
   * @throws as {@link start} does, before anything is started; the message says which input it is.
   */
  async startBatch<Input, Callback extends OnComplete = OnComplete>(
    ctx: MutationRunner,
    workflow: WorkflowReference<Input>,
    inputs: readonly NoInfer<Input>[],
    options: StartBatchOptions<NoInfer<Input>, Callback> = {},
  ): Promise<RunId[]> {
    return await startAll(this.component, ctx, workflow, inputs, options, this.#settings);
  }

  /**
   * How a run is doing: its state, the nodes it is at, and its output or error.
   * @param workflow the workflow that the run is of; it types the output.
   * @param run the run's id, or `{ key }` with which it was started.
   * @returns null where there is no such run of the workflow.
   */
  async status<Workflow extends WorkflowReference<never>>(
    ctx: QueryRunner,
    workflow: Workflow,
    run: RunOrKey,
  ): Promise<Status<Workflow> | null> {
    const found = await ctx.runQuery(this.component.views.status, runArgs([workflow, run]));
    if (found === null) return null;
    const isOutdated = found.plan !== workflow.plan;
    const active = found.active.map(({ node, ...of }) => asCalled(workflow.stored, node, of));
    // The output was checked when it was stored; its type is that of the definition.
    return { ...found, isOutdated, active } as unknown as Status<Workflow>;
  }

  /**
   * A run's timeline: what became of its nodes, in the order in which they were reached, in pages; nodes that it has passed by are `skipped`.
   * Of a loop the records of the first pass and of the newest 100 are there, and a node inside is `skipped` where none of its passes came to it.
   * The results of `sensitive` nodes are not shown. A page may be shorter than asked for, where results are large.
   * @param workflow the workflow that the run is of.
   * @returns an empty page where there is no such run of the workflow.
   */
  async steps<Workflow extends WorkflowReference<never>>(
    ctx: QueryRunner,
    workflow: Workflow,
    runId: RunId,
    page: PageOptions,
  ): Promise<Page<TimelineEntry<Workflow>>> {
    const entries = await timelineOf(this.component, ctx, workflow, runId, page);
    // Records are of the workflow's nodes; which these are, its type knows.
    return entries as unknown as Page<TimelineEntry<Workflow>>;
  }

  /**
   * Runs, the newest first, in pages. One page reads a bounded number of documents: where few of them are what is asked for it may be
   * shorter, or empty, and yet not be the last.
   * @param filter by workflow, state, the node they are at, `outdated`, `parent`. Default: all runs of the top level.
   * @throws where the filter does not go together, or its node is none of the workflow.
   */
  async list<Workflow extends WorkflowReference<never> = WorkflowReference<never>>(
    ctx: QueryRunner,
    filter: ListFilter<Workflow>,
    page: PageOptions,
  ): Promise<Page<ListedRun>> {
    return await listRuns(this.component, ctx, filter, page);
  }

  /**
   * Gives a run an event. One that waits for it goes on in this transaction; else the event is kept, in order, for the first node of the name
   * that the run comes to.
   * @param run the run's id, or `{ key }` with which it was started.
   * @param name the event's: that of its node, or one of its `anyOf`.
   * @param payload parsed with the node's schema.
   * @returns whether it was `taken` by a node that waits, or `kept`.
   * @throws where no node of the workflow waits for such an event (with the nearest name), the payload does not fit, there is no such run,
   * it goes on no more, is past all nodes that would take it, or would have to keep more than a document holds. Nothing is changed then.
   */
  async sendEvent<
    Workflow extends WorkflowReference<never>,
    const Name extends EventName<Workflow>,
  >(
    ctx: MutationRunner,
    workflow: Workflow,
    run: RunOrKey,
    name: Name,
    payload: NoInfer<EventPayload<Workflow, Name>>,
  ): Promise<"taken" | "kept"> {
    return await sendEvent(this.component, ctx, workflow, run, name, payload);
  }

  /**
   * Cancels a run and everything under it. A step that runs is not stopped, but what comes of it changes nothing. What was done is undone,
   * where it has a `compensate`. A step that cancels its own run is itself one that runs: what it has written stays, and is not undone.
   * @param which the run's id, or its workflow and `{ key }`; so for {@link pause} and {@link resume}.
   * @returns false where the run has ended already, or is being undone; nothing is changed then.
   * @throws where there is no such run.
   */
  async cancel(ctx: MutationRunner, ...which: WhichRun): Promise<boolean> {
    const run = runArgs(which);
    const result = await ctx.runMutation(this.component.steering.cancel, run);
    if (result === "unknown") throw unknownRun("cancel", run);
    return result === "canceled";
  }

  /**
   * Has a run that has ended begin anew, with the same input, as a new generation: what actions of before still report changes nothing, and
   * idempotency keys are new. Its `onComplete` is called again at the end. Nothing is undone: what was done before is forgotten, where it is done
   * again.
   * @param options.from a node of the top level: nodes that come to no other result because of it keep theirs; those are the nodes that were
   * completed, were not undone, and read neither it nor, over whichever other nodes, anything of it. Default: everything is done again.
   * @throws where there is no such run of the workflow, it goes on or is being undone, another run of its key goes on, it is a child, or there
   * is no such node.
   */
  async restart<Workflow extends WorkflowReference<never>>(
    ctx: MutationRunner,
    workflow: Workflow,
    runId: RunId,
    { from }: { from?: NodeName<Workflow> } = {},
  ): Promise<void> {
    const { stored, nodes } = workflow;
    const { begin } = await startOf(workflow, {}, this.#settings);
    const result = await ctx.runMutation(this.component.steering.restart, {
      runId,
      begin,
      nodes: Object.keys(stored.nodes).map((node) => ({
        name: node,
        stage: firstStageOf(stored, node),
        reads: [...(nodes[node] ?? ["*"])],
      })),
      ...(from === undefined ? {} : { from: nodeNamed(workflow, from, { onTop: true }) }),
    });
    if (result !== "restarted") throw refusal("restart", runId, result);
  }

  /**
   * Pauses a run and everything under it: what runs ends, and nothing new starts until {@link resume}. Deadlines go on counting, and events
   * are kept. A run that ends meanwhile, because it is canceled, its time is over, or what ran was the last or has failed, is not paused any
   * more: what it has done is undone.
   * @returns false where the run has ended already, or is being undone; nothing is changed then.
   * @throws where there is no such run.
   */
  async pause(ctx: MutationRunner, ...which: WhichRun): Promise<boolean> {
    const run = runArgs(which);
    const result = await ctx.runMutation(this.component.steering.pause, run);
    if (result === "unknown") throw unknownRun("pause", run);
    return result === "paused";
  }

  /**
   * Has a run that was paused go on, and everything under it. Timers that fell due meanwhile fire at once, and events that came in time are
   * taken.
   * @returns false where the run is not paused; nothing is changed then.
   * @throws where there is no such run.
   */
  async resume(ctx: MutationRunner, ...which: WhichRun): Promise<boolean> {
    const run = runArgs(which);
    const result = await ctx.runMutation(this.component.steering.resume, run);
    if (result === "unknown") throw unknownRun("resume", run);
    return result === "resumed";
  }

  /**
   * Removes a run that has ended, and everything under it. It is gone at once, and its key is free; what else there is of it is removed in this
   * transaction as far as it fits, and in others that follow.
   * @throws where there is no such run, it goes on or is being undone, or is a child.
   */
  async cleanup(ctx: MutationRunner, runId: RunId): Promise<void> {
    const result = await ctx.runMutation(this.component.steering.cleanup, { runId });
    if (result !== "removed") throw refusal("clean up", runId, result);
  }

  /**
   * Has everything go on whose scheduled function was lost: canceled by hand, cleaned away, or left behind by a restore from a backup, which
   * brings none back. What is due soon the component notices by itself, while steps run; what sleeps for long, only this. What is still
   * scheduled is left alone, so it does no harm to call it twice. In pages: one in this transaction, each further one in its own.
   * @param workflows the generated `workflows`. With it also runs that were started under older plans and wait for an event without a timeout:
   * they come to their node as it is now, and where a deploy has removed that, they end with `removedNode`. Nothing else would wake them.
   */
  async repair(
    ctx: MutationRunner,
    workflows?: Readonly<Record<string, WorkflowReference<never>>>,
  ): Promise<void> {
    const plans =
      workflows && Object.values(workflows).map(({ name, plan }) => ({ workflow: name, plan }));
    await ctx.runMutation(this.component.steering.repair, plans === undefined ? {} : { plans });
  }
}
