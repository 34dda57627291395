import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { compile } from "../src/compile.js";
import { formatDiagnostic } from "../src/diagnostics/format.js";
import { fixtures, foldersIn, isUpdating } from "./golden.js";

/** One folder per kind of problem: `convex/` is compiled, `expected.txt` is what must be said. */
const folder = join(fixtures, "errors");

/** The promises of docs/semantics.md, part A, that a folder holds. */
const promises: Readonly<Record<string, string>> = {
  barrels: "[S10]",
  bodies: "[S3]",
  branches: "[S3] [S8] [S124]",
  children: "[S10] [S124]",
  collect: "[S215]",
  "changed-later": "[S3]",
  "child-named": "[S124]",
  "child-nodes": "[S10]",
  "collisions-inside": "[S1]",
  "computed-chains": "[S3]",
  "computed-names": "[S3]",
  concurrent: "[S160] [S161]",
  "duplicate-nodes": "[S2]",
  "duplicate-workflows": "[S2]",
  events: "[S6]",
  exports: "[S5]",
  "finalize-inside": "[S8]",
  "function-collisions": "[S1]",
  handlers: "[S123]",
  "held-options": "[S3]",
  "hidden-names": "[S2]",
  inputs: "[S122]",
  limits: "[S195] [S248]",
  "config-limits": "[S195] [S248]",
  one: "[S220]",
  "known-values": "[S6] [S7]",
  "long-names": "[S1]",
  "long-names-inside": "[S1]",
  loops: "[S7] [S8]",
  "names-inside": "[S1] [S2] [S3] [S4]",
  "no-effect": "[S11]",
  "node-runtime": "[S9]",
  "node-names": "[S1] [S4]",
  "option-values": "[S6] [S7] [S11]",
  "odd-functions": "[S7] [S122] [S123] [S124]",
  options: "[S3] [S124]",
  "option-order": "[S121]",
  order: "[S121]",
  race: "[S168]",
  recovery: "[S123]",
  recursion: "[S10] [S65]",
  renamings: "[S116]",
  "several-files": "[S12]",
  sleeps: "[S6] [S67]",
  slips: "[S3] [S6] [S123] [S124]",
  structure: "[S8]",
  syntax: "[S12]",
  tags: "[S182]",
  tolerance: "[S7]",
  "workflow-names": "[S1] [S4]",
  "workflow-options": "[S6]",
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
