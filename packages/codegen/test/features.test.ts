import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compile } from "../src/compile.js";
import { filesIn, fixtures, foldersIn, isUpdating, replaceFiles } from "./golden.js";
import { isFormatted } from "./prettier.js";

/** One folder per feature: `convex/` is compiled, `expected/` is what must come out. */
const features = (await foldersIn(fixtures)).filter((name) => name !== "errors");

describe.each(features)("%s", (feature) => {
  const folder = join(fixtures, feature);

  test("compiles to the expected files", async () => {
    const { files, diagnostics } = await compile({ functionsDir: join(folder, "convex") });
    expect(diagnostics).toEqual([]);
    const compiled = Object.fromEntries(files.map(({ path, text }) => [path, text]));
    if (isUpdating) await replaceFiles(join(folder, "expected"), compiled);
    expect(compiled).toEqual(await filesIn(join(folder, "expected")));
  });

  test("comes out as Prettier would lay it out", async () => {
    const { files } = await compile({ functionsDir: join(folder, "convex") });
    for (const { path, text } of files) expect(await isFormatted(text, path), path).toBe(true);
  });
});
