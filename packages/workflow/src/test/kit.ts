import {
  componentsGeneric,
  type ApiFromModules,
  type FunctionArgs,
  type FunctionReference,
  type FunctionReturnType,
  type GenericMutationCtx,
  type GenericQueryCtx,
} from "convex/server";
import type { ComponentApi } from "../component/_generated/component.js";
import { WorkflowManager, type RunId, type WorkflowManagerOptions } from "../client/manager.js";
import type { StagePath } from "../client/nodes.js";
import type { StartOptions } from "../client/start.js";
import type { Status } from "../client/status.js";
import type { Duration } from "../rules.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { clearStubs } from "../runtime/stubs.js";
import type * as functions from "./functions.js";
import type { TimelineRun, TimelineStep } from "./functions.js";
import { stubNode, type Stub } from "./stubs.js";
import { linesOf, type TimelineTree } from "./timeline.js";
import { VirtualTime, type FakeTimers, type Scheduled } from "./virtual-time.js";

/** The part of convex-test's `t` that the kit uses. */
export interface TestedApp extends Scheduled {
  query(query: FunctionReference<"query">, args: Record<string, unknown>): Promise<any>;
  query(body: (ctx: GenericQueryCtx<any>) => Promise<unknown>): Promise<any>;
  mutation(body: (ctx: GenericMutationCtx<any>) => Promise<unknown>): Promise<any>;
}

type Looks = ApiFromModules<{ looks: typeof functions }>["looks"];

/** A `status` of a run that has ended. */
export type Ended<Workflow> = Extract<
  Status<Workflow>,
  { state: "completed" | "failed" | "canceled" | "timedOut" }
>;

/** Something that a run waited for, and that came with time. */
export type Timer = FunctionReturnType<Looks["timers"]>["timers"][number];

export interface KitOptions {
  /** The name under which the app mounts the component. Default: `workflow`. */
  name?: string;
  /**
   * How many real ms the kit waits for functions that have not ended, before it takes it that they wait for a timer and moves the clock. For
   * actions that do real input and output; 0 where there are none, and stubs wait for timers often. Default: 100.
   */
  patienceMs?: number;
  /** How much the component logs. Default: `ERROR`, so that tests of runs that fail are quiet. */
  logLevel?: NonNullable<WorkflowManagerOptions["logLevel"]>;
}

/** What tests of workflows are written with, over convex-test and in virtual time. Made by `testKit`. */
export class TestKit {
  readonly #manager: WorkflowManager;
  readonly #looks: Looks;
  readonly #time: VirtualTime;

  constructor(
    private readonly t: TestedApp,
    vi: FakeTimers,
    /** Loads the component's modules, which takes real time. */
    load: () => Promise<unknown>,
    { name = "workflow", patienceMs = 100, logLevel = "ERROR" }: KitOptions,
  ) {
    // What an app's `components.workflow` is, with the functions that only tests have.
    const component = componentsGeneric()[name] as unknown as ComponentApi & { looks: Looks };
    this.#manager = new WorkflowManager(component);
    this.#looks = component.looks;
    const prepare = async () => {
      await load();
      await t.mutation((ctx) => ctx.runMutation(component.config.update, { logLevel }));
    };
    this.#time = new VirtualTime(t, vi, prepare, patienceMs);
    clearStubs();
  }

  /**
   * Starts a run, as `workflow.start` does in a mutation of the app. Nothing of it has run when this returns.
   * @returns its id.
   */
  async start<Input>(
    workflow: WorkflowReference<Input>,
    input: NoInfer<Input>,
    options: StartOptions = {},
  ): Promise<RunId> {
    return await this.t.mutation(
      async (ctx) => await this.#manager.start(ctx, workflow, input, options),
    );
  }

  /** The ids of a workflow's runs, children of other runs included, in the order in which they were created. */
  async runsOf(workflow: WorkflowReference<never>): Promise<RunId[]> {
    return await this.#look(this.#looks.started, { workflow: workflow.name });
  }

  /** Lets all happen that needs no time: until every run has ended, or waits for a time or an event. The clock stands still. */
  async settle(): Promise<void> {
    await this.#time.settle();
  }

