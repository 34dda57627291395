import type { WrittenPlan } from "../plan/schema.js";

/** Ms without a change after which `convex dev` pushes. */
const quietMs = 500;
/** Ms that such a push may take to read the files, with what it does before. */
const pushMs = 10_000;

/**
 * Which of the plans that a watching compiler writes `convex dev` may have deployed. A plan may if it
 * was on the disk for as long as `convex dev` waits, or at all while a push may be under way: ten
 * seconds after such a plan and after the beginning. Other names were only there while somebody typed.
 */
export class Deployable {
  /** The one on the disk, while it is not known whether it counts. */
  #last: { readonly plan: WrittenPlan; readonly at: number } | undefined;
  #pushUntil: number;
  #plans: readonly WrittenPlan[];

  /** @param plans those that were on the disk before */
  constructor(
    plans: readonly WrittenPlan[],
    private readonly now: () => number = () => Date.now(),
  ) {
    this.#plans = plans;
    this.#pushUntil = now() + pushMs;
  }

  /** What may have been deployed by now. The tombstones of a plan stand for the plans before it. */
  get plans(): readonly WrittenPlan[] {
    if (this.#last === undefined) return this.#plans;
    const { plan, at } = this.#last;
    const pushedAt = at + quietMs;
    if (this.now() >= pushedAt) this.#pushUntil = Math.max(this.#pushUntil, pushedAt + pushMs);
    else if (at >= this.#pushUntil) return this.#plans;
    this.#last = undefined;
    this.#plans = [plan];
    return this.#plans;
  }

  /** A plan was written just now, made with regard to `plans`. */
  wrote(plan: WrittenPlan): void {
    this.#last = { plan, at: this.now() };
  }
}
