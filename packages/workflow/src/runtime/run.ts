import type { Value } from "convex/values";
import type { Outcome } from "../component/protocol.js";
import type { StepKind } from "../component/validators.js";
import type { StepError } from "../definition/context.js";
import { describeThrown, type Problem } from "../errors/failure.js";
import { checkedOutput, copied } from "../values.js";
import { branch, endBranch } from "./nodes/branch.js";
import { child, children } from "./nodes/children.js";
import { each, parallel, race } from "./nodes/concurrent.js";
import { end } from "./nodes/end.js";
import { event } from "./nodes/event.js";
import { endIteration, loop } from "./nodes/loop.js";
import { gather, reduce } from "./nodes/outputs.js";
import { sleep } from "./nodes/sleep.js";
import { action, mutation, query } from "./nodes/step.js";
import type { Again } from "./options.js";
import { hasUndoables, type Place } from "./place.js";
import { Transaction } from "./transaction.js";

/** What arriving at a stage gives: nothing, but it is awaited. */
export type Arrival = Promise<void>;
/** What a run does at a stage: a generated function. */
export type Arrive = (run: Run) => Arrival;
/* Any function of a definition: the compiler knows what it reads of its scope. */
export type OfScope = (scope: never) => unknown;

/** How a stage is executed inside the transaction that arrives at it. */
interface Execution {
  readonly stage: string;
  readonly kind: StepKind;
  execute(): Promise<unknown>;
  /** Has the stage run once more, alone: it may have failed because it shared this transaction. */
  readonly again?: (() => void) | undefined;
}

/** A failed node that has an output. `next` follows a node of several stages. */
interface Recovered {
  readonly path: string;
  readonly output: Value;
  readonly next: Arrive | undefined;
}

/** A function of a kind of node, as a method of the run. */
function methodOf<Args extends unknown[]>(run: Run, of: (run: Run, ...args: Args) => Arrival) {
  return (...args: Args): Arrival => of(run, ...args);
}

/** Where a run goes, as generated functions say it. What can run in this transaction does. */
export class Run extends Transaction {
  readonly action = methodOf(this, action);
  readonly mutation = methodOf(this, mutation);
  readonly query = methodOf(this, query);
  readonly children = methodOf(this, children);
  readonly child = methodOf(this, child);
  readonly parallel = methodOf(this, parallel);
  readonly race = methodOf(this, race);
  readonly each = methodOf(this, each);
  readonly reduce = methodOf(this, reduce);
  readonly gather = methodOf(this, gather);
  readonly sleep = methodOf(this, sleep);
  readonly event = methodOf(this, event);
  readonly branch = methodOf(this, branch);
  readonly endBranch = methodOf(this, endBranch);
  readonly loop = methodOf(this, loop);
  readonly endIteration = methodOf(this, endIteration);
  readonly end = methodOf(this, end);

  async complete(stage: string | null): Arrival {
    const undoable = hasUndoables({ nodes: this.nodes() });
    if (stage === null) this.goOn({ kind: "complete", stage, undoable });
    else this.goOn({ kind: "complete", ...this.at(this.place(stage).record), undoable });
  }

  /** A stage beside the nodes has ended well: a compensation, or an `onEnd`. */
  async undone(): Arrival {
    this.goOn({ kind: "undone" });
  }

  /**
   * Comes to a stage, unless it has its result already.
   * @param next what follows the node. Default: what follows an action, or a wait.
   * @param enter does what is to be done, and gives what follows at once, if anything.
   */
  async arrive(
    stage: string,
    next: Arrive | undefined,
    enter: (place: Place) => Promise<Arrive | void>,
  ): Arrival {
    if (await this.hasResult(stage)) return await (next ?? this.own.following.get(stage))?.(this);
    // To queue an action is little.
    if (!this.own.actions.has(stage) && (await this.isFull())) return this.goTo(stage);
    let then: Arrive | void;
    try {
      then = await enter(this.place(stage));
    } catch (error) {
      return await this.fail(stage, describeThrown(error));
    }
    await then?.(this);
  }

