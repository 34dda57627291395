import { installTimers } from "@stepwise/testing";
import * as core from "@stepwise/workpool/core";
import { isDeepStrictEqual } from "node:util";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { randomOf } from "../../packages/codegen/test/fuzz/mutate.js";
import { generated } from "./generator.js";
import { brokenOf, INVARIANTS } from "./invariants.js";
import { RandomReleases, seedsOf } from "./releases.js";
import { MANAGE } from "./manage.js";
import { scriptOf, type Turn } from "./script.js";
import { SteeredApp } from "./steering.js";

/** More of them, and others: `FUZZ_ROUNDS=2000 FUZZ_SEED=100 npx vitest run steered`. */
const seeds = seedsOf(10);
const releases = new RandomReleases(seeds, { "manage.ts": MANAGE });

/**
 * Says whether the component finds, here and there, that its transaction has no more room: then it
 * goes on in pages.
 */
const scarce = { isFull: (): boolean => false };

beforeEach(() => {
  const { hasRoom } = core;
  vi.spyOn(core, "hasRoom").mockImplementation(
    async (...given) => !scarce.isFull() && (await hasRoom(...given)),
  );
  // What is made to fail says so.
  vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  vi.restoreAllMocks();
});
afterAll(async () => {
  await releases.remove();
});

/** What is broken when a script has been played. */
async function played(seed: number, script: readonly Turn[]) {
  const { version, workflows } = await releases.of(seed);
  const names = Object.keys(workflows).filter((name) => /^w\d+/.exec(name)?.[0] === `w${seed}`);
  // One by one, so that something may be done between two that are due at the same instant.
  const timers = installTimers();
  const random = randomOf(11 * seed);
  const isPaged = random() < 0.4;
  scarce.isFull = () => isPaged && random() < 0.3;
  // As if others had committed while a transaction went on.
  const late = randomOf(13 * seed);
  const mostLate = late() < 0.5 ? 12 : 0;
  const lag = () => Math.round(late() * mostLate);
  try {
    const steered = await SteeredApp.of(version, { workflows, names, timers, isPaged, lag });
    const midway = await steered.play(script);
    const broken = brokenOf(await steered.rest());
    const left = midway.length + Object.keys(broken).length > 0 ? {} : await steered.removeAll();
    return { broken: { midway, ...broken, left }, history: steered.history };
  } finally {
    timers.uninstall();
  }
}

const SOUND = { midway: [], left: {} };

/** As much less of a script as is still broken in the same way. */
async function shrunk(seed: number, script: readonly Turn[]): Promise<readonly Turn[]> {
  const kindsOf = async (some: readonly Turn[]) => {
    const { broken } = await played(seed, some).catch((error: unknown) => ({
      broken: { [String(error)]: 1 },
    }));
    return Object.entries(broken)
      .filter(([, what]) => Object.keys(what).length > 0)
      .map(([says]) => says);
  };
  const wanted = (await kindsOf(script))[0] ?? "";
  let least = script;
  for (let at = script.length - 1; at >= 0; at--) {
    const { after } = least[at]!;
    const less = least.flatMap((turn, index) =>
      index === at ? [] : [index === at + 1 ? { ...turn, after: turn.after + after } : turn],
    );
    if ((await kindsOf(less)).includes(wanted)) least = less;
  }
  return least;
}

/** Those of the invariants, and of what is looked at besides. */
const NUMBERS = [
  ...new Set(INVARIANTS.flatMap(({ says }) => says.match(/\[S\d+\]/g) ?? [])),
  ..."[S53] [S104] [S107] [S108] [S109] [S111] [S120]".split(" "),
].join(" ");

describe(`${NUMBERS} whatever is done to random workflows, what must always hold holds`, () => {
  test.each(seeds)("seed %i", { tags: ["large"] }, async (seed) => {
    const random = randomOf(7 * seed);
    const script = scriptOf(random, random() < 0.5);
    let { broken, history } = await played(seed, script);
    // So that there is less to read.
    if (!isDeepStrictEqual(broken, SOUND))
      ({ broken, history } = await played(seed, await shrunk(seed, script)));
    expect(broken, `${generated(seed).text}\n${history.join("\n")}`).toEqual(SOUND);
  });
});
