import type { GenericMutationCtx } from "convex/server";
import { leaveRoom, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import { getConvexSize, type Value } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import type { ActionFunction, Fused, Next, Outcome, Read, Token } from "../component/validators.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { StepError } from "../definition/step-error.js";
import type { AnyReference } from "../definition/node.js";
import { actionFunction } from "./action-function.js";
import { Budget } from "./budget.js";
import { checkConcurrency, childrenOf } from "./children.js";
import { describeThrown, Failure, type Problem } from "../errors/failure.js";
import type { Functions } from "./functions.js";
import { nodeNamed, policyOf, readsOf, recordOf } from "./reads.js";
import type { WorkflowReference } from "./reference.js";
import { checkedOutput } from "./values.js";

/** What arriving at a stage gives. Nothing is left to do with it; it is awaited. */
export type Arrival = Promise<void>;
/** What a run does at a stage: a generated function. */
export type Arrive = (run: Run) => Arrival;

/** What a stage that is executed here is called with: nested transactions, and nothing else. */
interface Nesting {
  runMutation(mutation: AnyReference<"mutation">, args: Args): Promise<unknown>;
  runQuery(query: AnyReference<"query">, args: Args): Promise<unknown>;
}
type Args = Record<string, unknown>;
type Call = (ctx: Nesting, scope: unknown) => Promise<unknown>;

/** What a run needs to know of its workflow. */
export interface Bound {
  readonly component: ComponentApi;
  readonly workflow: string;
  readonly definition: AnyDefinition;
  readonly functions: Functions;
}

/**
 * One transaction of a run. Generated functions tell it where the run goes; it executes the stages that can run here, and reports
 * everything to the component in one call.
 */
export class Run {
  readonly #values = new Map<string, unknown>();
  readonly #fused: Fused[] = [];
  readonly #budget = new Budget();
  #outcome: Outcome = { kind: "open" };
  #next: Next | undefined;
  /** A stage with `isolate` was executed, or this transaction follows one that failed: nothing more is executed here. */
  #closed: boolean;

  constructor(
    private readonly ctx: GenericMutationCtx<any>,
    private readonly own: Bound,
    private readonly token: Token,
    /** The stage that the token names. */
    private readonly stage: string,
    private readonly options: {
      readonly slot?: string | undefined;
      /** Whether stages that follow may be executed in this transaction. */
      readonly fuse: boolean;
      /** Whether the caller calls again, without fusion, when this transaction fails. */
      readonly callsAgain: boolean;
      /** What the stage reads, by name, where it came along. */
      readonly scope?: Readonly<Record<string, unknown>> | null;
    },
  ) {
    this.#closed = !options.fuse;
  }

  // What generated functions call.

  /** The run goes on in an action. */
  async action(stage: string, reads: readonly string[]): Arrival {
    const { functions, definition } = this.own;
    this.#goTo(stage, reads, await actionFunction(functions, definition, stage));
  }

  /** Runs a mutation stage here, as a nested transaction, and goes on; in a transaction of its own when this one is full. */
  async mutation(stage: string, reads: readonly string[], next: Arrive, call?: Call): Arrival {
    const nested: Call = (ctx, scope) =>
      ctx.runMutation(this.own.functions.mutation(stage), { runId: this.token.run, scope });
    await this.#execute("mutation", stage, reads, next, call ?? nested);
  }

  /** The same for a query stage. */
  async query(stage: string, reads: readonly string[], next: Arrive, call?: Call): Arrival {
    const nested: Call = (ctx, scope) =>
      ctx.runQuery(this.own.functions.query(stage), { runId: this.token.run, scope });
    await this.#execute("query", stage, reads, next, call ?? nested);
  }

  /** Evaluates a parent's children, once, and starts them. */
  async children(
    stage: string,
    reads: readonly string[],
    children: (scope: never) => unknown,
    references: readonly WorkflowReference<never>[],
  ): Arrival {
    // What was executed here may leave too little of the transaction for inserting them.
    if (this.#fused.length > 0 && (await this.#budget.isSpent(this.ctx)))
      return this.#goTo(stage, reads);
    try {
      const { concurrency } = nodeNamed(this.own.definition, stage);
      checkConcurrency(stage, concurrency);
      const scope = await this.#scope(readsOf(this.own.definition, stage, reads));
      // The compiler reads from the definition what the function asks of its scope; here it is any function.
      const given = children(scope as never);
      this.#next = {
        kind: "children",
        stage,
        ...(await childrenOf(stage, given, references)),
        concurrency,
      };
    } catch (error) {
      this.#fail(stage, describeThrown(error));
    }
  }

  /** A parent without a finalize: its output is `{ output, children }`. */
  async gather(stage: string, next: Arrive): Arrival {
    const gathered = async () =>
      this.#scope(readsOf(this.own.definition, stage, ["output", "children"]));
    await this.#record("children", stage, gathered, next);
  }

  /** The run is complete; its output is that of the stage. */
  async complete(stage: string): Arrival {
    this.#next = { kind: "complete", stage: recordOf(stage) };
  }

  // What the functions around it call.

  /** Goes where the generated function says. */
  async follow(arrive: Arrive): Promise<void> {
    try {
      await arrive(this);
    } catch (error) {
      this.#fail(this.stage, describeThrown(error));
    }
  }

  /** The stage that the token names has ended well. */
  succeeded(output: Value): void {
    this.#outcome = { kind: "success", output };
    this.#values.set(recordOf(this.stage), output);
  }

  /** The stage that the token names has failed: it waits for another attempt, or the run fails. */
  failed(problem: Problem, retryAt: number | null): void {
    const error = this.#errorAt(this.stage, problem, this.token.attempt);
    this.#outcome =
      retryAt === null ? { kind: "failed", error } : { kind: "retry", error, dueAt: retryAt };
    this.#next = retryAt === null ? { kind: "fail", error } : { kind: "wait" };
  }

  /**
   * Reports to the component, in one call. What was executed here is recorded even if what should come next cannot be started: then
   * the run fails with that error.
   * @throws where mutations were executed for a run that has meanwhile gone another way: so they are rolled back.
   */
  async commit(): Promise<void> {
    const next = this.#next;
    if (next === undefined)
      throw new Error(`Nothing follows "${this.stage}" in "${this.own.workflow}"`);
    const { stale } = await this.#settle(next).catch(async (error: unknown) => {
      if (this.options.callsAgain && this.#fused.length > 0) throw error;
      const failure = this.#errorAt(this.stage, describeThrown(error), this.token.attempt);
      return await this.#settle({ kind: "fail", error: failure });
    });
    if (stale && this.#fused.length > 0)
      throw new Failure("canceled", `The run went another way while "${this.stage}" was ending`);
  }

  async #settle(next: Next): Promise<{ stale: boolean }> {
    return await this.ctx.runMutation(this.own.component.lib.settle, {
      token: this.token,
      slot: this.options.slot,
      outcome: this.#outcome,
      fused: this.#fused,
      next,
    });
  }

  async #execute(
    kind: "mutation" | "query",
    stage: string,
    reads: readonly string[],
    next: Arrive,
    call: Call,
  ): Arrival {
    const isolate = policyOf(this.own.definition, stage).isolate === true;
    const isArrival =
      this.#outcome.kind === "open" && this.#fused.length === 0 && stage === this.stage;
    if (!isArrival && (isolate || this.#closed || (await this.#budget.isSpent(this.ctx)))) {
      this.#goTo(stage, reads);
      return;
    }
    if (isolate) this.#closed = true;
    const where = readsOf(this.own.definition, stage, reads);
    const { scope } = this.options;
    if (isArrival && scope)
      for (const read of where)
        if (read.name in scope) this.#values.set(key(read), scope[read.name]);
    const execute = async () => {
      const known = await this.#scope(where);
      return await call(await nesting(this.ctx), known);
    };
    const again = this.#fused.length > 0 ? () => this.#goTo(stage, reads) : undefined;
    await this.#record(kind, stage, execute, next, again);
  }

  /**
   * Executes a stage and keeps what came of it for the report.
   * @param again has the stage run once more, alone: what went wrong may be that it shared this transaction with others.
   */
  async #record(
    kind: "mutation" | "query" | "children",
    stage: string,
    execute: () => Promise<unknown>,
    next: Arrive,
    again?: () => void,
  ): Arrival {
    const startedAt = Date.now();
    try {
      const output = checkedOutput(stage, await execute());
      this.#fused.push({ stage, kind, startedAt, output });
      this.#budget.spend(getConvexSize(output));
      this.#values.set(recordOf(stage), output);
    } catch (error) {
      const problem = describeThrown(error);
      // What an application throws on purpose has data, or a kind; a limit or a timeout of the platform has neither.
      if (again !== undefined && problem.kind === "thrown" && problem.data === undefined)
        return again();
      const failure = this.#errorAt(stage, problem, 1);
      this.#fused.push({ stage, kind, startedAt, error: failure });
      this.#next = { kind: "fail", error: failure };
      return;
    }
    await next(this);
  }

  #goTo(stage: string, reads: readonly string[], action?: ActionFunction): void {
    const where = { stage, action, reads: readsOf(this.own.definition, stage, reads) };
    this.#next = { kind: "stage", stage: where };
  }

  #fail(stage: string, problem: Problem): void {
    const error = this.#errorAt(stage, problem, 1);
    const isArrival = this.#outcome.kind === "open" && this.#fused.length === 0;
    if (isArrival && stage === this.stage) this.#outcome = { kind: "failed", error };
    this.#next = { kind: "fail", error };
  }

  #errorAt(stage: string, problem: Problem, attempt: number): StepError {
    return { ...problem, workflow: this.own.workflow, node: stage, attempt };
  }

  async #scope(reads: readonly Read[]): Promise<Record<string, unknown>> {
    const missing = reads.filter((read) => !this.#values.has(key(read)));
    if (missing.length > 0) {
      const { run } = this.token;
      const transactionLimits = await leaveRoom(this.ctx, ROOM_TO_COMPLETE);
      const { load } = this.own.component.lib;
      const loaded = await this.ctx.runQuery(load, { run, reads: missing }, { transactionLimits });
      for (const read of missing) this.#values.set(key(read), loaded[read.name]);
    }
    return Object.fromEntries(reads.map((read) => [read.name, this.#values.get(key(read))]));
  }
}

/** Nested transactions that leave room in this one: whatever a stage uses up, its failure can be written down and the run go on. */
async function nesting(ctx: GenericMutationCtx<any>): Promise<Nesting> {
  const transactionLimits = await leaveRoom(ctx, ROOM_TO_COMPLETE);
  return {
    runMutation: (mutation, args) => ctx.runMutation(mutation, args, { transactionLimits }),
    runQuery: (query, args) => ctx.runQuery(query, args, { transactionLimits }),
  };
}

function key({ stage, children }: Read): string {
  return children === true ? `${stage}.children` : stage;
}
