/** Ms without a change that end a burst. A save is several changes: truncated, written, renamed, touched. */
const quietMs = 10;

/** Turns changes into rounds of work: one round for a burst, one at a time, never none for the last change. */
export class Rounds {
  #timer: NodeJS.Timeout | undefined;
  #firstChangeAt: number | undefined;
  #running = false;
  #closed = false;

  /** @param work gets the time (by `performance.now()`) of the first change of the burst; must not reject */
  constructor(private readonly work: (firstChangeAt: number) => Promise<void>) {}

  changed(): void {
    if (this.#closed) return;
    this.#firstChangeAt ??= performance.now();
    clearTimeout(this.#timer);
    if (!this.#running) this.#timer = setTimeout(() => void this.start(), quietMs);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
  }

  async start(): Promise<void> {
    const firstChangeAt = this.#firstChangeAt ?? performance.now();
    this.#firstChangeAt = undefined;
    this.#running = true;
    await this.work(firstChangeAt);
    this.#running = false;
    // What changed meanwhile may have been read before or after it did.
    if (this.#firstChangeAt !== undefined) this.changed();
  }
}
