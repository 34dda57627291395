// Takes out one guard of the components at a time, or makes another mistake in them, and looks for
// what catches it: a seed of the simulator, or else the test that is named. `npm run mutations --
// [--list guards|mutants|constants] [--seeds 1000] [name …]`: all whose names begin so. No file is
// changed: the mutation is made while bundling. With --check it only says whether each is found in
// the sources.
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { CONSTANTS, problemsOfConstants } from "./constants.mjs";
import { isWellFormed, markedGuards, placesOf, tabledRaces } from "./guards.mjs";
import { GUARDS, MUTANTS } from "./mutants.mjs";
import { failsWith } from "./named-test.mjs";
import { bundleSimulator, playSeeds } from "./simulator.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: "string", default: "guards" },
    seeds: { type: "string", default: "1000" },
    processes: { type: "string", default: String(availableParallelism()) },
    check: { type: "boolean", default: false },
  },
});

const marked = markedGuards();
const all = { guards: GUARDS, mutants: MUTANTS, constants: CONSTANTS };
const races = tabledRaces();
const isNamed = (name) => races.some(({ names }) => names.includes(name));
const isTried = (name) =>
  [...GUARDS, ...MUTANTS].some((each) => (each.guard ?? each.name) === name);
const problems = [
  ...races
    .filter(({ names }) => names.length === 0)
    .map(({ race }) => `the race "${race}" names nothing that decides it`),
  ...races
    .flatMap(({ names }) => names)
    .filter((name) => !isTried(name))
    .map((name) => `${name} decides a race, and is not listed`),
  ...GUARDS.filter(({ guard }) => !isNamed(guard)).map(
    ({ guard }) => `the guard ${guard} is listed, and no race names it`,
  ),
  ...[...marked.keys()]
    .filter((name) => !GUARDS.some(({ guard }) => guard === name))
    .map((name) => `the guard ${name} is marked, and not listed`),
  ...GUARDS.filter(({ guard }) => !marked.has(guard)).map(
    ({ guard }) => `the guard ${guard} is listed, and marked nowhere`,
  ),
  ...MUTANTS.filter((mutant) => placesOf(mutant) !== 1).map(
    ({ name }) => `the code of the mutant ${name} does not occur once`,
  ),
  ...problemsOfConstants(),
  // A module that is loaded only in a test would have that fail.
  ...[...GUARDS, ...MUTANTS]
    .filter((each) => !isWellFormed(each))
    .map(({ guard, name = guard }) => `what ${name} makes of the sources is no code`),
];
for (const problem of problems) console.log(problem);

/** @returns what has caught a mutation, or undefined. */
async function caughtBy(mutation, { profile = "mixed", class: of = "s16", test }) {
  if (test === undefined) {
    const { outfile, remove } = await bundleSimulator({ mutation });
    let problem = "";
    try {
      const { firstFailed, failed } = await playSeeds(outfile, {
        seeds: Number(values.seeds),
        from: 1,
        class: of,
        profile,
        shrink: false,
        processes: Number(values.processes),
        first: true,
        mutation,
        print: (line) => void (problem ||= /^seed \d+: (.*)/.exec(line)?.[1] ?? ""),
      });
      if (firstFailed === undefined && failed > 0) throw new Error("The simulator has crashed");
      if (firstFailed !== undefined)
        return `seed ${firstFailed} of ${of}, ${profile}: ${problem.slice(0, 200)}`;
    } finally {
      remove();
    }
    return undefined;
  }
  const [file, name] = test;
  return failsWith(mutation, test) ? `the test "${name}" in ${file}` : undefined;
}

let missed = problems.length;
for (const { guard, name = guard, says, ...how } of values.check || missed > 0
  ? []
  : all[values.list]) {
  if (positionals.length > 0 && !positionals.some((begins) => name.startsWith(begins))) continue;
  const { find, replace, file } = how;
  const mutation = guard === undefined ? { file, find, replace } : { guard };
  // Before it is tried: what throws or hangs is known by that.
  console.log(`${name}: ${says}`);
  let outcome;
  try {
    const caught = await caughtBy(mutation, how);
    if (caught === undefined) missed += 1;
    outcome = caught === undefined ? "MISSED" : `caught by ${caught}`;
  } catch (error) {
    missed += 1;
    outcome = `NOT TRIED: ${error.message}`;
  }
  console.log(`        ${outcome}`);
}
process.exitCode = missed === 0 ? 0 : 1;
