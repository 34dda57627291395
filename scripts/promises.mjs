// Lists the promises of docs/semantics.md with the tests that name them. Fails if one has no test
// that `npm test` runs, or a test names one that does not exist. With the path of vitest's JSON
// report only tests that have passed count; without it, those that there are.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { mkdtempSync, rmSync } from "./folders.mjs";

const root = join(import.meta.dirname, "..");
const [report] = process.argv.slice(2);

/** The tests as `{ name, file, isLarge }`. */
function testsOf(report) {
  if (report !== undefined) {
    const { testResults } = JSON.parse(readFileSync(report, "utf8"));
    return testResults.flatMap(({ name: file, assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === "passed")
        .map(({ fullName, tags }) => ({ name: fullName, file, isLarge: tags.includes("large") })),
    );
  }
  const scratch = mkdtempSync(join(tmpdir(), "stepwise-promises-"));
  try {
    const list = join(scratch, "tests.json");
    const listing = [
      "vitest",
      "list",
      "--config=vitest.small.config.ts",
      "--tags-filter=!large",
      `--json=${list}`,
    ];
    execFileSync("npx", listing, { cwd: root, stdio: "ignore" });
    return JSON.parse(readFileSync(list, "utf8"));
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

const text = readFileSync(join(root, "docs/semantics.md"), "utf8");
const promises = new Map(
  [...text.matchAll(/^- (S\d+)\. (.*(?:\n {2}.*)*)$/gm)].map(([, number, promise]) => [
    number,
    { promise: promise.replace(/\s+/g, " "), tests: [], hasSmall: false },
  ]),
);

let wrong = 0;
for (const { name, file, isLarge } of testsOf(report))
  for (const [, number] of name.matchAll(/\[(S\d+)\]/g)) {
    const found = promises.get(number);
    if (found !== undefined) {
      found.tests.push(`${relative(root, file)}: ${name}`);
      found.hasSmall ||= isLarge !== true;
    } else {
      wrong++;
      console.error(`${name} names ${number}, which is no promise`);
    }
  }
/** The promises of the language, L1 to L21, by those of docs/semantics.md that they are. */
const ofLanguage = new Map(
  [...text.matchAll(/^\| (L\d+) .*\| (S[\dS, ]+) \|$/gm)].map(([, l, is]) => [
    l,
    is.trim().split(", "),
  ]),
);
for (let l = 1; l <= 21; l++) {
  const known = ofLanguage.get(`L${l}`)?.every((number) => promises.has(number)) ?? false;
  if (known) continue;
  wrong++;
  console.error(`L${l} is not in the table of docs/semantics.md, or stands for no promise`);
}
for (const [number, { promise, tests, hasSmall }] of promises) {
  console.log(`${number}. ${promise}`);
  for (const test of tests) console.log(`    ${test}`);
  if (hasSmall) continue;
  wrong++;
  console.error(`${number} has no ${tests.length > 0 ? "test but large ones" : "test"}`);
}
console.log(`${promises.size} promises, ${wrong} wrong`);
process.exitCode = wrong === 0 ? 0 : 1;
