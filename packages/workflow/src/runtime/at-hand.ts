import { leaveRoom, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import type { GenericMutationCtx, TransactionLimits } from "convex/server";
import type { Read, Token } from "../component/validators.js";
import type { Bound } from "./functions.js";

const MIB = 1 << 20;

/** A value that is read by name: a stage's output, or another aspect of it. */
type Value = Pick<Read, "stage" | "pass" | "children" | "loop" | "cause">;

/** Names a value. */
export function keyOf({ stage, pass = [], children, loop, cause }: Value): string {
  const aspect = children ? "children" : loop ? "loop" : cause ? "cause" : "output";
  return `${stage} ${pass.join(".")} ${aspect}`;
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

  /**
   * Limits for a nested call that leave enough of this transaction to record its failure and go on.
   * After children were read, the run has no slot to hand over, but each loop around may read and
   * write a state of a megabyte.
   */
  async limits(loops: number): Promise<TransactionLimits> {
    const bytesRead = (2.5 + 2 * loops) * MIB;
    const room = this.#hasChildren ? { ...ROOM_TO_COMPLETE, bytesRead } : ROOM_TO_COMPLETE;
    return await leaveRoom(this.ctx, room);
  }

  /** Whether a restart kept the result of a top-level node. Only then it costs a query. */
  async hasResult(node: string): Promise<boolean> {
    const { run, generation = 1 } = this.token;
    if (generation === 1) return false;
    const { kept } = this.own.component.steering;
    const names = (this.#restarted ??= new Set(await this.ctx.runQuery(kept, { run, generation })));
    return names.has(node);
  }

  /** Whether a deploy moved a completed node behind the run's place; a query after deploys. */
  async hasMoved(node: { stage: string; pass?: number[] }): Promise<boolean> {
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
