/** Ms without a further change after which a burst of them is over. A save is several: truncated, written, renamed, touched. */
const quietMs = 10;

/**
 * Turns changes into rounds of work: one round for a burst of changes, one at a time, and never none for the last of them.
 */
export class Rounds {
  readonly #work: (firstChangeAt: number) => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #firstChangeAt: number | undefined;
  #running = false;
  #closed = false;

  /** @param work gets the time (by `performance.now()`) of the first change of the burst; must not reject */
  constructor(work: (firstChangeAt: number) => Promise<void>) {
    this.#work = work;
  }

  /** The first round, at once. */
  async start(): Promise<void> {
    await this.#round();
  }

  changed(): void {
    if (this.#closed) return;
    this.#firstChangeAt ??= performance.now();
    clearTimeout(this.#timer);
    if (!this.#running) this.#timer = setTimeout(() => void this.#round(), quietMs);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async #round(): Promise<void> {
    const firstChangeAt = this.#firstChangeAt ?? performance.now();
    this.#firstChangeAt = undefined;
    this.#running = true;
    await this.#work(firstChangeAt);
    this.#running = false;
    // What changed meanwhile may have been read before or after it did.
    if (this.#firstChangeAt !== undefined) this.changed();
  }
}
