import {
  type ApiFromModules,
  componentsGeneric,
  type FunctionArgs,
  type FunctionReference,
  type FunctionReturnType,
  type FunctionVisibility,
  getFunctionAddress,
  type GenericMutationCtx,
  type GenericQueryCtx,
} from "convex/server";
import { logUsually } from "@stepwise/workpool/core";
import { type RunId, WorkflowManager, type WorkflowManagerOptions } from "../client/manager.js";
import type { StagePath } from "../client/nodes.js";
import type { StartOptions } from "../client/start.js";
import type { Status } from "../client/status.js";
import { checkCompiled, checkRunId } from "../client/which-run.js";
import type { ComponentApi } from "../component/_generated/component.js";
import type { Duration } from "../rules.js";
import { componentOf } from "../runtime/component-of.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { clearStubs } from "../runtime/stubs.js";
import type * as functions from "./functions.js";
import { type AnyQuery, Lines } from "./lines.js";
import { type Stub, stubNode } from "./stub.js";
import { type FakeTimers, type Scheduled, VirtualTime } from "./virtual-time.js";

type AnyMutation = FunctionReference<"mutation", FunctionVisibility, any, any>;

/** The part of convex-test's `t` that the kit uses. */
export interface TestedApp extends Scheduled {
  query(query: AnyQuery, args: Record<string, unknown>): Promise<any>;
  query(body: (ctx: GenericQueryCtx<any>) => Promise<unknown>): Promise<any>;
  mutation(mutation: AnyMutation, args: Record<string, unknown>): Promise<any>;
  mutation(body: (ctx: GenericMutationCtx<any>) => Promise<unknown>): Promise<any>;
}

type Tables = ApiFromModules<{ tables: typeof functions }>["tables"];

/** A `status` of a run that has ended. */
export type Ended<Workflow> = Extract<
  Status<Workflow>,
  { state: "completed" | "failed" | "canceled" | "timedOut" }
>;

/** Something that a run waited for, and whose time has come. */
export type Timer = FunctionReturnType<Tables["timers"]>["timers"][number];

export interface KitOptions {
  /** The name under which the app mounts the component. Default: `workflow`. */
  name?: string;
  /**
   * How many real ms the kit waits for functions that have not ended. Then it assumes that they
   * wait for a timer, and moves the clock. For actions that do real input and output; use 0 if
   * there are none. Default: 100.
   */
  patienceMs?: number;
  /** How many actions run at once, for runs of the kit. Default: what is stored; 10 at first. */
  maxParallelism?: number;
  /** How long runs that the kit starts are kept after their end. Default: forever. */
  retention?: NonNullable<WorkflowManagerOptions["retention"]>;
  /** Other limits than those of `stepwise.config.ts`, which hold by default. */
  limits?: NonNullable<WorkflowManagerOptions["limits"]>;
  /**
   * How much the component logs if the app sets no level. Default: `ERROR`, so that tests of
   * failing runs are quiet.
   */
  logLevel?: NonNullable<WorkflowManagerOptions["logLevel"]>;
}

/** Tests workflows over convex-test, in virtual time. Made by `testKit`. */
export class TestKit {
  readonly #manager: WorkflowManager;
  readonly #component: ComponentApi & { tables: Tables };
  readonly #time: VirtualTime;
  /** Why runs of the kit do not go on, if the app calls another component. */
  #elsewhere: string | undefined;

