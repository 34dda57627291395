import type { GenericMutationCtx, TransactionLimits } from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import type {
  ActionFunction,
  Deadline,
  Fused,
  Next,
  Outcome,
  Read,
  Settlement,
  StepKind,
  Token,
} from "../component/validators.js";
import { durationMs } from "../rules.js";
import type { StepError } from "../definition/step-error.js";
import { describeThrown, Failure, type Problem } from "../errors/failure.js";
import { withoutValues } from "../errors/without-values.js";
import { AtHand, keyOf } from "./at-hand.js";
import type { Bound } from "./bound.js";
import { Budget } from "./budget.js";
import { Kept } from "./kept.js";
import { optionOf } from "./options.js";
import { kindOf, stagesOf } from "./nodes/kinds.js";
import { firstStageOf, placeOf, recordOf, topLevelOf } from "./place.js";
import { marksOf, readsOf, type Marks } from "./reads.js";
import type { Arrival, Arrive, Run } from "./run.js";
import { readableScope, type Reader } from "./scope.js";
import { checkedOutput, copied } from "../values.js";

export interface TransactionOptions {
  readonly slot?: string | undefined;
  /** Whether stages that follow may be executed in this transaction. */
  readonly fuse: boolean;
  /** Whether the caller calls again, without fusion, when this transaction fails. */
  readonly callsAgain: boolean;
  /** What the stage reads, by name, where it came along. */
  readonly scope?: Readonly<Record<string, unknown>> | null;
}

/** How a stage is executed inside the transaction that arrives at it. */
interface Execution {
  readonly stage: string;
  readonly kind: StepKind;
  execute(): Promise<unknown>;
  /** Has the stage run once more, alone: what went wrong may be that it shared this transaction with others. */
  readonly again?: (() => void) | undefined;
}

/** A node that has failed and has an output all the same. `next` follows it, where that is not what follows the stage that failed. */
interface Recovered {
  readonly kind: "success";
  readonly path: string;
  readonly output: Value;
  readonly next: Arrive | undefined;
}

/** Whether the stage that has failed is the node itself, and no part of it. */
const isNode = (stage: string, { path }: Recovered): boolean => stage === path;

/**
 * One transaction of a run, as the kinds of nodes see it: what the run has at hand, what is executed here, where it goes. All of it is
 * reported to the component in one call.
 */
export class Transaction {
  readonly #atHand: AtHand;
  readonly #kept: Kept;
  readonly #fused: Fused[] = [];
  readonly #deadlines: Deadline[] = [];
  #reduced: Settlement["reduced"];
  readonly #budget = new Budget();
  #outcome: Outcome = { kind: "open" };
  #next: Next | undefined;
  /** A stage with `isolate` was executed, or this transaction follows one that failed: nothing more is executed here. */
  #closed: boolean;
  /** Why nothing of this transaction may stay. */
  #refused: Error | undefined;
  /** The passes of the loops that the run is in, outermost first. */
  pass: readonly number[];

  constructor(
    readonly ctx: GenericMutationCtx<any>,
    readonly own: Bound,
    readonly token: Token,
    /** The stage that the token names. */
    readonly stage: string,
    readonly options: TransactionOptions,
  ) {
    this.#atHand = new AtHand(ctx, own, token.run);
    this.#kept = new Kept(ctx, own, token);
    this.#closed = !options.fuse;
    this.pass = token.pass ?? [];
  }

  /** Whether this is where the transaction came in: nothing has happened in it yet. */
  isArrivalAt(stage: string): boolean {
    return this.#outcome.kind === "open" && this.#fused.length === 0 && stage === this.stage;
  }

  /** Whether so much was executed here that the run should go on in the next transaction. */
  async isFull(): Promise<boolean> {
    return this.#fused.length > 0 && (await this.#budget.isSpent(this.ctx));
  }

