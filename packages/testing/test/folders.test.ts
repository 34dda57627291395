import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { mkdtempSync, rm, rmSync } from "../../../scripts/folders.mjs";

test("a test deletes only what is in a folder that it has made", async () => {
  const folder = mkdtempSync(join(tmpdir(), "stepwise-folders-"));
  const other = join(folder, "other");
  mkdirSync(other);
  writeFileSync(join(other, "file"), "");
  rmSync(join(other, "file"));
  expect(existsSync(join(other, "file"))).toBe(false);

  const refused = "is in no folder that this process has made, so it is not deleted";
  const source = join(import.meta.dirname, "folders.test.ts");
  expect(() => rmSync(source)).toThrow(refused);
  expect(() => rmSync(`${folder}-beside`, { force: true })).toThrow(refused);
  await expect(rm(join(folder, ".."), { recursive: true })).rejects.toThrow(refused);

  // A link is deleted itself; what it leads to is not deleted through it.
  symlinkSync(import.meta.dirname, join(folder, "link"));
  expect(() => rmSync(join(folder, "link/folders.test.ts"))).toThrow(refused);
  rmSync(join(folder, "link"));
  expect(existsSync(source)).toBe(true);

  await rm(folder, { recursive: true });
  expect(existsSync(folder)).toBe(false);
});
