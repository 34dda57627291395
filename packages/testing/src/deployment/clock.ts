import type { Timers } from "../timers.js";

interface Event {
  readonly at: number;
  /** Events at the same instant come in the order in which they were made. */
  readonly order: number;
  /** Which life of the backend it belongs to; none for what comes from outside. */
  readonly life: number | undefined;
  readonly run: () => void;
  isCanceled: boolean;
}

/** What was set, to be taken back. */
export type Timer = Pick<Event, "isCanceled">;

/** Virtual time: what is to happen, in its order. */
export class Clock implements Timers {
  readonly #heap: Event[] = [];
  #now: number;
  #order = 0;
  #life = 0;

  /** @param begins where it starts, in ms since the epoch. */
  constructor(begins: number) {
    this.#now = begins;
  }

  now(): number {
    return this.#now;
  }

  /** Sets a timer of the backend's current life: a crash removes it. */
  after(ms: number, run: () => void): Timer {
    return this.#push(this.#now + Math.max(0, ms), this.#life, run);
  }

  /** Sets a timer outside of the backend, for a time in ms since the epoch. */
  at(time: number, run: () => void): void {
    this.#push(Math.max(time, this.#now), undefined, run);
  }

  async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => this.after(ms, resolve));
  }

  /** All that the backend was about to do is gone. */
  crash(): void {
    this.#life += 1;
  }

  nextTimer(): boolean {
    for (;;) {
      const event = this.#pop();
      if (event === undefined) return false;
      if (event.isCanceled || (event.life ?? this.#life) !== this.#life) continue;
      this.#now = event.at;
      event.run();
      return true;
    }
  }

  #push(at: number, life: number | undefined, run: () => void): Event {
    const heap = this.#heap;
    const event: Event = { at, order: this.#order++, life, run, isCanceled: false };
    let place = heap.length;
    for (; place > 0;) {
      const parent = (place - 1) >> 1;
      if (isBefore(heap[parent]!, event)) break;
      heap[place] = heap[parent]!;
      place = parent;
    }
    heap[place] = event;
    return event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const [first] = heap;
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (isBefore(last, heap[child]!)) break;
      heap[place] = heap[child]!;
      place = child;
    }
    heap[place] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