  /** Whether a mutation or query should be executed in the next transaction: this one is full, or no other is to run in it. */
  async isClosed(): Promise<boolean> {
    if (this.#closed || (await this.#budget.isSpent(this.ctx))) return true;
    this.#closed = await this.#isHalted();
    return this.#closed;
  }

  /** Whether a step that was executed here has paused or canceled the very run. */
  async #isHalted(): Promise<boolean> {
    if (!(await this.#budget.mayBeSteered(this.ctx))) return false;
    return await this.ctx.runQuery(this.own.component.steering.isHalted, { token: this.token });
  }

  /** Something was done here that counts as a stage. */
  spend(): void {
    this.#budget.spend(0);
  }

  /** Has the whole transaction rolled back when it is to be reported: the caller calls again. */
  refuse(error: Error): void {
    this.#refused = error;
  }

  /** Nothing more is executed in this transaction. */
  close(): void {
    this.#closed = true;
  }

  /** Whether the stage has its result already, so that the run only passes by. */
  async isKept(stage: string): Promise<boolean> {
    const { path, part } = placeOf(this.own.definition, stage);
    if (part === "compensate") return false;
    if (await this.#kept.byRestart(topLevelOf(path))) return true;
    // Where the run came in, it has something to do.
    return !this.isArrivalAt(stage) && (await this.#kept.byMove(this.at(path)));
  }

  /** Limits for a nested call that leave enough of this transaction: whatever it uses up, its failure can be written down and the run go on. */
  async limits(): Promise<TransactionLimits> {
    return await this.#atHand.limits(this.pass.length);
  }

  /** What a stage reads, by name. */
  async scope(stage: string, names: readonly string[]): Promise<Record<string, unknown>> {
    const reads = this.reads(stage, names);
    const { scope } = this.options;
    // It may have come along with the call.
    if (scope && this.isArrivalAt(stage))
      for (const read of reads) if (read.name in scope) this.#atHand.know(read, scope[read.name]);
    return await this.#atHand.read(reads, this.pass.length);
  }

  /** The same for a function of the definition: a copy, so that whatever that does to it, the results stay as they are. */
  async copiedScope(reader: Reader, names: readonly string[]): Promise<unknown> {
    const scope = await this.scope(reader.stage, names);
    const values = Object.entries(scope).map(([name, value]) => [name, copied(value)]);
    return readableScope(this.own, reader, names, Object.fromEntries(values));
  }

  reads(stage: string, names: readonly string[]): Read[] {
    return readsOf(this.own.definition, stage, names, this.pass);
  }

  /** The output of a stage of the present pass. */
  async outputOf(stage: string): Promise<Value> {
    const read = { name: "output", ...this.at(recordOf(stage)) };
    const { output } = await this.#atHand.read([read], this.pass.length);
    return (output ?? null) as Value;
  }

  /** Has later stages see a value where they read the stage. */
  know(stage: string, output: unknown, aspect?: "loop" | "children"): void {
    const where = this.at(stage);
    this.#atHand.know(aspect === undefined ? where : { ...where, [aspect]: true }, output);
  }

  /** What messages call a stage. */
  called(stage: string): string {
    return placeOf(this.own.definition, stage).called;
  }

  /** A stage and the passes of the loops around it. */
  at(stage: string): { stage: string; pass?: number[] } {
    const depth = placeOf(this.own.definition, stage).loops.length;
    return depth === 0 ? { stage } : { stage, pass: this.pass.slice(0, depth) };
  }

  /** The outputs of a parent's children were folded into a value, which stands in their place. */
  folded(stage: string, value: Value): void {
    this.know(stage, value, "children");
    this.#reduced = { ...this.at(stage), value };
  }

  /** Executes a stage, keeps what came of it for the report, and goes on. */
  async record({ stage, kind, execute, again }: Execution, next: Arrive, run: Run): Arrival {
    const startedAt = Date.now();
    const loop = await this.#loopSeen(stage);
    try {
      this.add({
        ...this.facts(stage),
        kind,
        startedAt,
        output: checkedOutput(this.called(stage), await execute()),
        ...loop,
      });
    } catch (error) {
      if (this.#refused !== undefined) return;
      const problem = describeThrown(error);
      // What an application throws on purpose has data, or a kind; a limit or a timeout of the platform has neither.
      if (again !== undefined && problem.kind === "thrown" && problem.data === undefined)
        return again();
      const failure = this.errorAt(stage, problem, 1);
      const fused = { ...this.facts(stage), kind, startedAt, error: failure };
      const recovered = await this.#recovered(stage, problem, failure);
      if (recovered.kind === "failed") {
        this.#fused.push({ ...fused, error: recovered.error });
        this.#next = this.#failing(stage, recovered.error);
        return;
      }
      const { output } = recovered;
      if (isNode(stage, recovered)) this.add({ ...fused, output, ...loop });
      else {
        this.#fused.push(fused);
        this.#addNode(stage, recovered);
      }
      return await (recovered.next ?? next)(run);
    }
    await next(run);
  }

  /** A part of a node has failed, and the node has an output all the same: it has recovered. */
  #addNode(part: string, { path, output }: Recovered): void {
    const exists = recordOf(part) === path ? { exists: true } : {};
    const record = { ...this.facts(path), kind: "children" as const, startedAt: Date.now() };
    this.add({ ...record, ...exists, output });
    this.#endDeadlineOf(path);
  }

  /** Adds a stage that begins here, and has no output yet. */
  open(fused: Omit<Fused, "output">): void {
    this.#fused.push(fused);
  }

  /** Adds a stage that was executed here, in the place of what was to be reported of the same record. */
  add(fused: Fused & { output: Value }): void {
    const { stage, output, loop = null } = fused;
    const same = this.#fused.findIndex(
      (other) => other.stage === stage && keyOf(other) === keyOf(fused),
    );
    const before = this.#fused[same];
    if (before === undefined) this.#fused.push(fused);
    else {
      const { startedAt, exists, chosen } = before;
      this.#fused[same] = {
        ...fused,
        startedAt,
        exists,
        ...(chosen === undefined ? {} : { chosen }),
      };
    }
    this.#budget.spend(getConvexSize(output) + getConvexSize(loop as Value));
    this.know(recordOf(stage), output);
    if (fused.iteration === undefined || fused.isOver) this.#endDeadline(stage);
  }

  /** The loop around a stage that has a compensation, as it is now: when that runs, the loop is at another pass. */
  async #loopSeen(stage: string): Promise<{ loop?: unknown }> {
    const isInLoop = placeOf(this.own.definition, stage).loops.length > 0;
    return isInLoop && this.marks(stage).undoable ? await this.scope(stage, ["loop"]) : {};
  }

  /** What is recorded of a stage whatever comes of it. */
  facts(stage: string): Pick<Fused, "stage" | "pass"> & Marks {
    return { ...this.at(stage), ...this.marks(stage) };
  }

  /** What its record says of a stage, whatever comes of it. */
  marks(stage: string): Marks {
    return marksOf(this.own.definition, stage);
  }

  /**
   * The time of a parent or a loop begins to run, where the stage is its first one and not at a further attempt.
   * @throws where its `timeout` is no duration.
   */
  beginDeadline(stage: string): void {
    const { definition } = this.own;
    const { node, path } = placeOf(definition, stage);
    if (!kindOf(node).isTimedAsWhole || node.timeout === undefined) return;
    const isRetry = this.isArrivalAt(stage) && this.token.attempt > 1;
    if (isRetry || stage !== firstStageOf(definition, path)) return;
    const { called } = this.marks(path);
    const of = optionOf(this.own.workflow, called ?? path);
    const ms = durationMs(node.timeout, of("timeout"));
    const recovers = this.own.recovers.has(path) ? { recovers: true } : {};
    this.#deadlines.push({ ...this.at(path), ...(called && { called }), ms, ...recovers });
  }

  /** After the last stage of a parent or a loop, its time is not watched any more. */
  #endDeadline(stage: string): void {
    const { node, path, part } = placeOf(this.own.definition, stage);
    // A deploy may have removed its timeout while the run was in it.
    if (kindOf(node).isTimedAsWhole && stagesOf(node).at(-1)?.part === part)
      this.#endDeadlineOf(path);
  }