  /**
   * Moves the clock to the next time at which a run goes on by itself: a sleep or the wait for an event is over, a step is tried again, a run
   * begins that was put off, the timeout of a parent or a run is over. On the way all else happens that falls due. Then all happens that
   * follows from it.
   * @returns what it was; several, where they fell due together. Empty where no run waits for a time: the clock has not moved then.
   */
  async skipToNextTimer(): Promise<Timer[]> {
    let waits: Timer[] = [];
    let due: Timer[] = [];
    await this.settle();
    await this.#time.until(async () => {
      // Timers fire at whole ms.
      due = waits.filter(({ at }) => Math.floor(at) <= Date.now());
      if (due.length > 0) return true;
      const { timers, isBusy } = await this.#look(this.#looks.timers, {});
      waits = timers;
      return waits.length === 0 && !isBusy;
    });
    return due;
  }

  /** Lets so much time go by, with all that falls due in it. */
  async pass(duration: Duration): Promise<void> {
    await this.#time.pass(duration);
  }

  /**
   * Lets time go by until a run has ended.
   * @param workflow what the run is of; it types the output.
   * @returns its status then.
   * @throws where there is no such run, and where nothing will happen any more before it has ended: as when it waits for an event.
   */
  async runToEnd<Workflow extends WorkflowReference<never>>(
    workflow: Workflow,
    runId: RunId,
  ): Promise<Ended<Workflow>> {
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
   * Has a function of the test stand in for that of a node, in every run from now on, until the next `testKit`. What the node says besides
   * stays: its retry, its timeout, its recover, its compensate.
   * @param node a step; a parent's handler is `chapters.output`, its finalize `chapters.finalize`, a compensation `charge.compensate`; inside a
   *   loop `agent.think`, inside a branch `route.big.x`; the workflow's own `finalize`.
   * @param stub its result is the node's. It may throw, and in the place of an action it may wait.
   * @throws where the workflow has no such function.
   */
  stub<Workflow extends WorkflowReference<never>, Node extends StagePath<Workflow>>(
    workflow: Workflow,
    node: Node,
    stub: Stub<Workflow, Node>,
  ): void {
    const watched: typeof stub = (scope, info) => this.#time.watch(() => stub(scope, info));
    stubNode(workflow, node, watched);
  }

  /**
   * What a run has come through: a line for each node that it reached, in their order, as `charge completed, 2 attempts`; inside a loop with
   * its pass, as `agent.think #3 completed`. Below a parent, further in, are its children and their lines; neighbours that went alike are
   * told together, as `[0..99] importRecord completed`.
   * @throws where there is no such run.
   */
  async timeline(runId: RunId): Promise<string[]> {
    const run = await this.#look(this.#looks.run, { runId });
    const [tree] = await this.#trees([run]);
    return tree === undefined ? [] : linesOf(tree);
  }

  async #trees(runs: readonly TimelineRun[]): Promise<TimelineTree[]> {
    const lists = await this.#stepsOf(runs);
    const trees: TimelineTree[] = [];
    for (const [index, run] of runs.entries()) {
      const steps = [];
      for (const step of lists[index] ?? [])
        steps.push({
          ...step,
          children: step.hasChildren ? await this.#childrenOf(step.stepId) : [],
        });
      trees.push({ ...run, steps });
    }
    return trees;
  }

  async #childrenOf(stepId: FunctionArgs<Looks["children"]>["stepId"]): Promise<TimelineTree[]> {
    const trees: TimelineTree[] = [];
    for (;;) {
      const page = await this.#look(this.#looks.children, { stepId, from: trees.length });
      if (page.length === 0) return trees;
      trees.push(...(await this.#trees(page)));
    }
  }

  async #stepsOf(runs: readonly TimelineRun[]): Promise<TimelineStep[][]> {
    const lists: TimelineStep[][] = runs.map(() => []);
    const ids = runs.map(({ runId }) => runId);
    let from: FunctionArgs<Looks["steps"]>["from"] | null = { run: 0, after: 0 };
    while (from !== null) {
      const page: FunctionReturnType<Looks["steps"]> = await this.#look(this.#looks.steps, {
        runs: ids,
        from,
      });
      for (const [index, steps] of page.steps.entries()) lists[from.run + index]?.push(...steps);
      from = page.next;
    }
    return lists;
  }

  async #look<Query extends FunctionReference<"query", "public", any, any>>(
    query: Query,
    args: FunctionArgs<Query>,
  ): Promise<FunctionReturnType<Query>> {
    return await this.t.query(query, args);
  }
}
