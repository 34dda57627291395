import type { Clock, Timer } from "./clock.js";

interface Waiter {
  readonly grant: (granted: boolean) => void;
  timer?: Timer;
  isGone: boolean;
}

/** [47] [48] Lets this many run at once; later ones wait in line. */
export class Permits {
  #free: number;
  #line: Waiter[] = [];

  constructor(
    readonly count: number,
    readonly clock: Clock,
  ) {
    this.#free = count;
  }

  /** @returns whether there was one in time. */
  async acquire(mostMs = Infinity): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1;
      return true;
    }
    return await new Promise<boolean>((resolve) => {
      const waiter: Waiter = { grant: resolve, isGone: false };
      this.#line.push(waiter);
      if (mostMs === Infinity) return;
      waiter.timer = this.clock.after(mostMs, () => {
        waiter.isGone = true;
        resolve(false);
      });
    });
  }

  release(): void {
    for (let next = this.#line.shift(); next !== undefined; next = this.#line.shift()) {
      if (next.isGone) continue;
      if (next.timer !== undefined) next.timer.isCanceled = true;
      next.grant(true);
      return;
    }
    this.#free += 1;
  }

  /** Nobody holds one any more, nor waits. */
  crash(): void {
    this.#free = this.count;
    this.#line = [];
  }
}
