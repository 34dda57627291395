import { seeded } from "@stepwise/testing";
import { type App, compiled } from "./app.js";
import { type Entry, type Scenario, scenarioOf } from "./scenario.js";
import type { Conditions, PoolScenario } from "./pool-scenario.js";
import { poolSimulated } from "./pool-simulated.js";
import { type Outcome, simulated } from "./simulated.js";

/** What a problem is, without what differs from run to run. */
function kindOf(problems: readonly string[]): string {
  return (problems[0] ?? "").split(/: | was |\n/)[0]!.replaceAll(/[0-9a-z]{20,}/g, "…");
}

/** The numbers that a definition was drawn from. */
function drawsOf({ seed, profile }: Scenario): number[] {
  const draws: number[] = [];
  // The generator's own source, kept as it is read.
  const random = seeded(seed);
  scenarioOf(seed, "s256", profile, () => {
    const drawn = random();
    draws.push(drawn);
    return drawn;
  });
  return draws;
}

/** Without some of its parts: which children, deeds of a storm and conditions it needs. */
function* simpler(entry: Entry): Generator<Entry> {
  if (entry.on !== "event" || entry.does !== "storm") return;
  const half = entry.deeds.length >> 1;
  if (half === 0) return;
  yield { ...entry, deeds: entry.deeds.slice(half) };
  yield { ...entry, deeds: entry.deeds.slice(0, half) };
}

/**
 * The smallest definition and plan that fail in the same way.
 * @param plays what a scenario comes to. Default: what the simulator says.
 */
export async function shrunk(
  scenario: Scenario,
  app: App,
  problems: readonly string[],
  plays: (scenario: Scenario, app: App) => Promise<Pick<Outcome, "problems">> = simulated,
): Promise<Scenario> {
  const kind = kindOf(problems);
  const fails = async (candidate: Scenario, in_: App): Promise<boolean> =>
    kindOf((await plays(candidate, in_)).problems) === kind;
  let least = await fewerEntries(scenario, app, fails);
  // A deploy has one of a family of definitions.
  if (least.edit !== undefined) return least;
  least = await smallerDefinition(least, fails);
  return await fewerEntries(least, await compiled([least]), fails);
}

/** The smallest plan of a pool that fails in the same way. */
export async function shrunkPool(
  scenario: PoolScenario,
  problems: readonly string[],
): Promise<PoolScenario> {
  const kind = kindOf(problems);
  const fails = async (candidate: PoolScenario): Promise<boolean> =>
    kindOf((await poolSimulated(candidate)).problems) === kind;
  let least = await fewerConditions(scenario, fails);
  for (let at = scenario.plan.length - 1; at >= 0; at -= 1) {
    const less = { ...least, plan: least.plan.toSpliced(at, 1) };
    if (await fails(less)) least = less;
  }
  return least;
}

async function fewerConditions<Of extends Conditions>(
  scenario: Of,
  fails: (candidate: Of) => Promise<boolean>,
): Promise<Of> {
  let least = scenario;
  for (const condition of ["staleLag", "throttle", "fullOfTen"] as const) {
    const without = { ...least, [condition]: undefined };
    if (least[condition] !== undefined && (await fails(without))) least = without;
  }
  return least;
}

type Fails = (candidate: Scenario, app: App) => Promise<boolean>;

async function fewerEntries(scenario: Scenario, app: App, fails: Fails): Promise<Scenario> {
  let { plan } = scenario;
  const least = await fewerConditions(scenario, (candidate) => fails(candidate, app));
  for (let at = plan.length - 1; at >= 0; at -= 1) {
    const less: readonly Entry[] = plan.toSpliced(at, 1);
    // Without any it would be held against the interpreter instead.
    if (less.length === 0 || !(await fails({ ...least, plan: less }, app))) continue;
    plan = less;
  }
  for (let at = 0; at < plan.length;) {
    let smaller: readonly Entry[] | undefined;
    for (const entry of simpler(plan[at]!)) {
      const less = plan.with(at, entry);
      if (smaller === undefined && (await fails({ ...least, plan: less }, app))) smaller = less;
    }
    if (smaller === undefined) at += 1;
    else plan = smaller;
  }
  return { ...least, plan };
}

const AT_ONCE = 16;

/** Leaves out, and makes smaller, numbers that the definition was drawn from. */
async function smallerDefinition(scenario: Scenario, fails: Fails): Promise<Scenario> {
  let draws = drawsOf(scenario);
  let least = scenario;
  const of = (numbers: readonly number[]): Scenario => {
    let next = 0;
    const { definition, top } = scenarioOf(
      scenario.seed,
      scenario.class,
      scenario.profile,
      () => numbers[next++] ?? 0,
    );
    return { ...scenario, definition, top };
  };
  for (let size = draws.length >> 1; size >= 1; size >>= 1) {
    for (let from = 0; from < draws.length;) {
      const candidates: { numbers: number[]; scenario: Scenario; after: number }[] = [];
      for (let at = from; at < draws.length && candidates.length < AT_ONCE; at += size)
        for (const numbers of [
          draws.toSpliced(at, size),
          draws.map((drawn, index) => (index >= at && index < at + size ? 0 : drawn)),
        ])
          candidates.push({ numbers, scenario: of(numbers), after: at });
      const found = await firstThatFails(
        candidates.filter(
          ({ scenario: { definition } }) => definition.length < least.definition.length,
        ),
        fails,
      );
      if (found === undefined) from += (AT_ONCE / 2) * size;
      else {
        draws = found.numbers;
        least = found.scenario;
        from = found.after;
      }
    }
  }
  return least;
}

async function firstThatFails<Each extends { scenario: Scenario }>(
  candidates: readonly Each[],
  fails: Fails,
): Promise<Each | undefined> {
  for (const candidate of candidates) {
    const app = await compiled([candidate.scenario]).catch(() => undefined);
    if (app !== undefined && (await fails(candidate.scenario, app))) return candidate;
  }
  return undefined;
}

/** A scenario as a test to be pasted. */
export function asTest({ definition, ...scenario }: Scenario, problems: readonly string[]): string {
  return `test("${kindOf(problems).replaceAll('"', "'")}", async () => {
  const definition = ${"`"}${definition.replaceAll("`", "\\`")}${"`"};
  const { problems, history } = await simulated({ definition, ...${JSON.stringify(scenario, undefined, 2)} });
  expect(problems, history.join("\\n")).toEqual([]);
});`;
}
