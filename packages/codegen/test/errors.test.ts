import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compile } from "../src/compile.js";
import { formatDiagnostic } from "../src/diagnostics/format.js";
import { fixtures, foldersIn, isUpdating } from "./golden.js";

/** One folder per kind of problem: `convex/` is compiled, `expected.txt` is what must be said. */
const folder = join(fixtures, "errors");

/** The promises of SEMANTICS, part A, that a folder holds. */
const promises: Readonly<Record<string, string>> = {
  children: "[S10] [S124]",
  "computed-chains": "[S3]",
  "computed-names": "[S3]",
  "duplicate-nodes": "[S2]",
  "duplicate-workflows": "[S2]",
  exports: "[S5]",
  "function-collisions": "[S1]",
  handlers: "[S123]",
  inputs: "[S122]",
  "long-names": "[S1]",
  "node-runtime": "[S9]",
  "node-names": "[S1] [S4]",
  "option-values": "[S6] [S7] [S11]",
  options: "[S3] [S124]",
  order: "[S121]",
  structure: "[S8]",
  syntax: "[S12]",
  "workflow-names": "[S1] [S4]",
};

test.each((await foldersIn(folder)).map((name) => ({ name, promise: promises[name] ?? "" })))(
  "$promise $name: says what is wrong, where, and what to write",
  async ({ name }) => {
    const { diagnostics, files, ok } = await compile({
      functionsDir: join(folder, name, "convex"),
    });
    expect(ok).toBe(false);
    expect(files).toEqual([]);
    const printed = diagnostics
      .map((each) => `${formatDiagnostic(each, { color: false, prefix: "convex/" })}\n`)
      .join("\n");
    const expected = join(folder, name, "expected.txt");
    if (isUpdating) await writeFile(expected, printed);
    expect(printed).toBe(await readFile(expected, "utf8"));
  },
);
