import type { Deployment } from "@stepwise/testing";

const DOCUMENTS = 4;
const LARGE = { text: "x".repeat(900_000) };

/**
 * Gives what uses up its transaction something to scan again and again: in most seeds bytes are
 * used up, which is soon done, and in the others the number of queries.
 */
export function plantLarge(deployment: Deployment, seed: number): void {
  if (seed % 8 === 0) return;
  for (let made = 0; made < DOCUMENTS; made += 1) deployment.plant("", "large", LARGE);
}
