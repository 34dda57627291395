import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Releases, type Files, type Version } from "../edits/deployed.js";
import { randomOf } from "../fuzz/mutate.js";
import { generated } from "./generator.js";
import type { Workflows } from "./interpreter.js";
import { actual, comparable, expected, leftovers, NOTHING_LEFT, type Script } from "./runs.js";

/** More of them, and others: `FUZZ_ROUNDS=2000 FUZZ_SEED=100 npx vitest run --root packages/codegen differential`. */
const rounds = Number(process.env["FUZZ_ROUNDS"] ?? 24);
const firstSeed = Number(process.env["FUZZ_SEED"] ?? 1);
const seeds = Array.from({ length: rounds }, (_, index) => firstSeed + index);

/** So many workflows are compiled and bundled together. */
const BATCH = 100;

const MOST_EFFECTS = 150;

interface Released {
  readonly version: Version;
  readonly workflows: Workflows;
}

const releases = new Releases();
const released = new Map<number, Promise<Released>>();

/** The release that a seed's workflow is in. */
async function releaseOf(seed: number): Promise<Released> {
  const batch = Math.floor((seed - firstSeed) / BATCH);
  const made = released.get(batch) ?? release(seeds.slice(batch * BATCH, (batch + 1) * BATCH));
  released.set(batch, made);
  return await made;
}

async function release(some: readonly number[]): Promise<Released> {
  const behaviour = await readFile(new URL("behaviour.ts", import.meta.url), "utf8");
  const files: Files = Object.fromEntries([
    ["behaviour.ts", behaviour],
    ...some.map(generated).map(({ file, text }) => [file, text]),
  ]);
  const version = await releases.release(files);
  const index = await version.modules["./convex/_workflows/index.js"]!();
  return { version, workflows: (index as { workflows: Workflows }).workflows };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  await releases.remove();
});

/** Runs a workflow both ways. */
async function compare(seed: number, script: Script): Promise<{ tookMs: number }> {
  const { file, text, top } = generated(seed);
  const { version, workflows } = await releaseOf(seed);
  const told = await expected(workflows, top, script);
  // It would take long, and say nothing that smaller ones do not.
  if (told.effects.length > MOST_EFFECTS) return { tookMs: told.tookMs };
  const { app, ...seen } = await actual(version, top, script);
  const context = `${file}, ${JSON.stringify(script)}:\n${text}`;
  expect(await leftovers(app), context).toEqual(NOTHING_LEFT);
  const { tookMs, isAmbiguous, ...comes } = told;
  if (isAmbiguous) return { tookMs };
  const { error } = comes;
  expect({ ...seen, error: comparable(seen.error, error) }, context).toEqual({
    ...comes,
    error: comparable(error, error),
  });
  return { tookMs };
}

describe("random workflows come to what an interpreter of their definitions comes to", () => {
  test.each(seeds)("seed %i", async (seed) => {
    vi.useRealTimers();
    await releaseOf(seed);
    vi.useFakeTimers();
    const random = randomOf(-seed);
    const { tookMs } = await compare(seed, []);
    const at = Math.floor(random() * (tookMs + 1));
    await compare(seed, [{ at, cancels: true }]);
  });
});
