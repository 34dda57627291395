import type { GenericMutationCtx } from "convex/server";
import type { Token } from "../component/validators.js";
import { keyOf } from "./at-hand.js";
import type { Bound } from "./bound.js";

/** A node in a pass of the loops around it. */
interface Node {
  readonly stage: string;
  readonly pass?: number[];
}

/** Which nodes have their result already when a transaction of a run comes to them. */
export class Kept {
  #byRestart: ReadonlySet<string> | undefined;
  readonly #completed = new Map<string, boolean>();

  constructor(
    readonly ctx: GenericMutationCtx<any>,
    readonly own: Bound,
    readonly token: Token,
  ) {}

  /** Whether a node of the top level has kept its result when the run was restarted. Costs one nested query in a restarted run, nothing in others. */
  async byRestart(node: string): Promise<boolean> {
    const { run, generation = 1 } = this.token;
    if (generation === 1) return false;
    const { kept } = this.own.component.steering;
    const names = (this.#byRestart ??= new Set(await this.ctx.runQuery(kept, { run, generation })));
    return names.has(node);
  }

  /** Whether a deploy has moved a node behind the run's place. Costs a nested query in a run that has gone by another plan, nothing in others. */
  async byMove(node: Node): Promise<boolean> {
    const { run, plan, generation = 1 } = this.token;
    if (plan === undefined || plan === this.own.plan) return false;
    const key = keyOf(node);
    const known = this.#completed.get(key);
    if (known !== undefined) return known;
    const { isCompleted } = this.own.component.steering;
    const found = await this.ctx.runQuery(isCompleted, { run, generation, ...node });
    this.#completed.set(key, found);
    return found;
  }
}
