/** What a seed decides. */
export class Choice {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed * 2_654_435_761) >>> 0;
    for (let turn = 0; turn < 8; turn++) this.#next();
  }

  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from 0 to below `count`. */
  upTo(count: number): number {
    return Math.floor(this.#next() * count);
  }

  chance(share: number): boolean {
    return this.#next() < share;
  }

  oneOf<Item>(items: readonly Item[]): Item {
    return items[this.upTo(items.length)]!;
  }
}
