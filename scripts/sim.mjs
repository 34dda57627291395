// Random workflows on a simulated deployment, with faults: `npm run sim -- --seeds 1000 --from 1
// --class s16 --profile steer`. Ends with 1 if a seed fails.
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { bundleSimulator, playSeeds } from "./simulator.mjs";

const options = {
  seeds: { type: "string", default: "100" },
  from: { type: "string", default: "1" },
  class: { type: "string", default: "s16" },
  /** wide, steer, deploy, restore, limits, pool or scenes. Default: each seed has one, or none. */
  profile: { type: "string", default: "mixed" },
  shrink: { type: "string", default: "true" },
  processes: { type: "string", default: String(availableParallelism()) },
};
const { values } = parseArgs({ options });
const [wanted, from, processes] = [values.seeds, values.from, values.processes].map(Number);
const began = Date.now();
const { outfile, remove } = await bundleSimulator();
const print = (line) => process.stdout.write(`${line}\n`);
let told;
try {
  told = await playSeeds(outfile, { ...values, seeds: wanted, from, processes, print });
} finally {
  remove();
}
const { seeds, failed, events, compared, givenUp } = told;
print(
  `${seeds} seeds on ${values.class}, ${values.profile}, from ${from}: ${failed} failed; ${compared} compared with the interpreter, ${givenUp} took too long, ${events} events, ${((Date.now() - began) / 1_000).toFixed(0)} s`,
);
process.exitCode = failed === 0 && seeds === wanted ? 0 : 1;
