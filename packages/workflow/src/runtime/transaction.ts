import { createFunctionHandle } from "convex/server";
import { getConvexSize, type Value } from "convex/values";
import type { Fused, Left, Next, Outcome, Settled, Settlement } from "../component/protocol.js";
import type { ActionFunction, Deadline } from "../component/validators.js";
import type { StepError } from "../definition/context.js";
import { describeThrown, Failure, type Problem } from "../errors/failure.js";
import { withoutValues } from "../errors/hidden.js";
import { durationMs } from "../rules.js";
import { inPages } from "../values.js";
import { AtHand, keyOf } from "./at-hand.js";
import { Budget } from "./budget.js";
import { optionOf } from "./options.js";
import type { Nodes } from "./nodes/kinds.js";
import { marksOf, readsOf } from "./reads.js";
import { seesSecret, shownProblem } from "./shown.js";

/** One transaction of a run: what it reads, and what it reports to the component, in one call. */
export class Transaction extends AtHand {
  readonly budget: Budget;
  /** What was executed here, by its key. */
  readonly #fused = new Map<string, Fused>();
  readonly #deadlines: Deadline[] = [];
  #reduced: Settlement["reduced"];
  #next: Next | undefined;
  /** Nothing more is executed here: after an `isolate` stage, or a failed transaction. */
  closed: boolean;
  protected outcome: Outcome = { kind: "open" };
  /** What is known of the token's step beside its outcome. */
  noted: Pick<Settlement, "beganAt"> = {};
  /** Why nothing of this transaction may stay: the caller calls again. */
  refused: Error | undefined;

  constructor(...of: ConstructorParameters<typeof AtHand>) {
    super(...of);
    const { budget, starting, fuse } = this.options;
    this.budget = budget ?? new Budget(starting);
    this.closed = !fuse;
  }

  isArrivalAt(stage: string): boolean {
    return this.outcome.kind === "open" && this.#fused.size === 0 && stage === this.stage;
  }

  /** Says whether so much was executed here that the run should go on in the next transaction. */
  async isFull(): Promise<boolean> {
    return this.#fused.size > 0 && (await this.budget.isSpent(this.ctx));
  }

  /** Says whether a mutation or query should be executed in the next transaction. */
  async isClosed(): Promise<boolean> {
    if (this.closed || (await this.budget.isSpent(this.ctx))) return true;
    // A step that was executed here can have paused or canceled its own run.
    if (!(await this.budget.mayBeSteered(this.ctx))) return false;
    const { isCanceled } = this.own.component.lib;
    this.closed = await this.ctx.runQuery(isCanceled, { token: this.token, orPaused: true });
    return this.closed;
  }

  /** What its run goes through: the workflow's nodes, or those of a branch or a body. */
  protected nodes(): Nodes {
    const { apart, sequences } = this.place(this.stage);
    const own = sequences.find(({ level }) => level === apart.length);
    return own?.nodes ?? this.own.definition.nodes;
  }

  facts(stage: string) {
    return { ...this.at(stage), ...marksOf(this.own, stage) };
  }

  /** The record of a stage that is executed here, as it begins. */
  begun(stage: string, kind: Fused["kind"]) {
    return { ...this.facts(stage), kind, startedAt: Date.now() };
  }

  errorAt(stage: string, problem: Problem, attempt: number): StepError {
    const told = shownProblem(this.own, stage, problem);
    return { ...told, workflow: this.own.workflow, node: this.place(stage).called, attempt };
  }

  /** The present state of the loop around a stage, for its compensation. */
  protected async loopSeen({
    stage,
    iterations,
    undoable,
  }: ReturnType<Transaction["facts"]>): Promise<{ loop?: unknown }> {
    return iterations !== undefined && undoable ? await this.scope(stage, ["loop"]) : {};
  }

  /** Adds a stage that was executed here, or completes what is to be reported of its record. */
  open(fused: Fused): void {
    const key = keyOf(fused);
    const before = this.#fused.get(key);
    if (before === undefined) this.#fused.set(key, fused);
    else {
      const { startedAt, exists, chosen = fused.chosen } = before;
      this.#fused.set(key, { ...fused, startedAt, exists, chosen });
    }
  }

  /** The same of one that has its output. */
  add(fused: Fused & { output: Value }): void {
    const { stage, output, loop = null } = fused;
    this.open(fused);
    this.budget.spend(getConvexSize(output) + getConvexSize(loop as Value));
    this.know(this.place(stage).record, output);
    if (fused.iteration === undefined || fused.isOver) this.endDeadline(stage);
  }

  /** The outputs of a parent's children were reduced to a value, which takes their place. */
  reduced(stage: string, value: Value): void {
    this.know(stage, inPages(value), "children");
    this.#reduced = { ...this.at(stage), value };
  }

