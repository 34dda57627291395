/** @module-tag large */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compile, type GeneratedFile } from "../src/compile.js";
import { sealed } from "../src/emit/index-file.js";
import { compilerVersion } from "../src/version.js";
import { filesIn, fixtures, foldersIn, isUpdating, replaceFiles } from "./golden.js";
import { isFormatted } from "./prettier.js";

/** One folder per feature: `convex/` is compiled, `expected/` is what must come out. */
const features = (await foldersIn(fixtures)).filter((name) => name !== "errors");

const byPath = (files: readonly GeneratedFile[]) =>
  Object.fromEntries(files.map(({ path, text }) => [path, text]));

/** The version of the compiler that has written the files. */
function versionOf(files: Readonly<Record<string, string>>): string {
  const [, plan = ""] = Object.entries(files).find(([path]) => path.endsWith("/plan.json")) ?? [];
  return (JSON.parse(plan) as { compiler: string }).compiler;
}

/** A file as that version of the compiler writes it: a release changes nothing else. */
function writtenBy(version: string, file: GeneratedFile): GeneratedFile {
  if (version === compilerVersion()) return file;
  const unsealed = file.text.replace(/^\/\/ workflow-codegen .*\n/m, "");
  const compiler = (of: string) => `"compiler": "${of}"`;
  const text = unsealed.replace(compiler(compilerVersion()), compiler(version));
  return sealed({ path: file.path, text }, version);
}

describe.each(features)("%s", (feature) => {
  const folder = join(fixtures, feature);

  test("compiles to the expected files", async () => {
    const { files, diagnostics } = await compile({ functionsDir: join(folder, "convex") });
    expect(diagnostics).toEqual([]);
    if (isUpdating) await replaceFiles(join(folder, "expected"), byPath(files));
    const expected = await filesIn(join(folder, "expected"));
    expect(byPath(files.map((file) => writtenBy(versionOf(expected), file)))).toEqual(expected);
  });

  test("comes out as Prettier would lay it out", { tags: ["large"] }, async () => {
    const { files } = await compile({ functionsDir: join(folder, "convex") });
    for (const { path, text } of files) expect(await isFormatted(text, path), path).toBe(true);
  });
});
