/**
 * Makes `Math.random` give numbers that are the same for the same seed (mulberry32). Returns a function that ends this.
 */
export function seedRandom(seed: number): () => void {
  const own = Math.random;
  let state = seed | 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => {
    Math.random = own;
  };
}
