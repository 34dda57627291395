import { readFile, stat } from "node:fs/promises";
import { relative, resolve } from "node:path";
import * as z from "zod";

/** Something the user gave that cannot be worked with; printed without a stack. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const convexJson = z.object({ functions: z.string().optional() });

/**
 * The app's functions folder, as an absolute path: `--dir`, else what `convex.json` says, else `convex`.
 *
 * @throws UsageError when there is no such folder, or `convex.json` cannot be read
 */
export async function functionsFolder(cwd: string, dir: string | undefined): Promise<string> {
  const folder = resolve(cwd, dir ?? (await configured(cwd)) ?? "convex");
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory()) return folder;
  throw new UsageError(
    `There is no functions folder at ${displayPath(cwd, folder)}. Run this in the folder of your Convex app, or pass --dir <folder>.`,
  );
}

async function configured(cwd: string): Promise<string | undefined> {
  const text = await readFile(resolve(cwd, "convex.json"), "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return convexJson.parse(JSON.parse(text)).functions;
  } catch {
    throw new UsageError(
      'convex.json cannot be read: it must be JSON, with a string as "functions" if there is one.',
    );
  }
}

/** A path as a person in `cwd` would write it. */
export function displayPath(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short === "" ? "." : short.startsWith("..") ? path : short;
}