  #endDeadlineOf(path: string): void {
    const begun = this.#deadlines.findIndex((deadline) => keyOf(deadline) === keyOf(this.at(path)));
    if (begun >= 0) this.#deadlines.splice(begun, 1);
    else this.#deadlines.push(this.at(path));
  }

  /** The run goes on with a stage in the next transaction, or in an action. */
  goTo(stage: string, names: readonly string[], action?: ActionFunction): void {
    const reads = this.reads(stage, names);
    const afterFailure = this.options.fuse ? {} : { afterFailure: true };
    const where = { ...this.at(stage), ...this.marks(stage), action, reads, ...afterFailure };
    this.#next = { kind: "stage", stage: where };
  }

  /** What the run does next. */
  goOn(next: Next): void {
    this.#next = next;
  }

  /** The run fails at a stage, or goes on after its node, where that recovers. */
  async failOrRecover(stage: string, problem: Problem, run: Run): Arrival {
    const error = this.errorAt(stage, problem, 1);
    const recovered = await this.#recovered(stage, problem, error);
    if (recovered.kind === "failed") return this.#failAt(stage, recovered.error);
    const { output, path, next } = recovered;
    if (next === undefined) return this.#failAt(stage, error);
    const record = { ...this.facts(path), kind: "children" as const, startedAt: Date.now() };
    this.add({ ...record, error, output });
    this.#endDeadlineOf(path);
    await next(run);
  }

  /** The run fails at a stage. */
  fail(stage: string, problem: Problem): void {
    this.#failAt(stage, this.errorAt(stage, problem, 1));
  }

  #failAt(stage: string, error: StepError): void {
    if (this.isArrivalAt(stage)) this.#outcome = { kind: "failed", error };
    this.#next = this.#failing(stage, error);
  }

  /** The run fails with an error. */
  #failing(stage: string, error: StepError): Extract<Next, { kind: "fail" }> {
    const { sensitive } = this.marks(stage);
    return { kind: "fail", error, stage, ...(sensitive === undefined ? {} : { sensitive }) };
  }

  /** The stage that the token names has ended well. @param error why it has not, before it recovered. */
  async succeeded(output: Value, error?: StepError): Promise<void> {
    const loop = await this.#loopSeen(this.stage);
    this.#outcome = { kind: "success", output, ...(error === undefined ? {} : { error }), ...loop };
    this.know(recordOf(this.stage), output);
    this.#endDeadline(this.stage);
  }

  /**
   * The stage that the token names has failed: it waits for another attempt, or its node recovers, or the run fails.
   * @param next what follows the stage. @param at what has failed: the stage, or the node of which it is a part.
   * @returns what follows, where the node has recovered.
   */
  async failed(
    problem: Problem,
    retryAt: number | null,
    next?: Arrive,
    at = this.stage,
  ): Promise<Arrive | undefined> {
    const error = this.errorAt(at, problem, this.token.attempt);
    if (retryAt !== null) {
      this.#outcome = { kind: "retry", error, dueAt: retryAt };
      this.#next = { kind: "wait" };
      return undefined;
    }
    const recovered = await this.#recovered(this.stage, problem, error);
    if (recovered.kind === "success") {
      if (isNode(this.stage, recovered)) {
        await this.succeeded(recovered.output, error);
        if (recovered.next !== undefined) this.#endDeadlineOf(recovered.path);
      } else {
        this.#outcome = { kind: "failed", error };
        this.#addNode(this.stage, recovered);
      }
      return recovered.next ?? next;
    }
    this.#outcome = { kind: "failed", error: recovered.error };
    this.#next = this.#failing(at, recovered.error);
    return undefined;
  }

  /** What the `recover` of a stage's node makes of a failure, if it has one. */
  async #recovered(
    stage: string,
    problem: Problem,
    error: StepError,
  ): Promise<Recovered | { kind: "failed"; error: StepError }> {
    const { node, path, part } = placeOf(this.own.definition, stage);
    const recover = this.own.recovers.get(path);
    const isAsked = part !== "compensate" && recover !== undefined && error.kind !== "canceled";
    if (!isAsked || node?.recover === undefined) return { kind: "failed", error };
    try {
      const scope = await this.copiedScope({ stage: path, function: "recover" }, recover.reads);
      // The node's own function sees what its record does not show.
      const { kind, message, data } = problem;
      const whole = { ...error, kind, message, ...(data === undefined ? {} : { data }) };
      const given = await node.recover(copied(whole), scope);
      return {
        kind: "success",
        path,
        output: checkedOutput(this.called(path), given),
        next: recover.next,
      };
    } catch (thrown) {
      const own = describeThrown(thrown);
      const message = `The recover of "${this.called(path)}" failed: ${own.message}`;
      return {
        kind: "failed",
        error: { ...this.errorAt(stage, { ...own, message }, error.attempt), cause: error },
      };
    }
  }

  /**
   * Reports to the component, in one call. What was executed here is recorded even if what should come next cannot be started: then
   * the run fails with that error.
   * @throws where the caller calls again without fusion, where it was refused, and where mutations were executed for a run that has meanwhile gone another way:
   *   so they are rolled back.
   */
  async commit(): Promise<void> {
    if (this.#refused !== undefined) throw this.#refused;
    const next = this.#next;
    if (next === undefined)
      throw new Error(`Nothing follows "${this.stage}" in "${this.own.workflow}"`);
    const { stale } = await this.#settle(next).catch(async (error: unknown) => {
      if (this.options.callsAgain && this.#fused.length > 0) throw error;
      // It may tell of any value that was to be stored.
      const sensitive = this.#fused.some((fused) => fused.sensitive);
      const thrown = describeThrown(error);
      const problem = sensitive ? withoutValues(thrown) : thrown;
      const failure = this.errorAt(this.stage, problem, this.token.attempt);
      return await this.#settle({
        ...this.#failing(this.stage, failure),
        ...(sensitive ? { sensitive } : {}),
      });
    });
    if (stale && this.#fused.length > 0)
      throw new Failure("canceled", `The run went another way while "${this.stage}" was ending`);
  }

  async #settle(next: Next): Promise<{ stale: boolean }> {
    return await this.ctx.runMutation(this.own.component.lib.settle, {
      token: this.token,
      slot: this.options.slot,
      plan: this.own.plan,
      outcome: this.#outcome,
      fused: this.#fused,
      ...(this.#reduced === undefined ? {} : { reduced: this.#reduced }),
      ...(this.#deadlines.length > 0 ? { deadlines: this.#deadlines } : {}),
      next,
    });
  }

  errorAt(stage: string, problem: Problem, attempt: number): StepError {
    const told = this.marks(stage).sensitive === true ? withoutValues(problem) : problem;
    return { ...told, workflow: this.own.workflow, node: this.called(stage), attempt };
  }
}
