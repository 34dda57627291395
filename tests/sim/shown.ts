import type { Deployment } from "@stepwise/testing";

/** A stale snapshot lacks at most so many commits, of those before its transaction began … */
const MOST_LACKED = 12;
/** … which was so long ago at the most. */
const TRANSACTION_MS = 2_000;

/** Numbers commits, and says which of them any snapshot shows that a commit was made by. */
export class Shown {
  commit = 0;
  /** Up to this one all are shown. */
  upTo = 0;
  /** When each of the last ones was. */
  readonly #recent: number[] = [];

  constructor(readonly deployment: Deployment) {}

  /** There is another one. */
  next(): void {
    this.commit += 1;
    const now = this.deployment.clock.now();
    this.#recent.push(now);
    while (this.#recent[0]! < now - TRANSACTION_MS) this.#recent.shift();
    this.upTo = this.commit - this.#recent.length - MOST_LACKED;
  }
}
