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
import { durationMs } from "../definition/duration.js";
import type { StepError } from "../definition/step-error.js";
import { describeThrown, Failure, type Problem } from "../errors/failure.js";
import { withoutValues } from "../errors/without-values.js";
import { formerNames } from "../renaming.js";
import { AtHand, keyOf } from "./at-hand.js";
import type { Bound } from "./bound.js";
import { Budget } from "./budget.js";
import { Kept } from "./kept.js";
import { optionOf } from "./options.js";
import { firstStageOf, placeOf, recordOf, topLevelOf } from "./place.js";
import { marksOf, readsOf } from "./reads.js";
import type { Arrival, Arrive, Run } from "./run.js";
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
    /** The stage that the token names, as it is called now. */
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
    if (await this.#kept.byRestart(this.formerly(topLevelOf(path)))) return true;
    // Where the run came in, it has something to do.
    return !this.isArrivalAt(stage) && (await this.#kept.byMove(this.formerly(path)));
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
  async copiedScope(stage: string, names: readonly string[]): Promise<Record<string, unknown>> {
    const scope = await this.scope(stage, names);
    return Object.fromEntries(Object.entries(scope).map(([name, value]) => [name, copied(value)]));
  }

  reads(stage: string, names: readonly string[]): Read[] {
    return readsOf(this.own.definition, stage, names, this.pass);
  }

  /** The output of a stage of the present pass. */
  async outputOf(stage: string): Promise<Value> {
    const read = { name: "output", ...this.formerly(recordOf(stage)) };
    const { output } = await this.#atHand.read([read], this.pass.length);
    return (output ?? null) as Value;
  }

  /** Has later stages see a value where they read the stage. */
  know(stage: string, output: unknown, aspect?: "loop" | "children"): void {
    const where = this.at(stage);
    this.#atHand.know(aspect === undefined ? where : { ...where, [aspect]: true }, output);
  }

  /** Where a stage stands, and what it was called before it was renamed. */
  formerly(stage: string): { stage: string; pass?: number[]; was?: string[] } {
    const was = formerNames(this.own.definition.options.renamed, stage);
    return { ...this.at(stage), ...(was.length === 0 ? {} : { was }) };
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
        ...this.#facts(stage),
        kind,
        startedAt,
        output: checkedOutput(stage, await execute()),
        ...loop,
      });
    } catch (error) {
      if (this.#refused !== undefined) return;
      const problem = describeThrown(error);
      // What an application throws on purpose has data, or a kind; a limit or a timeout of the platform has neither.
      if (again !== undefined && problem.kind === "thrown" && problem.data === undefined)
        return again();
      const failure = this.errorAt(stage, problem, 1);
      const fused = { ...this.#facts(stage), kind, startedAt, error: failure };
      const recovered = await this.#recovered(stage, failure);
      if (recovered.kind === "failed") {
        this.#fused.push({ ...fused, error: recovered.error });
        this.#next = this.#failing(recovered.error);
        return;
      }
      this.add({ ...fused, output: recovered.output, ...loop });
    }
    await next(run);
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
    this.#endDeadline(stage);
  }

  /** The loop around a stage that has a compensation, as it is now: when that runs, the loop is at another pass. */
  async #loopSeen(stage: string): Promise<{ loop?: unknown }> {
    const isInLoop = placeOf(this.own.definition, stage).loops.length > 0;
    return isInLoop && this.marks(stage).undoable ? await this.scope(stage, ["loop"]) : {};
  }

  /** What is recorded of a stage whatever comes of it. */
  #facts(stage: string): Pick<Fused, "stage" | "pass" | "sensitive" | "undoable"> {
    return { ...this.at(stage), ...this.marks(stage) };
  }

  /** What its record says of a stage, whatever comes of it. */
  marks(stage: string): { sensitive?: true; undoable?: true } {
    return marksOf(this.own.definition, stage);
  }

  /**
   * A parent's time begins to run, where the stage is its first one and not at a further attempt.
   * @throws where its `timeout` is no duration.
   */
  beginDeadline(stage: string): void {
    const { definition } = this.own;
    const { node, path } = placeOf(definition, stage);
    if (node?.children === undefined || node.timeout === undefined) return;
    const isRetry = this.isArrivalAt(stage) && this.token.attempt > 1;
    if (isRetry || stage !== firstStageOf(definition, path)) return;
    const of = optionOf(this.own.workflow, path);
    this.#deadlines.push({ ...this.at(path), ms: durationMs(node.timeout, of("timeout")) });
  }

  /** The stage's output is its parent's, whose time need not be watched any more. */
  #endDeadline(stage: string): void {
    const { node, path, part } = placeOf(this.own.definition, stage);
    const isOver = part === "finalize" || (part === undefined && node?.finalize === undefined);
    // A deploy may have taken its timeout away while the run was in it.
    if (node?.children === undefined || !isOver) return;
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

  /** The run fails at a stage. */
  fail(stage: string, problem: Problem): void {
    const error = this.errorAt(stage, problem, 1);
    if (this.isArrivalAt(stage)) this.#outcome = { kind: "failed", error };
    this.#next = this.#failing(error);
  }

  /** The run fails with an error. */
  #failing(error: StepError): Extract<Next, { kind: "fail" }> {
    const { sensitive } = this.marks(error.node);
    return { kind: "fail", error, ...(sensitive === undefined ? {} : { sensitive }) };
  }

  /** The stage that the token names has ended well. @param error why it has not, before it recovered. */
  async succeeded(output: Value, error?: StepError): Promise<void> {
    const loop = await this.#loopSeen(this.stage);
    this.#outcome = { kind: "success", output, ...(error === undefined ? {} : { error }), ...loop };
    this.know(recordOf(this.stage), output);
    this.#endDeadline(this.stage);
  }

  /**
   * The stage that the token names has failed: it waits for another attempt, or recovers, or the run fails.
   * @returns whether it has recovered, so that the run goes on.
   */
  async failed(problem: Problem, retryAt: number | null): Promise<boolean> {
    const error = this.errorAt(this.stage, problem, this.token.attempt);
    if (retryAt !== null) {
      this.#outcome = { kind: "retry", error, dueAt: retryAt };
      this.#next = { kind: "wait" };
      return false;
    }
    const recovered = await this.#recovered(this.stage, error);
    if (recovered.kind === "success") {
      await this.succeeded(recovered.output, error);
      return true;
    }
    this.#outcome = { kind: "failed", error: recovered.error };
    this.#next = this.#failing(recovered.error);
    return false;
  }

  /** What `recover` makes of a step's failure, if it has one. */
  async #recovered(
    stage: string,
    error: StepError,
  ): Promise<{ kind: "success"; output: Value } | { kind: "failed"; error: StepError }> {
    const { node, part } = placeOf(this.own.definition, stage);
    const names = this.own.recovers.get(stage);
    const isAsked = part === undefined && names !== undefined && error.kind !== "canceled";
    if (!isAsked || node?.recover === undefined) return { kind: "failed", error };
    try {
      const given = await node.recover(copied(error), await this.copiedScope(stage, names));
      return { kind: "success", output: checkedOutput(stage, given) };
    } catch (thrown) {
      const problem = describeThrown(thrown);
      const message = `The recover of "${stage}" failed: ${problem.message}`;
      return {
        kind: "failed",
        error: { ...this.errorAt(stage, { ...problem, message }, error.attempt), cause: error },
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
      const failure = this.errorAt(this.stage, describeThrown(error), this.token.attempt);
      // It may tell of any value that was to be stored.
      const sensitive = this.#fused.some((fused) => fused.sensitive);
      return await this.#settle({ ...this.#failing(failure), ...(sensitive ? { sensitive } : {}) });
    });
    if (stale && this.#fused.length > 0)
      throw new Failure("canceled", `The run went another way while "${this.stage}" was ending`);
  }

  async #settle(next: Next): Promise<{ stale: boolean }> {
    const { renamed } = this.own.definition.options;
    return await this.ctx.runMutation(this.own.component.lib.settle, {
      token: this.token,
      slot: this.options.slot,
      stage: this.stage,
      ...(renamed === undefined ? {} : { renamed: { ...renamed } }),
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
    return { ...told, workflow: this.own.workflow, node: stage, attempt };
  }
}
