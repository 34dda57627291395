import type { GenericMutationCtx, TransactionLimits } from "convex/server";
import { leaveRoom, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import type { Read } from "../component/validators.js";
import type { Bound } from "./bound.js";

const MIB = 1 << 20;

/**
 * What is to be left where the outputs of children were read. A run that comes from them has no slot to give back, and so starts no work that
 * waits in line; but each loop around may have a state of a megabyte, which is read and written when its pass ends.
 */
function roomAfterChildren(loops: number): typeof ROOM_TO_COMPLETE {
  return { ...ROOM_TO_COMPLETE, bytesRead: (2.5 + 2 * loops) * MIB };
}

/** What a value is, of those that are read by name: a stage's output, or another aspect of it. */
type Value = Pick<Read, "stage" | "pass" | "children" | "loop" | "cause">;

/** The values that a transaction of a run has at hand. What is not is loaded when somebody reads it. */
export class AtHand {
  readonly #values = new Map<string, unknown>();
  #hasChildren = false;

  constructor(
    readonly ctx: GenericMutationCtx<any>,
    readonly own: Bound,
    readonly run: string,
  ) {}

  know(value: Value, is: unknown): void {
    this.#values.set(keyOf(value), is);
  }

  /** @param loops how many loops the run is in. */
  async read(reads: readonly Read[], loops: number): Promise<Record<string, unknown>> {
    const missing = reads.filter((read) => !this.#values.has(keyOf(read)));
    if (missing.length > 0) {
      if (missing.some(({ children }) => children)) this.#hasChildren = true;
      const transactionLimits = await this.limits(loops);
      const { load } = this.own.component.lib;
      const args = { run: this.run, reads: missing, most: transactionLimits.bytesRead };
      const loaded = await this.ctx.runQuery(load, args, { transactionLimits });
      for (const read of missing) this.know(read, loaded[read.name]);
    }
    return Object.fromEntries(reads.map((read) => [read.name, this.#values.get(keyOf(read))]));
  }

  /**
   * Limits for a nested call that leave enough of this transaction: whatever it uses up, its failure can be written down and the run go on.
   * @param loops how many loops the run is in.
   */
  async limits(loops: number): Promise<TransactionLimits> {
    const room = this.#hasChildren ? roomAfterChildren(loops) : ROOM_TO_COMPLETE;
    return await leaveRoom(this.ctx, room);
  }
}

/** Names a value. */
export function keyOf({ stage, pass = [], children, loop, cause }: Value): string {
  const aspect = children ? "children" : loop ? "loop" : cause ? "cause" : "output";
  return `${stage} ${pass.join(".")} ${aspect}`;
}