  /** Executes a stage, reports what came of it, and goes on. */
  async record({ stage, kind, execute, again }: Execution, next: Arrive): Arrival {
    const fused = this.begun(stage, kind);
    const loopSeen = await this.loopSeen(fused);
    try {
      const output = checkedOutput(this.place(stage).called, await execute());
      this.add({ ...fused, output, ...loopSeen });
    } catch (thrown) {
      if (this.refused !== undefined) return;
      const problem = describeThrown(thrown);
      // What the app throws on purpose has data or a kind; a limit of the platform has neither.
      if (again !== undefined && problem.kind === "thrown" && problem.data === undefined)
        return again();
      const error = this.errorAt(stage, problem, 1);
      const recovered = await this.#recover(stage, problem, error);
      if ("error" in recovered) {
        this.open({ ...fused, error: recovered.error });
        return this.goOn(this.failing(stage, recovered.error));
      }
      const { path, output } = recovered;
      if (stage === path) this.add({ ...fused, error, output, ...loopSeen });
      else {
        this.open({ ...fused, error });
        this.#addNode(recovered, this.place(stage).record === path);
      }
      return await (recovered.next ?? next)(this);
    }
    await next(this);
  }

  /** Adds the record of a node that has recovered from the failure of one of its parts. */
  #addNode({ path, output }: Recovered, exists: boolean, error?: StepError): void {
    this.add({ ...this.begun(path, "children"), exists: exists || undefined, error, output });
    this.endDeadlineOf(path);
  }

  /** The run fails at a stage, or goes on after its node if a `recover` says so. */
  async fail(stage: string, problem: Problem): Arrival {
    const error = this.errorAt(stage, problem, 1);
    const { path } = this.place(stage);
    if (!this.own.recovered.has(path)) return this.failAt(stage, error);
    const recovered = await this.#recover(stage, problem, error);
    if ("error" in recovered) return this.failAt(stage, recovered.error);
    this.#addNode(recovered, false, error);
    await recovered.next?.(this);
  }

  /** The token's stage has ended well. @param how `error`: why it has not, before it recovered. */
  async succeeded(
    output: Value,
    how: Pick<Extract<Outcome, { kind: "success" }>, "error" | "took" | "timedOut" | "used"> = {},
  ): Promise<void> {
    const loopSeen = await this.loopSeen(this.facts(this.stage));
    this.outcome = { kind: "success", output, ...how, ...loopSeen };
    this.know(this.place(this.stage).record, output);
    this.endDeadline(this.stage);
  }

  /** It is tried again, recovers, or fails. @param at the stage, or its node. */
  async failed(problem: Problem, retry: Again | null, next?: Arrive, at = this.stage) {
    const error = this.errorAt(at, problem, this.token.attempt);
    if (retry !== null) {
      this.outcome = { kind: "retry", error, ...retry };
      this.goOn({ kind: "wait" });
      return undefined;
    }
    const recovered = await this.#recover(this.stage, problem, error);
    if ("error" in recovered) {
      this.outcome = { kind: "failed", error: recovered.error };
      this.goOn(this.failing(at, recovered.error));
      return undefined;
    }
    const { path, output } = recovered;
    if (this.stage === path) {
      await this.succeeded(output, { error });
      if (recovered.next !== undefined) this.endDeadlineOf(path);
    } else {
      this.outcome = { kind: "failed", error };
      this.#addNode(recovered, this.place(this.stage).record === path);
    }
    return recovered.next ?? next;
  }

  /** The output that the `recover` of a stage's node gives, or the error that stays. */
  async #recover(
    stage: string,
    problem: Problem,
    error: StepError,
  ): Promise<Recovered | { error: StepError }> {
    const { node, kind, path, part } = this.place(stage);
    const next = this.own.recovered.get(path);
    // What follows a node of several stages is known from the generated code alone.
    const isFollowed = next !== undefined || kind.startsRuns !== true;
    const isAsked = part !== "compensate" && error.kind !== "canceled" && isFollowed;
    if (!isAsked || node?.recover === undefined) return { error };
    try {
      const names = this.own.reads.get(`${path}.recover`) ?? [];
      const scope: Record<string, unknown> = await this.scopeFor(path, "recover", names);
      // It is for the node's other functions: its handler may have failed.
      if (names.includes("*")) for (const name of this.place(path).sees ?? []) delete scope[name];
      // The node's own function sees what its record does not show.
      const shown = { ...error, ...problem, node: error.node };
      const given = await node.recover(copied(shown), scope);
      return { path, output: checkedOutput(this.place(path).called, given), next };
    } catch (thrown) {
      const own = describeThrown(thrown);
      const message = `The recover of "${this.place(path).called}" failed: ${own.message}`;
      // What could not be undone is listed once, at the top.
      const { attempt, compensationErrors, ...rest } = error;
      const failed = this.errorAt(stage, { ...own, message }, attempt);
      return { error: { ...failed, compensationErrors, cause: { ...rest, attempt } } };
    }
  }
}
