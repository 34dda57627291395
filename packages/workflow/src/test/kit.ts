import {
  type ApiFromModules,
  componentsGeneric,
  type FunctionArgs,
  type FunctionReference,
  type FunctionReturnType,
  type FunctionVisibility,
  type GenericMutationCtx,
  type GenericQueryCtx,
} from "convex/server";
import { logUsually } from "@stepwise/workpool/core";
import { type RunId, WorkflowManager, type WorkflowManagerOptions } from "../client/manager.js";
import type { StagePath } from "../client/nodes.js";
import type { StartOptions } from "../client/start.js";
import type { Status } from "../client/status.js";
import type { ComponentApi } from "../component/_generated/component.js";
import type { Info } from "../definition/context.js";
import type { WorkflowOutput, WorkflowScope } from "../definition/definition.js";
import { type Duration, suggestion } from "../rules.js";
import { allStages, placeOf } from "../runtime/place.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { clearStubs, setStub } from "../runtime/stubs.js";
import type * as functions from "./functions.js";
import { type FakeTimers, type Scheduled, VirtualTime } from "./virtual-time.js";

type AnyQuery = FunctionReference<"query", FunctionVisibility, any, any>;

/** The part of convex-test's `t` that the kit uses. */
export interface TestedApp extends Scheduled {
  query(query: AnyQuery, args: Record<string, unknown>): Promise<any>;
  query(body: (ctx: GenericQueryCtx<any>) => Promise<unknown>): Promise<any>;
  mutation(body: (ctx: GenericMutationCtx<any>) => Promise<unknown>): Promise<any>;
}

type Tables = ApiFromModules<{ tables: typeof functions }>["tables"];
type Records = FunctionReturnType<ComponentApi["listing"]["steps"]>;
type StepRecord = NonNullable<Records>["records"][number];
type RunStatus = FunctionReturnType<ComponentApi["views"]["status"]>;
type Children = FunctionReturnType<ComponentApi["listing"]["runs"]>;

/** How many records or children are asked for at once. */
const PAGE = 500;

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

  constructor(
    private readonly t: TestedApp,
    vi: FakeTimers,
    /** Loads the component's modules, which takes real time. */
    load: () => Promise<unknown>,
    { name = "workflow", patienceMs = 100, logLevel = "ERROR", limits }: KitOptions,
  ) {
    // As an app's `components.workflow`, with the functions that only tests have.
    const component = componentsGeneric()[name] as unknown as ComponentApi & { tables: Tables };
    this.#manager = new WorkflowManager(component, { ...(limits && { limits }) });
    this.#component = component;
    this.#time = new VirtualTime(t, vi, load, patienceMs);
    // Nothing is stored: the first call may be a mutation of the app.
    logUsually(logLevel);
    clearStubs();
  }

  /** Starts a run, as `workflow.start` does in a mutation of the app. @returns its id. */
  async start<Input>(
    workflow: WorkflowReference<Input>,
    input: NoInfer<Input>,
    options: StartOptions = {},
  ): Promise<RunId> {
    await this.#time.prepare();
    return await this.t.mutation(
      async (ctx) => await this.#manager.start(ctx, workflow, input, options),
    );
  }

  /** Returns the ids of a workflow's runs, children too, in the order of their creation. */
  async runsOf(workflow: WorkflowReference<never>): Promise<RunId[]> {
    return await this.#query(this.#component.tables.started, { workflow: workflow.storedAs });
  }

  /** Runs everything that needs no time. The clock stands still. */
  async settle(): Promise<void> {
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
    const { steps } = this.#component.listing;
    const lines: string[] = [];
    for (let cursor: string | null = null; ;) {
      const page: Records = await this.#query(steps, { runId, page: { numItems: PAGE, cursor } });
      if (page === null) throw new Error(`There is no run "${runId}"`);
      for (const record of page.records) {
        const { stage, called = stage, iterations = [], state, attempt, held = 0 } = record;
        const inLoops = iterations.length === 0 ? "" : ` #${iterations.join(".")}`;
        const counted = attempt - held;
        const beside = held === 0 ? "" : ` beside ${held} held`;
        const attempts =
          attempt === 1 ? "" : `, ${counted} ${counted === 1 ? "attempt" : "attempts"}${beside}`;
        const late = record.errors.at(-1)?.waitedFor;
        const tooLong = late !== undefined ? `, waited too long ${late}` : "";
        const why = record.endedAt === undefined ? await this.#whyNot(record, runId) : "";
        // A wait of which no event came in time.
        const how = record.came === null ? "timed out" : state;
        const line = `${called}${inLoops} ${how}${tooLong}${attempts}${why}`;
        lines.push(line, ...(await this.#childLines(record)));
      }
      if (page.isDone) return lines;
      cursor = page.continueCursor;
    }
  }

  /**
   * Returns what keeps back a step: a pause, a limit, a hold, another run of its key, or more
   * starts.
   */
  async #whyNot(record: StepRecord, runId: RunId): Promise<string> {
    const { kind, state, paused, waitsFor, holds, dueAt } = record;
    if (paused) return ", paused";
    if (holds !== undefined && dueAt !== undefined)
      return `, held until ${new Date(dueAt).toISOString()}, as the limit ${holds} is`;
    if (waitsFor !== undefined) {
      const { limit, key, running, atMost, place, fairness, nextAt, paused: pause } = waitsFor;
      const among = fairness === undefined ? "" : ` of ${fairness}`;
      const of = key === undefined ? limit : `${limit} ${key}`;
      const { by, until } = pause ?? {};
      const byWhom = by === undefined ? "" : ` by ${by}`;
      const ends = until === undefined ? "" : ` until ${new Date(until).toISOString()}`;
      const used = `${running} of ${atMost}`;
      const isFull = nextAt === undefined ? `${used} running` : `rate used up, ${used}`;
      const why = pause ? `paused${byWhom}${ends}` : isFull;
      return `, waiting for the limit ${of} (${why}), place ${place}${among}`;
    }
    if (kind === "turn" && state === "waiting") {
      const status = await this.#statusOf(runId);
      const { key, place, runId: holder } = status?.waitsFor ?? {};
      const after = holder === undefined ? "" : `, after the run ${holder}`;
      return key === undefined
        ? ""
        : `, waiting for its turn with the key ${JSON.stringify(key)}, place ${place}${after}`;
    }
    if (kind === "collect" && state === "waiting") {
      const status = await this.#statusOf(runId);
      if (status?.collecting === undefined) return "";
      const { key, items, until } = status.collecting;
      const starts = `${items} ${items === 1 ? "start" : "starts"}`;
      const latest = new Date(until).toISOString();
      return `, collecting ${starts} with the key ${JSON.stringify(key)}, begins at the latest at ${latest}`;
    }
    if (kind !== "action" || state !== "pending") return "";
    const pool = await this.#query(this.#component.limits.get, { name: "maxParallelism" });
    return pool?.paused === undefined ? "" : ", waiting for a slot: maxParallelism is paused";
  }

  async #statusOf(runId: RunId): Promise<RunStatus> {
    return await this.#query(this.#component.views.status, { run: { runId } });
  }

  /** The lines of the runs that began at a step. Neighbors with the same lines share them. */
  async #childLines({ id: parent, single }: StepRecord): Promise<string[]> {
    const groups: { first: string; last: string; lines: string[] }[] = [];
    if (parent === undefined) return [];
    for (let cursor: string | null = null; ;) {
      const options = { numItems: PAGE, cursor };
      const page: Children = await this.#query(this.#component.listing.runs, {
        parent,
        page: options,
      });
      for (const { runId, index, childKey: key = String(index), ...child } of page.page) {
        const of = child.within === undefined ? `${child.workflow} ` : "";
        const lines = [`${of}${child.state}`, ...indented(await this.timeline(runId))];
        const group = groups.at(-1);
        if (group !== undefined && String(group.lines) === String(lines)) group.last = key;
        else groups.push({ first: key, last: key, lines });
      }
      if (page.isDone) break;
      cursor = page.continueCursor;
    }
    const lines = groups.flatMap(({ first, last, lines: [head = "", ...rest] }) => {
      const which = first === last ? first : `${first}..${last}`;
      return [single ? head : `[${which}] ${head}`, ...rest];
    });
    return indented(lines);
  }

  async #query<Query extends AnyQuery>(
    query: Query,
    args: FunctionArgs<Query>,
  ): Promise<FunctionReturnType<Query>> {
    return await this.t.query(query, args);
  }
}

