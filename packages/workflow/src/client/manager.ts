import type { GenericMutationCtx, GenericQueryCtx } from "convex/server";
import { v } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import type { WorkflowReference } from "../runtime/reference.js";
import type { Status } from "./status.js";

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
}

export interface StartOptions {
  /** Makes the start idempotent: the same key of the same workflow gives the same run, whatever its state. */
  key?: string;
}

/** Starts, watches and steers the runs of an app. Everything runs inside the caller's transaction. */
export class WorkflowManager {
  /** @param component the component as it is mounted: `components.workflow`. */
  constructor(
    private readonly component: ComponentApi,
    private readonly options: WorkflowManagerOptions = {},
  ) {}

  /**
   * Starts a run.
   * @param workflow one of the generated `workflows`.
   * @param input parsed with the workflow's schema; what the schema makes of it is what handlers see.
   * @returns the run's id.
   * @throws where the input does not fit, naming the workflow and each bad field, or is too large. There is no run then.
   */
  async start<Input>(
    ctx: Pick<GenericMutationCtx<any>, "runMutation">,
    workflow: WorkflowReference<Input>,
    input: NoInfer<Input>,
    { key }: StartOptions = {},
  ): Promise<RunId> {
    const parsed = workflow.parse(input);
    return await ctx.runMutation(this.component.lib.start, {
      ...(await workflow.begin()),
      input: parsed,
      key,
      maxParallelism: this.options.maxParallelism,
    });
  }

  /**
   * How a run is doing: its state, the nodes it is at, and its output or error.
   * @param workflow the workflow that the run is of; it types the output.
   * @returns null where there is no such run.
   */
  async status<Workflow extends WorkflowReference<never>>(
    ctx: Pick<GenericQueryCtx<any>, "runQuery">,
    workflow: Workflow,
    runId: RunId,
  ): Promise<Status<Workflow> | null> {
    const status = await ctx.runQuery(this.component.views.status, { runId });
    if (status === null || status.workflow !== workflow.name) return null;
    // The output was checked when it was stored; its type is that of the definition.
    return status as Status<Workflow>;
  }

  /**
   * Cancels a run and everything under it. A step that runs is not stopped, but what comes of it changes nothing.
   * @returns false where the run has ended already; nothing is changed then.
   * @throws where there is no such run.
   */
  async cancel(ctx: Pick<GenericMutationCtx<any>, "runMutation">, runId: RunId): Promise<boolean> {
    const result = await ctx.runMutation(this.component.lib.cancel, { runId });
    if (result === "unknown") throw new Error(`Cannot cancel run "${runId}": there is no such run`);
    return result === "canceled";
  }
}
