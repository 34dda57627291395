import { parseArgs } from "node:util";
import { compiled, removeAll } from "./app.js";
import { type Profile, profileOf, type Scenario, scenarioOf } from "./scenario.js";
import { asTest, shrunk, shrunkPool } from "./shrink.js";
import { poolScenarioOf, type PoolScenario } from "./pool-scenario.js";
import { SCENES } from "./scenes.js";
import { poolSimulated } from "./pool-simulated.js";
import { type Outcome, simulated } from "./simulated.js";

/*
 * Plays seeds: `npm run sim -- --seeds 1000 --from 1 --class s16 [--shrink=false]`. The parent
 * process divides them among several; see scripts/sim.mjs.
 */
const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    /** Every so many-th seed is played. */
    step: { type: "string", default: "1" },
    class: { type: "string", default: "s16" },
    profile: { type: "string", default: "mixed" },
    shrink: { type: "string", default: "true" },
  },
});
/** Compiled together: a batch takes a second, and each of its seeds some 60 ms. */
const BATCH = 125;
/** The first one of a mutation, which is mostly caught by one of them. */
const FIRST_BATCH = process.env["SIM_MUTATION"] === undefined ? BATCH : 10;
const print = (text: string) => process.stdout.write(`${text}\n`);
// The component logs what goes wrong.
for (const method of ["log", "info", "debug", "warn", "error"] as const) console[method] = () => {};

const first = Number(values.from);
const step = Number(values.step);
const end = first + Number(values.seeds);
const seeds: number[] = [];
for (let seed = first; seed < end; seed += step) seeds.push(seed);

const counts = { seeds: 0, failed: 0, events: 0, compared: 0, givenUp: 0 };

function told({ problems, events, isCompared, isGivenUp }: Outcome, seed: number): boolean {
  counts.seeds += 1;
  counts.events += events;
  counts.compared += Number(isCompared);
  counts.givenUp += Number(isGivenUp);
  if (problems.length === 0) return true;
  counts.failed += 1;
  print(`\nseed ${seed}: ${problems.join("\n  ")}`);
  return false;
}

async function printPool(scenario: PoolScenario, { problems, history }: Outcome): Promise<void> {
  if (values.shrink === "false") print(history.map((line) => `    ${line}`).join("\n"));
  else print(JSON.stringify(await shrunkPool(scenario, problems), undefined, 2));
}

async function playAll(scenarios: readonly Scenario[]): Promise<void> {
  const app = await compiled(scenarios);
  for (const scenario of scenarios) {
    const outcome = await simulated(scenario, app);
    if (told(outcome, scenario.seed)) continue;
    const { problems, history } = outcome;
    if (values.shrink === "false") print(history.map((line) => `    ${line}`).join("\n"));
    else print(asTest(await shrunk(scenario, app, problems), problems));
  }
}

try {
  for (let from = 0, to = FIRST_BATCH; from < seeds.length; from = to, to += BATCH) {
    const scenarios: Scenario[] = [];
    const deploys: Scenario[] = [];
    for (const seed of seeds.slice(from, to)) {
      if (values.profile === "scenes") {
        scenarios.push(...SCENES.slice(seed - 1, seed));
        continue;
      }
      const profile = values.profile === "mixed" ? profileOf(seed) : (values.profile as Profile);
      if (profile !== "pool") {
        const scenario = scenarioOf(seed, values.class as Scenario["class"], profile);
        (profile === "deploy" ? deploys : scenarios).push(scenario);
        continue;
      }
      const scenario = poolScenarioOf(seed, values.class as Scenario["class"]);
      const outcome = await poolSimulated(scenario);
      if (!told(outcome, seed)) await printPool(scenario, outcome);
    }
    for (const some of [scenarios, deploys]) if (some.length > 0) await playAll(some);
  }
} finally {
  await removeAll();
}
print(`counts ${JSON.stringify(counts)}`);
