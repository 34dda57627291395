import {
  defineConfig,
  type TestProjectInlineConfiguration,
  type ViteUserConfig,
} from "vitest/config";
import { givenMutation, mutationOf } from "./scripts/guards.mjs";

const HANGS_MS = 30 * 60_000;
const conditions = ["@convex-dev/component-source"];

/**
 * What the workflow component logs of runs that fail. Many a test has them fail on purpose; those
 * of the log itself look at the console.
 */
export function isShown(log: string): boolean {
  return log.split("\n").some((line) => line !== "" && !line.startsWith('{"component":"workflow"'));
}

/**
 * The tests of one workspace package. They run against the sources of the other packages, so that
 * no build stands between an edit and its test.
 */
export function project(
  name: string,
  test: TestProjectInlineConfiguration["test"] = {},
): ViteUserConfig {
  const mutation = givenMutation();
  return defineConfig({
    // `npm run mutations` asks whether a test catches a mistake.
    plugins: mutation === undefined ? [] : [mutationOf(mutation)],
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      name,
      include: ["test/**/*.test.ts"],
      // Files share modules in a worker: loading them for each file takes as long as the tests.
      isolate: false,
      restoreMocks: true,
      unstubEnvs: true,
      tags: [
        { name: "large", description: "Takes a second or more: only `npm run verify` runs it." },
      ],
      // They only end what hangs. Time is virtual, so a test takes what it computes, and that may be
      // long on a machine that is busy with other things.
      testTimeout: HANGS_MS,
      hookTimeout: HANGS_MS,
      onConsoleLog: isShown,
      ...test,
    },
  });
}

/** The tests of an example, whose files are isolated as they are by default: as in an app. */
export function example(name: string): ViteUserConfig {
  return project(name, { isolate: true });
}
