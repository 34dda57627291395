/**
 * What two things may be apart, in ms, and yet be told apart: the scheduler takes some time of its
 * own.
 */
export const TOLERANCE_MS = 200;

/** Something that happened because a time had come, and to whom. */
interface Move {
  readonly at: number;
  readonly owner: string;
}

/** What the runs of one interpretation share: time, which is virtual, and the log of effects. */
export class World {
  readonly log: string[] = [];
  /** How many actions of an `onEnd` are under way. */
  ending = 0;
  /** How much was completed that can be undone. */
  completed = 0;
  readonly #moves: Move[] = [];

  readonly #released = new Map<number, string>();
  #isUnsure = false;

  /** @param toleranceMs what two things may be apart and yet come in either order. */
  constructor(readonly toleranceMs = TOLERANCE_MS) {}

  /** Something happened of which the promises do not say how it comes out. */
  unsure(): void {
    this.#isUnsure = true;
  }

  /**
   * Somebody goes on who was held. Where others are too, at the same moment, either may come first.
   */
  released(owner: string): void {
    const now = Date.now();
    if ((this.#released.get(now) ?? owner) !== owner) this.unsure();
    this.#released.set(now, owner);
  }

  /** Time went by for somebody. */
  moved(owner: string): void {
    this.#moves.push({ at: Date.now(), owner });
  }

  /** Waits. A wait of no time is none. @param variesMs how much longer or shorter it may be. */
  async wait(owner: string, ms: number, variesMs = 0): Promise<void> {
    // Several of them may come together.
    if (variesMs > this.toleranceMs / 8) this.unsure();
    if (ms <= 0) return;
    await new Promise<void>((resolve) => setTimeout(resolve, ms));
    this.moved(owner);
  }

  /** Calls a function when the time has come. @returns what calls that off. */
  after(owner: string, ms: number, call: () => void): () => void {
    const timer = setTimeout(() => {
      this.moved(owner);
      call();
    }, ms);
    return () => clearTimeout(timer);
  }

  /**
   * Says whether two things that have nothing to do with each other happened so close that either
   * may come first.
   */
  get isAmbiguous(): boolean {
    if (this.#isUnsure) return true;
    const moves = this.#moves.toSorted((one, other) => one.at - other.at);
    return moves.some(({ at, owner }, index) => {
      const next = moves[index + 1];
      return next !== undefined && next.owner !== owner && next.at - at < this.toleranceMs;
    });
  }
}
