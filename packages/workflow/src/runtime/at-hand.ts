import { leaveRoom, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import type { GenericMutationCtx, TransactionLimits } from "convex/server";
import type { Left, Read, Token } from "../component/validators.js";
import type { Bound } from "./functions.js";

const MIB = 1 << 20;

/** A value that is read by name: a stage's output, or another aspect of it. */
type Value = Pick<Read, "stage" | "iterations" | "children" | "loop" | "cause" | "ended" | "up">;

export function keyOf({ stage, iterations = [], up = 0, ...of }: Value): string {
  const ofRun = of.cause ? "cause" : of.ended ? "ended" : "output";
  const aspect = of.children ? "children" : of.loop ? "loop" : ofRun;
  return `${stage} ${iterations.join(".")} ${aspect} ${up}`;
}

/** What a transaction of a run has at hand. Everything else is loaded when it is read. */
export class AtHand {
  readonly #values = new Map<string, unknown>();
  readonly #completed = new Map<string, boolean>();
  #restarted: ReadonlySet<string> | undefined;
  #hasChildren = false;

  constructor(
    readonly ctx: GenericMutationCtx<any>,
    readonly own: Bound,
    readonly token: Token,
  ) {}

  know(value: Value, is: unknown): void {
    this.#values.set(keyOf(value), is);
  }

  /** @param loops the number of loops that the run is in. */
  async read(reads: readonly Read[], loops: number): Promise<Record<string, unknown>> {
    const missing = reads.filter((read) => !this.#values.has(keyOf(read)));
    if (missing.length > 0) {
      if (missing.some(({ children }) => children)) this.#hasChildren = true;
      const transactionLimits = await this.limits(loops);
      const { load } = this.own.component.lib;
      const args = { run: this.token.run, reads: missing, most: transactionLimits.bytesRead };
      const loaded = await this.ctx.runQuery(load, args, { transactionLimits });
      for (const read of missing) this.know(read, loaded[read.name]);
    }
    return Object.fromEntries(reads.map((read) => [read.name, this.#values.get(keyOf(read))]));
  }

  /** Leaves room to record a failure; after children, also for the state of each loop, of 1 MB. */
  async limits(loops: number): Promise<TransactionLimits> {
    const bytesRead = (2.5 + 2 * loops) * MIB;
    const room = this.#hasChildren ? { ...ROOM_TO_COMPLETE, bytesRead } : ROOM_TO_COMPLETE;
    return await leaveRoom(this.ctx, room);
  }

  /** Says whether a restart retained the result of a top-level node. Only then it costs a query. */
  async hasResult(node: string): Promise<boolean> {
    const { run, generation = 1 } = this.token;
    if (generation === 1) return false;
    const { retained } = this.own.component.steering;
    this.#restarted ??= new Set(await this.ctx.runQuery(retained, { run, generation }));
    return this.#restarted.has(node);
  }

  /** Says whether a deploy moved a completed node behind the run's place; a query after deploys. */
  async hasMoved(node: { stage: string; iterations?: number[] }): Promise<boolean> {
    const { run, plan, generation = 1 } = this.token;
    if (plan === undefined || plan === this.own.plan) return false;
    const key = keyOf(node);
    const { isCompleted } = this.own.component.steering;
    const found =
      this.#completed.get(key) ??
      (await this.ctx.runQuery(isCompleted, { run, generation, ...node }));
    this.#completed.set(key, found);
    return found;
  }
}

/** How many stages one transaction executes at most … */
const MAX_STAGES = 20;
/** … and for how long, in ms: a third of the second of user time that a transaction has. */
const MAX_MS = 300;
/** Outputs go into one call to the component, whose arguments may take 16 MiB. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

/** The least that a pause or a cancel does. */
const STEERING = { databaseQueries: 4, documentsWritten: 2 };

/** What one transaction may still do. The next stage may need half of every limit. */
export class Budget {
  #stages = 0;
  #outputBytes = 0;
  readonly #since = performance.now();
  #before = { databaseQueries: 0, documentsWritten: 0 };

  constructor(readonly most: Left = { stages: MAX_STAGES, ms: MAX_MS }) {}

  /** Returns what is left of it; undefined if that is nothing. */
  async left(ctx: GenericMutationCtx<any>): Promise<Left | undefined> {
    if (await this.isSpent(ctx)) return undefined;
    const { stages, ms } = this.most;
    return { stages: stages - this.#stages, ms: ms - (performance.now() - this.#since) };
  }

  /** @param outputBytes of its output, and of what is reported with that. */
  spend(outputBytes: number): void {
    this.#stages++;
    this.#outputBytes += outputBytes;
  }

  async isSpent(ctx: GenericMutationCtx<any>): Promise<boolean> {
    if (
      this.#stages >= this.most.stages ||
      this.#outputBytes > MAX_OUTPUT_BYTES ||
      performance.now() - this.#since > this.most.ms
    )
      return true;
    const metrics = await ctx.meta.getTransactionMetrics();
    return Object.values(metrics).some(({ used, remaining }) => used > remaining);
  }

  /** Says whether what ran since the last call may have steered the run. Mostly it cannot have. */
  async mayBeSteered(ctx: GenericMutationCtx<any>): Promise<boolean> {
    const { databaseQueries, documentsWritten } = await ctx.meta.getTransactionMetrics();
    const now = { databaseQueries: databaseQueries.used, documentsWritten: documentsWritten.used };
    const before = this.#before;
    this.#before = now;
    return (
      now.databaseQueries - before.databaseQueries >= STEERING.databaseQueries &&
      now.documentsWritten - before.documentsWritten >= STEERING.documentsWritten
    );
  }
}
