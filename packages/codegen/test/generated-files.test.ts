import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { rm } from "../../../scripts/folders.mjs";
import { isFormatted } from "./prettier.js";
import { scratchFolder, typeErrors } from "./type-check.js";

/* What is committed, as a user of the compiler would hold it to the rules of their own project. */

const root = fileURLToPath(new URL("../../../", import.meta.url));

describe.each([
  { app: "the example", functionsDir: join(root, "examples/documents/convex") },
  { app: "the run time's test app", functionsDir: join(root, "packages/workflow/test/convex") },
])("the generated files of $app", ({ app, functionsDir }) => {
  const folder = join(functionsDir, "_workflows");

  test("are as Prettier would lay them out by default", { tags: ["large"] }, async () => {
    const names = await readdir(folder);
    expect(names.length).toBeGreaterThan(3);
    for (const name of names)
      expect(await isFormatted(await readFile(join(folder, name), "utf8"), name), name).toBe(true);
  });

  test("have no type errors under the strictest options", { tags: ["large"] }, async () => {
    // In a copy, so that the app's own settings have no part in it.
    const scratch = scratchFolder(app.replaceAll(/\W/g, "-"));
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { recursive: true });
    await cp(functionsDir, join(scratch, "convex"), { recursive: true });
    const options = {
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noPropertyAccessFromIndexSignature: true,
      noUnusedLocals: true,
      noUnusedParameters: true,
      noImplicitReturns: true,
      verbatimModuleSyntax: true,
      isolatedModules: true,
      types: ["node", "vite/client"],
    };
    const errors = await typeErrors(scratch, options, ["convex/_workflows/**/*"]);
    // Of the app's other files, and of the packages' sources, this is not the place to say
    // anything.
    expect(errors.filter(({ file }) => file.startsWith("convex/_workflows/"))).toEqual([]);
  });

  test("pass the linter of this repository", { tags: ["large"] }, async () => {
    const oxlint = join(root, "node_modules/.bin/oxlint");
    // Which names exports have is up to who names the nodes.
    // Workflows that start each other name each other, and only when they run.
    const allowed = ["--allow", "unicorn/no-thenable", "--allow", "import/no-cycle"];
    const rules = ["--config", join(root, ".oxlintrc.json"), ...allowed];
    const args = [...rules, "--no-ignore", "--deny-warnings"];
    // File by file: of a folder that git ignores the linter sees nothing.
    const files = (await readdir(folder)).filter((name) => name.endsWith(".ts"));
    const { stdout } = await promisify(execFile)(
      oxlint,
      [...args, ...files.map((name) => join(folder, name))],
      { cwd: root },
    );
    expect(stdout).toMatch(/Found 0 warnings and 0 errors/);
    expect(stdout).not.toMatch(/on 0 files/);
  });
});
