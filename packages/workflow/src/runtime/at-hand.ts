import { leaveRoom, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import type { TransactionLimits } from "convex/server";
import type { Value } from "convex/values";
import type { Starting } from "../component/protocol.js";
import type { Read, Token } from "../component/validators.js";
import type { MutationCtx } from "../definition/context.js";
import { copied } from "../values.js";
import type { Budget } from "./budget.js";
import type { Bound } from "./functions.js";
import { type Place, placeOf } from "./place.js";
import type { Reads } from "./named.js";
import { readableScope, readsOf } from "./reads.js";

const MIB = 1 << 20;

/** A value that is read by name: a stage's output, or another aspect of it. */
type Aspect = Pick<Read, "stage" | "iterations" | "children" | "loop" | "cause" | "ended" | "up">;

export function keyOf({ stage, iterations = [], up = 0, ...of }: Aspect): string {
  const ofRun = of.cause ? "cause" : of.ended ? "ended" : "output";
  const aspect = of.children ? "children" : of.loop ? "loop" : ofRun;
  return `${stage} ${iterations.join(".")} ${aspect} ${up}`;
}

export interface TransactionOptions {
  readonly slot?: string | undefined;
  /** Says whether it was scheduled, so that it is nobody's call. Default: false. */
  readonly scheduled?: boolean;
  /**
   * Says whether stages that follow may run in it; if it then fails, it is called again without.
   */
  readonly fuse: boolean;
  /** Says whether the keys of the stage's limits are made already. Default: false. */
  readonly hasKeys?: boolean | undefined;
  /** Says whether the stage waits already, and has its time. Default: false. */
  readonly hasTime?: boolean | undefined;
  /** What the stage reads, by name, if that came with the call. */
  readonly scope?: Readonly<Record<string, unknown>> | null;
  /** Set if the parent's transaction starts the run, which shares it with others. */
  readonly starting?: Starting | undefined;
  /** Set if the transaction has ended the run, and this is its `onEnd`. */
  readonly ending?: boolean | undefined;
  /** What is left to a transaction that goes on. Default: all. */
  readonly budget?: Budget | undefined;
}

/** What a transaction of a run has at hand. Everything else is loaded when it is read. */
export abstract class AtHand {
  readonly #values = new Map<string, unknown>();
  readonly #completed = new Map<string, boolean>();
  #retained: readonly string[] | undefined;
  #hasChildren = false;
  /** The iterations of the loops that the run is in, outermost first. */
  iterations: readonly number[];

  constructor(
    readonly ctx: MutationCtx,
    readonly own: Bound,
    readonly token: Token,
    /** The stage that the token names. */
    readonly stage: string,
    readonly options: TransactionOptions,
  ) {
    this.iterations = token.iterations ?? [];
  }

  /** Says whether this is where the transaction came in: nothing has happened in it yet. */
  abstract isArrivalAt(stage: string): boolean;

  place(stage: string): Place {
    return placeOf(this.own.definition, stage);
  }

  /** A stage and the iterations of the loops around it. */
  at(stage: string): { stage: string; iterations?: number[] } {
    const depth = this.place(stage).loops.length;
    return depth === 0 ? { stage } : { stage, iterations: this.iterations.slice(0, depth) };
  }

  /** Has later stages see a value where they read the stage. */
  know(stage: string, output: unknown, aspect?: "loop" | "children"): void {
    const where = this.at(stage);
    const key = keyOf(aspect === undefined ? where : { ...where, [aspect]: true });
    this.#values.set(key, output);
  }

  async scope(stage: string, names?: Reads): Promise<Record<string, unknown>> {
    const reads = readsOf(this.own, stage, this.iterations, names);
    const { scope } = this.options;
    if (scope && this.isArrivalAt(stage))
      for (const read of reads)
        if (read.name in scope) this.#values.set(keyOf(read), scope[read.name]);
    return await this.#read(reads);
  }

  /** A copy of it for a function of the definition. @param name as messages call the function. */
  async scopeFor(stage: string, name: string, names?: Reads): Promise<never> {
    const scope = await this.scope(stage, names);
    const values = Object.entries(scope).map(([key, value]) => [key, copied(value)]);
    return readableScope(this.own, stage, name, Object.fromEntries(values), names) as never;
  }

  /** The output of a stage of the present iteration; null if there is no stage. */
  async outputOf(stage: string | null): Promise<Value> {
    if (stage === null) return null;
    const { output } = await this.#read([{ name: "output", ...this.at(this.place(stage).record) }]);
    return (output ?? null) as Value;
  }

  async #read(reads: readonly Read[]): Promise<Record<string, unknown>> {
    const missing = reads.filter((read) => !this.#values.has(keyOf(read)));
    if (missing.length > 0) {
      if (missing.some(({ children }) => children)) this.#hasChildren = true;
      const transactionLimits = await this.limits();
      const { load } = this.own.component.lib;
      const args = { run: this.token.run, reads: missing, most: transactionLimits.bytesRead };
      const loaded = await this.ctx.runQuery(load, args, { transactionLimits });
      for (const read of missing) this.#values.set(keyOf(read), loaded[read.name]);
    }
    return Object.fromEntries(reads.map((read) => [read.name, this.#values.get(keyOf(read))]));
  }

  /**
   * Limits for a nested call that leave enough to record its failure and go on; after children,
   * also for the state of each loop, of 1 MB.
   */
  async limits(): Promise<TransactionLimits> {
    const bytesRead = (2.5 + 2 * this.iterations.length) * MIB;
    const room = this.#hasChildren ? { ...ROOM_TO_COMPLETE, bytesRead } : ROOM_TO_COMPLETE;
    return await leaveRoom(this.ctx, room);
  }

  /**
   * Says whether the stage has its result already, so that the run only goes on: a restart has
   * retained it, or a deploy has moved it behind the run's place. Only after these it costs a query.
   */
  async hasResult(stage: string): Promise<boolean> {
    const { run, plan, generation = 1 } = this.token;
    const isDeployed = plan !== undefined && plan !== this.own.plan;
    if (generation === 1 && !isDeployed) return false;
    const { path, part, sequences } = this.place(stage);
    if (part === "compensate") return false;
    const { retained, isCompleted } = this.own.component.steering;
    if (generation > 1) {
      this.#retained ??= await this.ctx.runQuery(retained, { run, generation });
      if (this.#retained.includes(sequences[0]?.at ?? path)) return true;
    }
    // Where the run came in, it has something to do.
    if (!isDeployed || this.isArrivalAt(stage)) return false;
    const node = this.at(path);
    const key = keyOf(node);
    const found =
      this.#completed.get(key) ??
      (await this.ctx.runQuery(isCompleted, { run, generation, ...node }));
    this.#completed.set(key, found);
    return found;
  }
}
