import { cp } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rm } from "../../../scripts/folders.mjs";
import { fixtures, foldersIn } from "./golden.js";
import { scratchFolder, typeErrors, writeGeneratedTypes } from "./type-check.js";

const features = (await foldersIn(fixtures)).filter((name) => name !== "errors");

test(
  "generated files and what uses them have no type errors, and no types that depend on themselves",
  { tags: ["large"], timeout: 60_000 },
  async () => {
    const scratch = scratchFolder("fixtures");
    await rm(scratch, { recursive: true, force: true });
    for (const feature of features) {
      const folder = join(scratch, feature);
      await cp(join(fixtures, feature, "convex"), folder, { recursive: true });
      await cp(join(fixtures, feature, "expected"), folder, { recursive: true });
      await writeGeneratedTypes(folder);
    }
    expect(await typeErrors(scratch)).toEqual([]);
  },
);
