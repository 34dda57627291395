import type { GenericMutationCtx } from "convex/server";
import type { Token } from "../component/validators.js";
import { keyOf } from "./at-hand.js";
import type { Bound } from "./bound.js";
import { topLevelOf } from "./place.js";

/** Which stages have their result already when a transaction of a run comes to them. */
export class Kept {
  #byRestart: ReadonlySet<string> | undefined;
  readonly #completed = new Map<string, boolean>();

  constructor(
    readonly ctx: GenericMutationCtx<any>,
    readonly own: Bound,
    readonly token: Token,
  ) {}

  /** Whether the stage's node has kept its result when the run was restarted. Costs one nested query in a restarted run, nothing in others. */
  async byRestart(stage: string): Promise<boolean> {
    const { run, generation = 1 } = this.token;
    if (generation === 1) return false;
    const { kept } = this.own.component.steering;
    this.#byRestart ??= new Set(await this.ctx.runQuery(kept, { run, generation }));
    return this.#byRestart.has(topLevelOf(stage));
  }

  /** Whether a deploy has moved the stage behind the run's place. Costs a nested query in a run that began under another plan, nothing in others. */
  async byMove(record: { stage: string; pass?: number[]; was?: string[] }): Promise<boolean> {
    const { run, plan } = this.token;
    if (plan === undefined || plan === this.own.plan) return false;
    const key = keyOf(record);
    const { isCompleted } = this.own.component.steering;
    const is =
      this.#completed.get(key) ?? (await this.ctx.runQuery(isCompleted, { run, ...record }));
    this.#completed.set(key, is);
    return is;
  }
}
