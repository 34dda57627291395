import { parseArgs } from "node:util";
import { compiled, removeAll } from "./app.js";
import { type Profile, profileOf, type Scenario, scenarioOf } from "./scenario.js";
import { asTest, shrunk } from "./shrink.js";
import { simulated } from "./simulated.js";

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
const BATCH = 50;
const print = (text: string) => process.stdout.write(`${text}\n`);
// The component logs what goes wrong.
for (const method of ["log", "info", "debug", "warn", "error"] as const) console[method] = () => {};

const first = Number(values.from);
const step = Number(values.step);
const end = first + Number(values.seeds);
const seeds: number[] = [];
for (let seed = first; seed < end; seed += step) seeds.push(seed);

const counts = { seeds: 0, failed: 0, events: 0, compared: 0 };
try {
  for (let from = 0; from < seeds.length; from += BATCH) {
    const scenarios = seeds.slice(from, from + BATCH).map((seed) => {
      const profile = values.profile === "mixed" ? profileOf(seed) : (values.profile as Profile);
      return scenarioOf(seed, values.class as Scenario["class"], profile);
    });
    const app = await compiled(scenarios);
    for (const scenario of scenarios) {
      const { problems, history, events, isCompared } = await simulated(scenario, app);
      counts.seeds += 1;
      counts.events += events;
      counts.compared += Number(isCompared);
      if (problems.length === 0) continue;
      counts.failed += 1;
      print(`\nseed ${scenario.seed}: ${problems.join("\n  ")}`);
      if (values.shrink === "false") print(history.map((line) => `    ${line}`).join("\n"));
      else print(asTest(await shrunk(scenario, app, problems), problems));
    }
  }
} finally {
  await removeAll();
}
print(`counts ${JSON.stringify(counts)}`);
