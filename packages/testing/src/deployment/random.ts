const { imul } = Math;

/** Numbers from 0 to 1 that look random, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** From a to b. */
export type Span = readonly [number, number];

/**
 * What a deployment draws. Each kind has numbers of its own, so that one more of one does not
 * change all others.
 */
export class Draws {
  readonly #time: () => number;
  readonly #jitter: () => number;
  readonly #id: () => number;
  /** `Math.random` of the functions. */
  readonly user: () => number;

  constructor(seed: number) {
    this.#time = seeded(seed);
    this.#jitter = seeded(seed + 0x1000_0000);
    this.#id = seeded(seed + 0x2000_0000);
    this.user = seeded(seed + 0x3000_0000);
  }

  within([from, to]: Span): number {
    return from + this.#time() * (to - from);
  }

  /** [B20] A pause with full jitter. */
  backoff(initialMs: number, mostMs: number, failures: number): number {
    return Math.min(initialMs * 2 ** failures, mostMs) * this.#jitter();
  }

  /** A document's id: 27 letters and digits, and the number of its table. */
  id(table: number): string {
    let id = "";
    for (let part = 0; part < 3; part += 1)
      id += Math.floor(this.#id() * 2 ** 32)
        .toString(32)
        .padStart(7, "0");
    return `${id}${table.toString(32).padStart(6, "0")}`;
  }
}

/** The number of the table that a document's id names. */
export function tableNumberOf(id: string): number {
  return Number.parseInt(id.slice(-6), 32);
}
