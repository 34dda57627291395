// oxlint-disable-next-line no-restricted-imports -- What is expected is written anew only when asked for.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

export const fixtures = new URL("./fixtures/", import.meta.url).pathname;

/**
 * Set to write what the compiler gives in the place of what is expected; then read the difference.
 */
export const isUpdating = process.env["UPDATE_GOLDEN"] === "1";

export async function foldersIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();
}

/** All files under a folder, by path; empty when there is no such folder. */
export async function filesIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(
    files.map(
      async (path) => [path.slice(folder.length + 1), await readFile(path, "utf8")] as const,
    ),
  );
  return Object.fromEntries(texts);
}

export async function replaceFiles(folder: string, files: Record<string, string>): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}
