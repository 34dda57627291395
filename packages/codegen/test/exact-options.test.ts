import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rm } from "../../../scripts/folders.mjs";
import { scratchFolder, typeErrors } from "./type-check.js";

test(
  "an onComplete checks under exactOptionalPropertyTypes, against the built types of the package",
  { tags: ["large"] },
  async () => {
    const scratch = scratchFolder("exact");
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { recursive: true });
    await cp(new URL("exact/on-complete.ts", import.meta.url), join(scratch, "on-complete.ts"));
    const options = { exactOptionalPropertyTypes: true, customConditions: [] };
    expect(await typeErrors(scratch, options)).toEqual([]);
  },
);
