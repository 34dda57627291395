/** @module-tag large */
import { execFileSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mkdtemp, rm } from "../../../scripts/folders.mjs";
import { compile, driftOf, writeGenerated } from "../src/compile.js";

/*
 * Branches that each change other workflows are merged by git itself, as it is installed, and then
 * compile.
 */

let app: string;
beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "stepwise-merge-"));
  git("init", "--quiet", "--initial-branch=main");
});
afterEach(async () => await rm(app, { recursive: true }));

function git(...args: string[]): string {
  const settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
  const env = { ...process.env, GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" };
  return execFileSync("git", [...settings, ...args], { cwd: app, env, encoding: "utf8" });
}

const compiled = async () => {
  const result = await compile({ functionsDir: app });
  expect(result.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return result;
};

/** Commits an edit of definitions, with what is generated from them. */
async function commit(definitions: Record<string, string | undefined>): Promise<void> {
  for (const [name, nodes] of Object.entries(definitions)) {
    const path = join(app, `${name}.workflow.ts`);
    if (nodes === undefined) await rm(path);
    else await writeFile(path, definition(name, nodes));
  }
  const { files } = await compiled();
  await writeGenerated(app, files);
  git("add", "--all");
  git("commit", "--quiet", "--message=edit");
}

const definition = (name: string, nodes: string) => `
import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const ${name} = defineWorkflow({ input: z.object({}) })${nodes};
`;
const step = (name: string) => `.step("${name}", { action: () => "${name}" })`;
/** A parent that may start children of any workflow of the project. */
const anyChild = `.parent("all", { children: (scope) => made(scope) })`;

/** Merges a branch with one edit into another with another, and generates again. */
async function merged(
  base: Record<string, string>,
  ours: Record<string, string | undefined>,
  theirs: Record<string, string | undefined>,
) {
  if (Object.keys(base).length > 0) await commit(base);
  git("checkout", "--quiet", "-b", "theirs");
  await commit(theirs);
  git("checkout", "--quiet", "main");
  await commit(ours);
  git("merge", "--quiet", "--no-edit", "theirs");
  const list = await readFile(join(app, "_workflows/workflows.ts"), "utf8");
  const { files } = await compiled();
  const drift = await driftOf(app, files);
  expect(drift.edited).toEqual([]);
  await writeGenerated(app, files);
  const plans = files.filter(({ path }) => path.endsWith("plan.json")).map(({ path }) => path);
  return { drift, list, plans };
}

test.each([
  ["beside each other", ["banana", "blueberry"]],
  ["at the same place, the later one first", ["blueberry", "banana"]],
  ["before and after all others", ["aaa", "zzz"]],
])(
  "two branches that each add a workflow merge without a conflict: %s",
  { tags: ["large"] },
  async (_where, [ours = "", theirs = ""]) => {
    const base = { apple: step("a"), cherry: step("c") };
    const { drift, list, plans } = await merged(
      base,
      { [ours]: step("x") },
      { [theirs]: step("y") },
    );
    // The app is whole before it is generated again; that sorts the list at most.
    for (const name of ["apple", "cherry", ours, theirs])
      expect(list).toContain(`export { reference as ${name} } from "./${name}";\n`);
    expect(list.match(/^export/gm)).toHaveLength(4);
    expect(drift.written.filter((path) => path !== "_workflows/workflows.ts")).toEqual([]);
    expect(plans).toHaveLength(5);
  },
);

test("so they do where a parent may start children of any workflow", async () => {
  const made = "const made = (scope) => [];";
  const base = { apple: step("a"), parent: `${anyChild};\n${made}` };
  const { drift } = await merged(base, { banana: step("x") }, { blueberry: step("y") });
  expect(drift.written.filter((path) => path !== "_workflows/workflows.ts")).toEqual([]);
});

test(
  "so do two branches that change different workflows, and one that removes a workflow and one that adds one",
  { tags: ["large"] },
  async () => {
    const base = { apple: step("a"), cherry: step("c"), damson: step("d") };
    await merged(base, { apple: step("a") + step("b") }, { cherry: step("c") + step("b") });
    git("add", "--all");
    git("commit", "--quiet", "--allow-empty", "--message=generated");
    git("branch", "--quiet", "-D", "theirs");
    const { plans } = await merged({}, { cherry: undefined }, { elder: step("e") }).catch(
      (error: Error) => {
        throw new Error(`${error.message}\n${git("status")}`);
      },
    );
    expect(plans).toContain("_workflows/elder.plan.json");
    expect(plans).toContain("_workflows/cherry.plan.json");
  },
);