  /** Begins to time a parent or a loop. @throws if its `timeout` is no duration. */
  beginDeadline(stage: string): void {
    const { node, kind, path, first } = this.place(stage);
    if (!kind.isTimedAsWhole || node.timeout === undefined) return;
    const isRetry = this.isArrivalAt(stage) && this.token.attempt > 1;
    if (isRetry || stage !== first) return;
    const ms = durationMs(node.timeout, optionOf(this.own, path, "timeout"));
    const recovers = this.own.recovered.has(path) || undefined;
    const { called } = this.facts(path);
    this.#deadlines.push({ ...this.at(path), called, ms, recovers });
  }

  /** After the last stage of a parent or a loop, its time is not watched any more. */
  protected endDeadline(stage: string): void {
    const { kind, path, part, parts } = this.place(stage);
    // A deploy may have removed its timeout while the run was in it.
    if (kind.isTimedAsWhole && parts.at(-1) === part) this.endDeadlineOf(path);
  }

  protected endDeadlineOf(path: string): void {
    const at = this.#deadlines.findIndex((deadline) => keyOf(deadline) === keyOf(this.at(path)));
    if (at < 0) this.#deadlines.push(this.at(path));
    // It has begun here. One that is ended already, as by a recover, is ended once.
    else if (this.#deadlines[at]!.ms !== undefined) this.#deadlines.splice(at, 1);
  }

  /** The run goes on with a stage in the next transaction, or in an action. */
  goTo(stage: string, action?: ActionFunction): void {
    const reads = readsOf(this.own, stage, this.iterations);
    const afterFailure = this.options.fuse ? undefined : true;
    this.goOn({ kind: "stage", stage: { ...this.facts(stage), action, reads, afterFailure } });
  }

  goOn(next: Next): void {
    this.#next = next;
  }

  protected failing(stage: string, error: StepError): Extract<Next, { kind: "fail" }> {
    return { kind: "fail", error, stage, sensitive: this.facts(stage).sensitive };
  }

  /** The action that comes next; undefined if something else does. */
  get nextAction(): string | undefined {
    const next = this.#next;
    return next?.kind === "stage" && next.stage.action !== undefined ? next.stage.stage : undefined;
  }

  failAt(stage: string, error: StepError): undefined {
    if (this.isArrivalAt(stage)) this.outcome = { kind: "failed", error };
    this.goOn(this.failing(stage, error));
  }

  /**
   * Reports to the component. If the next stage cannot start, the run fails, with this recorded.
   * @throws if the caller should call again, or the run went another way: all is rolled back.
   * @returns whether the token was stale, and the action that comes next, if it waits in the queue;
   * or the parent with which the transaction goes on, as its children have ended in it.
   */
  async commit(): Promise<Settled> {
    if (this.refused !== undefined) throw this.refused;
    const next = this.#next;
    if (next === undefined)
      throw new Error(`Nothing follows "${this.stage}" in "${this.own.workflow}"`);
    const left =
      next.kind === "children" && !this.closed && this.options.starting === undefined
        ? await this.budget.left(this.ctx)
        : undefined;
    const settled = await this.#settle(next, left).catch((e) => this.#settleAgain(next, e));
    // guard: stale
    if (settled.stale && this.#fused.size > 0)
      throw new Failure("canceled", `The run went another way while "${this.stage}" was ending`);
    for (let n = 0; n < (settled.goesOn?.entered ?? 0); n++) this.budget.spend(0);
    return settled;
  }

  /** The report has thrown: nothing of it stays. It may have failed only for a moment. */
  async #settleAgain(next: Next, failure: unknown): Promise<Settled> {
    const { fuse } = this.options;
    if (fuse && this.#fused.size > 0) throw failure;
    return await this.#settle(next).catch(async (error: unknown) => {
      if (fuse) throw error;
      // It may tell of any value that was to be stored.
      const isSensitive = [...this.#fused.values()].some(
        ({ sensitive, stage }) => sensitive === true || seesSecret(this.own, stage),
      );
      const thrown = describeThrown(error);
      const problem = isSensitive ? withoutValues(thrown) : thrown;
      const told = this.errorAt(this.stage, problem, this.token.attempt);
      const failing = this.failing(this.stage, told);
      // guard: settled-again, else this.#settle(next)
      return await this.#settle({ ...failing, sensitive: isSensitive || failing.sensitive });
    });
  }

  /** @param left what children that begin may use of the transaction. Default: nothing. */
  async #settle(next: Next, left?: Left): Promise<Settled> {
    const { entry } = this.own.functions;
    const isEntered = next.kind === "stage" && next.stage.action === undefined;
    return await this.ctx.runMutation(this.own.component.lib.settle, {
      token: this.token,
      slot: this.options.slot,
      scheduled: this.options.scheduled,
      plan: this.own.plan,
      entry: isEntered ? await createFunctionHandle(entry) : undefined,
      outcome: this.outcome,
      ...this.noted,
      fused: [...this.#fused.values()],
      reduced: this.#reduced,
      deadlines: this.#deadlines.length > 0 ? this.#deadlines : undefined,
      next,
      left,
      starting: this.options.starting,
    });
  }
}
