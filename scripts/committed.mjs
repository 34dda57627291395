// Writes files that are made and committed. With --check it writes nothing, and fails if a file is
// out of date.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

export const root = join(import.meta.dirname, "..");
export const isCheck = process.argv.includes("--check");

/** @param path of the file in this repository */
export function keep(path, text) {
  const file = join(root, path);
  if (existsSync(file) && readFileSync(file, "utf8") === text) return;
  if (isCheck) {
    console.error(`${path} is out of date: run node scripts/${basename(process.argv[1])}`);
    process.exitCode = 1;
    return;
  }
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
