import type { Deployment } from "@stepwise/testing";

/** A transaction commits up to so long after its time. */
export const LATE_MS = 60;

/** Knows when the clock was moved, from looks at it after each commit. */
export class ClockMoves {
  /** How far it has been moved, and when that was seen, by a clock that is not. */
  #moved: { readonly by: number; readonly at: number } | undefined;

  constructor(readonly deployment: Deployment) {}

  /** A transaction that had begun when the clock was moved has another time than its commit. */
  isMoving(): boolean {
    const now = this.deployment.clock.now();
    const by = Math.round(this.deployment.wall() - now);
    if (this.#moved?.by !== by)
      this.#moved = { by, at: this.#moved === undefined ? -Infinity : now };
    return now <= this.#moved.at + LATE_MS;
  }
}