const indented = (lines: readonly string[]): string[] => lines.map((line) => `  ${line}`);

type DefinitionOf<Workflow> = Workflow extends { readonly "~definition": infer Definition }
  ? Definition
  : never;

/** What a node's function gives: known for a step of the top level and for `finalize`. */
type ResultOf<Definition, Node> = Node extends "finalize"
  ? WorkflowOutput<Definition>
  : Node extends keyof WorkflowScope<Definition>
    ? WorkflowScope<Definition>[Node]
    : unknown;

/* Nothing returned is null, as of a handler. */
type Given<Result> = null extends Result ? Result | void : Result;

/* Inside loops, cases, parents and compensations there is more than these types tell. */
type StubScope<Definition, Node> = Node extends `${string}.${string}`
  ? WorkflowScope<Definition> & Readonly<Record<string, any>>
  : Omit<WorkflowScope<Definition>, Node & string>;

/**
 * Replaces the function of a node. It has no `ctx`, so it neither reads nor writes.
 * @param scope `input` and the outputs of all nodes before. Types have later nodes too, which are
 *   undefined.
 * @param info as a handler has it.
 */
export type Stub<Workflow, Node> = (
  scope: StubScope<DefinitionOf<Workflow>, Node>,
  info: Info,
) =>
  | Given<ResultOf<DefinitionOf<Workflow>, Node>>
  | Promise<Given<ResultOf<DefinitionOf<Workflow>, Node>>>;

/** Replaces a node's function. @throws if the workflow has no such function. */
export function stubNode<
  Workflow extends WorkflowReference<never>,
  Node extends StagePath<Workflow>,
>({ name, stored }: Workflow, node: Node, stub: Stub<Workflow, Node>): void {
  const stages = allStages(stored).filter((stage) => placeOf(stored, stage).runs !== undefined);
  const names = stages.map((stage) => placeOf(stored, stage).called);
  const stage = stages[names.indexOf(node)];
  if (stage === undefined)
    throw new Error(
      `Workflow "${name}" has no function "${node}" to be stubbed${suggestion(node, names)}`,
    );
  setStub(stored, stage, stub);
}
