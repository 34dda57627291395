import { describeThrown } from "../errors/failure.js";
import { actionFunction } from "./action-function.js";
import { branch, endBranch } from "./nodes/branch.js";
import { child, children, gather, reduce } from "./nodes/children.js";
import { event } from "./nodes/event.js";
import { execute, type Call } from "./nodes/execute.js";
import { endPass, loop } from "./nodes/loop.js";
import { sleep } from "./nodes/sleep.js";
import { hasUndoables, recordOf } from "./place.js";
import type { WorkflowReference } from "./reference.js";
import type { Transaction } from "./transaction.js";

/** What arriving at a stage gives. Nothing is left to do with it; it is awaited. */
export type Arrival = Promise<void>;
/** What a run does at a stage: a generated function. */
export type Arrive = (run: Run) => Arrival;
/* The compiler reads from the definition what a function asks of its scope; here it is any function. */
export type OfScope = (scope: never) => unknown;

/**
 * Where a run goes, as generated functions say it. Whatever can run in the present transaction is executed there; a node that kept its
 * result when the run was restarted is passed by.
 */
export class Run {
  constructor(readonly transaction: Transaction) {}

  /** The run goes on in an action. */
  async action(stage: string): Arrival {
    const { own } = this.transaction;
    if (await this.transaction.isKept(stage)) return await this.#passBy(stage);
    const { workflow, functions, definition } = own;
    try {
      this.transaction.beginDeadline(stage);
      const action = await actionFunction(workflow, functions, definition, stage);
      this.transaction.goTo(stage, own.reads.get(stage) ?? [], action);
    } catch (error) {
      this.transaction.fail(stage, describeThrown(error));
    }
  }

  /** Runs a mutation stage here, as a nested transaction, and goes on; in a transaction of its own when this one is full. */
  async mutation(stage: string, reads: readonly string[], next: Arrive, call?: Call): Arrival {
    await execute(this, { kind: "mutation", stage, reads, call }, next);
  }

  /** The same for a query stage. */
  async query(stage: string, reads: readonly string[], next: Arrive, call?: Call): Arrival {
    await execute(this, { kind: "query", stage, reads, call }, next);
  }

  /** Evaluates a parent's children, once, and starts them. */
  async children(
    stage: string,
    reads: readonly string[],
    given: OfScope,
    references: readonly WorkflowReference<never>[],
  ): Arrival {
    if (await this.transaction.isKept(stage)) return await this.#passBy(stage);
    await children(this, stage, reads, given, references);
  }

  /** A `.child`: one run of a workflow, with the input that `args` gives. */
  async child(
    stage: string,
    reads: readonly string[],
    args: OfScope,
    reference: WorkflowReference<never>,
  ): Arrival {
    if (await this.transaction.isKept(stage)) return await this.#passBy(stage);
    await child(this, stage, reads, args, reference);
  }

  /** Folds the outputs of a parent's children. */
  async reduce(stage: string, next: Arrive): Arrival {
    if (await this.transaction.isKept(stage)) return await next(this);
    await reduce(this, stage, next);
  }

  /** A parent without a finalize: its output is `{ output, children }`. A `.child`: its output is the child's. */
  async gather(stage: string, next: Arrive): Arrival {
    if (await this.transaction.isKept(stage)) return await next(this);
    await gather(this, stage, next);
  }

  /** Waits for a time, or until a date. */
  async sleep(stage: string, reads: readonly string[], duration: unknown, next: Arrive): Arrival {
    if (await this.transaction.isKept(stage)) return await next(this);
    await sleep(this, stage, reads, duration, next);
  }

  /** Waits for an event, unless one has come already. @param reads what its `timeout` reads. */
  async event(stage: string, next: Arrive, reads: readonly string[] = []): Arrival {
    if (await this.transaction.isKept(stage)) return await next(this);
    await event(this, stage, next, reads);
  }

  /** Goes on with the case that `on` names. */
  async branch(
    stage: string,
    reads: readonly string[],
    on: OfScope,
    cases: Readonly<Record<string, Arrive>>,
    next: Arrive,
  ): Arrival {
    if (await this.transaction.isKept(stage)) return await next(this);
    await branch(this, stage, reads, on, cases);
  }

  /** A case has ended: the branch's output is that of the stage. */
  async endBranch(stage: string, output: string | null, next: Arrive): Arrival {
    await endBranch(this, stage, output, next);
  }

  /** Begins a loop with the state that `initial` gives. */
  async loop(
    stage: string,
    reads: readonly string[],
    initial: OfScope,
    body: Arrive,
    next: Arrive,
  ): Arrival {
    if (await this.transaction.isKept(stage)) return await next(this);
    await loop(this, stage, reads, initial, body);
  }

  /** A pass of a loop has ended with the output of the stage: the loop is over, or the next pass begins. */
  async endPass(
    stage: string,
    output: string | null,
    reads: readonly string[],
    until: OfScope,
    body: Arrive,
    next: Arrive,
  ): Arrival {
    await endPass(this, { stage, output, reads, until }, body, next);
  }

  /** The run is complete; its output is that of the stage. */
  async complete(stage: string | null): Arrival {
    const { own } = this.transaction;
    const undoable = hasUndoables(own.definition);
    const output = stage === null ? null : recordOf(stage);
    this.transaction.goOn({ kind: "complete", stage: output, undoable });
  }

  /** A compensation has ended. */
  async undone(): Arrival {
    this.transaction.goOn({ kind: "undone" });
  }

  /** Goes on after a stage whose result was kept. */
  async #passBy(stage: string): Arrival {
    const next = this.transaction.own.following.get(stage);
    if (next === undefined) throw new Error(`Nothing is known to follow "${stage}"`);
    await next(this);
  }
}