  constructor(
    private readonly t: TestedApp,
    vi: FakeTimers,
    /** Loads the component's modules, which takes real time. */
    load: () => Promise<unknown>,
    { name = "workflow", patienceMs = 100, logLevel = "ERROR", ...settings }: KitOptions,
  ) {
    // As an app's `components.workflow`, with the functions that only tests have.
    const component = componentsGeneric()[name] as unknown as ComponentApi & { tables: Tables };
    const { maxParallelism, retention, limits } = settings;
    this.#manager = new WorkflowManager(component, {
      ...(maxParallelism !== undefined && { maxParallelism }),
      ...(retention !== undefined && { retention }),
      ...(limits && { limits }),
    });
    this.#component = component;
    this.#time = new VirtualTime(t, vi, load, patienceMs, () => this.#goOn());
    // Nothing is stored: the first call may be a mutation of the app.
    logUsually(logLevel);
    clearStubs();
  }

  /**
   * Starts a run, as `workflow.start` does in a mutation of the app, but with the kit's own
   * `maxParallelism` and `retention`. @returns its id.
   */
  async start<Input>(
    workflow: WorkflowReference<Input>,
    input: NoInfer<Input>,
    options: StartOptions = {},
  ): Promise<RunId> {
    checkCompiled(workflow);
    await this.#time.prepare();
    this.#elsewhere ??= elsewhere(workflow, this.#component);
    return await this.t.mutation(
      async (ctx) => await this.#manager.start(ctx, workflow, input, options),
    );
  }

  /** Returns the ids of a workflow's runs, children too, in the order of their creation. */
  async runsOf(workflow: WorkflowReference<never>): Promise<RunId[]> {
    checkCompiled(workflow);
    return await this.#query(this.#component.tables.started, { workflow: workflow.storedAs });
  }

  /** Has works go on that wait for a moment of the pool. @returns what there was to do. */
  async #goOn(): Promise<string | null> {
    return await this.t.mutation(this.#component.tables.goOn, {});
  }

  /** @throws if a run that the kit has started cannot go on: its test would run out of time. */
  #check(): void {
    if (this.#elsewhere !== undefined) throw new Error(this.#elsewhere);
  }

  /** Runs everything that needs no time. The clock stands still. */
  async settle(): Promise<void> {
    this.#check();
    await this.#time.settle();
  }

  /**
   * Moves the clock to the next time at which a run goes on by itself. That is the end of a sleep,
   * a timeout, a `waitAtMost` or a limit's pause. It is also the next attempt of a step, the start
   * of a run, or the next start that a rate allows.
   * @returns what fell due; empty if no run waits for a time. Then the clock has not moved.
   */
  async skipToNextTimer(): Promise<Timer[]> {
    let waits: Timer[] = [];
    let due: Timer[] = [];
    await this.settle();
    await this.#time.until(async () => {
      // Timers fire at whole ms.
      due = waits.filter(({ at }) => Math.floor(at) <= Date.now());
      if (due.length > 0) return true;
      const { timers, isBusy } = await this.#query(this.#component.tables.timers, {});
      waits = timers;
      return waits.length === 0 && !isBusy;
    });
    return due;
  }

  /** Moves the clock by a duration, and runs everything that falls due. */
  async advance(duration: Duration): Promise<void> {
    this.#check();
    await this.#time.advance(duration);
  }

  /**
   * Moves the clock until a run has ended. @returns its status then.
   * @throws if there is no such run, or it will not end by itself. It may wait for an event, for
   *   its turn or for a limit, or be paused: the message shows where.
   */
  async runToEnd<Workflow extends WorkflowReference<never>>(
    workflow: Workflow,
    runId: RunId,
  ): Promise<Ended<Workflow>> {
    checkCompiled(workflow);
    let status: Status<Workflow> | null = null;
    await this.settle();
    const hasEnded = await this.#time.until(async () => {
      status = await this.t.query((ctx) => this.#manager.status(ctx, workflow, runId));
      if (status === null) throw new Error(`There is no run "${runId}" of "${workflow.name}"`);
      return "endedAt" in status;
    });
    if (hasEnded) return status as unknown as Ended<Workflow>;
    const lines = await this.timeline(runId);
    throw new Error(
      `The run of "${workflow.name}" has not ended, and nothing will happen any more:\n${lines.join("\n")}`,
    );
  }

  /**
   * Replaces the function of a node in every run from now on, until the next `testKit`. The node's
   * other options stay: retry, timeout, recover, compensate.
   * @param node a step, or `chapters.output` (a parent's handler), `chapters.finalize`,
   *   `charge.compensate`, `agent.think` (in a loop or an each), `route.big.x` (in a case or a
   *   branch), `finalize` and `onEnd` (the workflow's).
   * @param stub its result is the node's. It may throw, and in place of an action it may wait.
   * @throws if the workflow has no such function.
   */
  stub<Workflow extends WorkflowReference<never>, Node extends StagePath<Workflow>>(
    workflow: Workflow,
    node: Node,
    stub: Stub<Workflow, Node>,
  ): void {
    checkCompiled(workflow);
    stubNode(workflow, node, (scope, info) => this.#time.watch(() => stub(scope, info)));
  }

  /**
   * A line for each node that a run has reached, in their order: `charge completed, 2 attempts`, or
   * `agent.think #3 completed` in the third iteration of a loop. Below a parent, indented, are its
   * children and their lines; neighbors with the same lines share them: `[0..99] importRecord
   * completed`. A branch or an item has no workflow: `[thumb] completed`. One that is kept back
   * says by what: `charge pending, waiting for the limit tenant acme (1 of 1 running), place 2`.
   * @throws if there is no such run.
   */
  async timeline(runId: RunId): Promise<string[]> {
    checkRunId(runId);
    return await new Lines(this.#component, (query, args) => this.#query(query, args)).of(runId);
  }

  async #query<Query extends AnyQuery>(
    query: Query,
    args: FunctionArgs<Query>,
  ): Promise<FunctionReturnType<Query>> {
    return await this.t.query(query, args);
  }
}

/** Says that a workflow's generated code calls another component than a kit's, if it does. */
function elsewhere(
  { name, stored }: WorkflowReference<never>,
  own: ComponentApi,
): string | undefined {
  const called = componentOf(stored);
  const [expected, mounted] = [called && mountedAs(called), mountedAs(own)];
  if (expected === undefined || mounted === undefined || expected === mounted) return undefined;
  return `Workflow "${name}" calls the component "${expected}", but the test mounts "${mounted}", so no run goes on: call testKit(t, vi, { name: "${expected}" })`;
}

/** Returns the name under which the app mounts a component; undefined of one that is made up. */
function mountedAs(component: ComponentApi): string | undefined {
  const { reference } = getFunctionAddress(component.lib.start) as { reference?: string };
  return /^_reference\/childComponent\/([^/]+)/.exec(reference ?? "")?.[1];
}
