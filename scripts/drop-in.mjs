// Runs the client tests that ship in the installed `@convex-dev/workpool` against our pool. Nothing
// of them is copied: two import lines are changed while they load.
import { relative, resolve } from "node:path";
import { startVitest } from "vitest/node";

const root = resolve(import.meta.dirname, "..");
const file = resolve(root, "node_modules/@convex-dev/workpool/src/client/index.test.ts");
const ours = {
  "../test.js": "packages/workpool/src/test.ts",
  "./index.js": "packages/workpool/src/client/index.ts",
};

/** The tests that fail by design, and why; docs/migrating-from-workpool.md has the differences. */
const reason = "the same value is refused, by a message that names the option and what it takes";
const group = "completion callbacks through the client and scheduler";
const expected = {
  [`${group} > rejects invalid result kinds at runtime (batch: false)`]: reason,
  [`${group} > rejects invalid result kinds at runtime (batch: true)`]: reason,
};

const imports = {
  name: "stepwise:our-pool",
  enforce: "pre",
  transform(code, id) {
    if (id !== file) return undefined;
    let changed = code;
    for (const [theirs, path] of Object.entries(ours)) {
      const from = `from "${theirs}"`;
      if (changed.split(from).length !== 2) throw new Error(`${id} does not import ${theirs} once`);
      changed = changed.replace(from, () => `from ${JSON.stringify(resolve(root, path))}`);
    }
    return changed;
  },
};

const conditions = ["@convex-dev/component-source"];
const vitest = await startVitest(
  "test",
  [],
  {
    root,
    config: false,
    watch: false,
    run: true,
    include: [relative(root, file)],
    exclude: [],
    // What fails is told below.
    reporters: [{}],
    onConsoleLog: () => false,
    server: { deps: { inline: [/@convex-dev\/workpool/, /packages\/workpool/] } },
  },
  { plugins: [imports], resolve: { conditions }, ssr: { resolve: { conditions } } },
);
const tests = vitest.state.getTestModules().flatMap((module) => [...module.children.allTests()]);
const failed = new Map(
  tests
    .filter((test) => test.result().state !== "passed")
    .map((test) => [test.fullName, test.result().errors?.[0]?.message ?? "not run"]),
);
const passed = tests.length - failed.size;
console.log(`${passed} of ${tests.length} client tests of the original pass`);
for (const [name, why] of Object.entries(expected)) console.log(`  not "${name}": ${why}`);
const surprises = [
  ...[...failed].filter(([name]) => !Object.hasOwn(expected, name)),
  ...Object.keys(expected)
    .filter((name) => !failed.has(name))
    .map((name) => [name, "should have failed"]),
  ...vitest.state.getUnhandledErrors().map((error) => ["outside of tests", error?.stack ?? error]),
];
for (const [name, why] of surprises) console.log(`${name}: ${why}`);
await vitest.close();
process.exitCode = passed > 0 && surprises.length === 0 ? 0 : 1;
