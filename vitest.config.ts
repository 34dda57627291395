import { fileURLToPath } from "node:url";
import {
  configDefaults,
  defineConfig,
  type UserWorkspaceConfig,
  type ViteUserConfig,
} from "vitest/config";
import { givenMutation, mutationOf } from "./scripts/guards.mjs";

const HANGS_MS = 30 * 60_000;
// Tests run against the sources, so that no build stands between an edit and its test.
const conditions = ["@convex-dev/component-source"];
const setupFiles = ["chance", "real-time"].map((name) =>
  fileURLToPath(new URL(`tests/${name}.ts`, import.meta.url)),
);
/** Compiles the app of the run time's tests. */
export const testApp = ["scripts/test-app.mjs"];

/**
 * What the workflow component logs of runs that fail. Many a test has them fail on purpose; those
 * of the log itself look at the console.
 */
function isShown(log: string): boolean {
  return log.split("\n").some((line) => line !== "" && !line.startsWith('{"component":"workflow"'));
}

/** Tests that share their settings. Those of one project share what Vite makes of the sources. */
function project(name: string, test: UserWorkspaceConfig["test"]): UserWorkspaceConfig {
  const mutation = givenMutation();
  return {
    // `npm run mutations` asks whether a test catches a mistake.
    plugins: mutation === undefined ? [] : [mutationOf(mutation)],
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      name,
      restoreMocks: true,
      unstubEnvs: true,
      tags: [
        {
          name: "large",
          description:
            "Only `npm run verify` runs it: it takes long, and others keep its promises.",
        },
      ],
      // They only end what hangs. Time is virtual, so a test takes as long as it computes, which may
      // be long on a busy machine.
      testTimeout: HANGS_MS,
      hookTimeout: HANGS_MS,
      setupFiles,
      onConsoleLog: isShown,
      ...test,
    },
  };
}

/** In a browser. What one file overrides of their fixtures would hold in the next ones, too. */
const pages = "tests/studio/page-*.test.ts";

/**
 * Tests of packages whose files share modules in a worker: loading them for each file takes as long
 * as the tests.
 */
export function packages(
  name: string,
  folders: string,
  globalSetup: string[] = [],
  leftOut: string[] = [],
): UserWorkspaceConfig {
  return project(name, {
    include: [`${folders}/**/*.test.ts`],
    // The apps that are compiled may have tests of their own.
    exclude: [...configDefaults.exclude, "packages/codegen/test/fixtures/**", pages, ...leftOut],
    globalSetup,
    isolate: false,
    // Most of what a test makes is soon garbage. With V8's default of 16 MB, 6% of the time goes into
    // collecting it, and much of it grows old before its time.
    execArgv: ["--max-semi-space-size=64"],
    // The peer's test module finds its functions with `import.meta.glob`, which only what Vite
    // transforms knows.
    server: { deps: { inline: [/@convex-dev\/(workpool|rate-limiter|batch-worker)/] } },
  });
}

/** Tests of the types of a package, which the compiler runs. */
export function types(name: string): UserWorkspaceConfig {
  const include = ["test/types/**/*.test-d.ts"];
  const checker = fileURLToPath(new URL("scripts/tsc.mjs", import.meta.url));
  const typecheck = { enabled: true, only: true, include, checker };
  return { ...project(`types of ${name}`, { typecheck }), root: `packages/${name}` };
}

export function configOf(projects: UserWorkspaceConfig[]): ViteUserConfig {
  // By default one core is left alone, which is half of the machine where there are two.
  return defineConfig({ test: { maxWorkers: "100%", onConsoleLog: isShown, projects } });
}

// What takes long takes a third more in a heap that holds all packages.
export default configOf([
  packages("pool", "packages/{workpool,testing}/test"),
  packages("workflow", "packages/workflow/test", testApp),
  packages("codegen", "{packages/{codegen,workflow-codegen,studio}/test,tests}", testApp),
  packages("benchmarks", "benchmarks/test"),
  // Their files are isolated as they are by default: as in an app.
  project("examples", { include: ["examples/*/test/**/*.test.ts"] }),
  project("pages", { include: [pages], globalSetup: testApp }),
  types("workpool"),
  types("workflow"),
]);
