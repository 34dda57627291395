import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { randomOf } from "../../packages/codegen/test/fuzz/mutate.js";
import { generated } from "./generator.js";
import type { Workflows } from "./definition.js";
import { RandomReleases, seedsOf } from "./releases.js";
import {
  actual,
  comparable,
  comparableOutput,
  expected,
  leftovers,
  NOTHING_LEFT,
  type Script,
} from "./runs.js";
import { eventsIn } from "./events-in.js";
import { MANAGE } from "./manage.js";
import { TOLERANCE_MS } from "./world.js";

/** More of them, and others: `FUZZ_ROUNDS=2000 FUZZ_SEED=100 npx vitest run differential.test`. */
const seeds = seedsOf(8);
const releases = new RandomReleases(seeds, { "manage.ts": MANAGE });

const MOST_EFFECTS = 250;

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
  const { version, workflows } = await releases.of(seed);
  const told = await expected(workflows, top, script);
  // It would take long, and say nothing that smaller ones do not.
  if (told.effects.length > MOST_EFFECTS) return { tookMs: told.tookMs };
  const { app, times, ...seen } = await actual(version, top, script);
  const context = `${file}, ${JSON.stringify(script)}:\n${text}`;
  expect(await leftovers(app), context).toEqual(NOTHING_LEFT);
  const { tookMs, isAmbiguous, times: dueTimes, ...comes } = told;
  if (isAmbiguous) return { tookMs };
  const { error, output } = comes;
  const asFarAsTold = (outcome: Pick<typeof comes, "error" | "output">) => ({
    error: comparable(outcome.error, error),
    output: comparableOutput(outcome.output, output),
  });
  expect({ ...seen, ...asFarAsTold(seen) }, context).toEqual({ ...comes, ...asFarAsTold(comes) });
  const late = times.map((at, index) => Math.abs(at - (dueTimes[index] ?? 0)));
  expect(Math.max(0, ...late), context).toBeLessThan(TOLERANCE_MS);
  return { tookMs };
}

/** A few things that are done to a run that takes so long: in the order of time. */
function scriptOf(random: () => number, workflows: Workflows, top: string, tookMs: number): Script {
  const at = () => (random() < 0.1 ? 0 : Math.floor(random() * (tookMs + 1)));
  const nodes = Object.keys(workflows[top]?.definition.nodes ?? {});
  const restart = (when: number): Script[number] => {
    const from = nodes[Math.floor(random() * nodes.length)];
    return { at: when, does: "restart", ...(random() < 0.3 || from === undefined ? {} : { from }) };
  };
  const events = eventsIn(workflows[top]?.definition.nodes ?? {});
  const event = () => events[Math.floor(random() * events.length)] ?? "ping";
  const some: (() => Script)[] = [
    () => [{ at: at(), does: "cancel" }],
    () => [{ at: at(), does: "repair" }],
    () => {
      const paused = at();
      const ms = Math.floor(random() * 4_000_000);
      const restarts = random() < 0.2 ? [restart(paused + ms + 1)] : [];
      return [{ at: paused, does: "pause" }, { at: paused + ms, does: "resume" }, ...restarts];
    },
    () => [restart(Math.floor((0.7 + random()) * tookMs))],
    () => [restart(at()), restart(Math.floor((1 + random()) * tookMs))],
    () => {
      const sent = { event: event(), value: random() < 0.9 ? `sent ${random()}` : 7 };
      return random() < 0.7
        ? [{ at: at(), ...sent }]
        : [
            { at: at(), ...sent },
            { at: at(), ...sent },
          ];
    },
  ];
  const count = 1 + Math.floor(random() * 4);
  const script = Array.from({ length: count }, () => some[Math.floor(random() * some.length)]!());
  return script.flat().toSorted((one, other) => one.at - other.at);
}

/** Those that the interpreter names. */
const NUMBERS =
  "[S17] [S19] [S20] [S22] [S25] [S31] [S33] [S34] [S35] [S38] [S41] [S43] [S48] [S49] [S50] [S53] [S61] [S63] [S66] [S69] [S70] [S71] [S72] [S73] [S74] [S76] [S78] [S82] [S83] [S84] [S87] [S90] [S91] [S92] [S93] [S94] [S95] [S102] [S103] [S120] [S129] [S134] [S153] [S154] [S155] [S160] [S161] [S162] [S163] [S170] [S171] [S172]";

describe(`${NUMBERS} random workflows come to what an interpreter of their definitions comes to`, () => {
  test.each(seeds)("seed %i", { tags: ["large"] }, async (seed) => {
    vi.useRealTimers();
    const { workflows } = await releases.of(seed);
    vi.useFakeTimers();
    const { tookMs } = await compare(seed, []);
    const script = scriptOf(randomOf(-seed), workflows, generated(seed).top, tookMs);
    await compare(seed, script);
  });
});
