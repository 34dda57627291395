import { statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { readText } from "../discover/discover.js";
import { ifPresent } from "../discover/unreadable.js";

/** Something the user gave that cannot be worked with; printed without a stack. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * The app's functions folder, as an absolute path: `--dir`, else what `convex.json` says, else `convex`.
 *
 * @throws UsageError when there is no such folder, or `convex.json` is not what it should be
 * @throws Unreadable
 */
export async function functionsFolder(cwd: string, dir: string | undefined): Promise<string> {
  return existingFolder(cwd, dir);
}

/** The same without waiting, for what must be quick. */
export function existingFolder(cwd: string, dir: string | undefined): string {
  const folder = wantedFolder(cwd, dir);
  const isFolder = (path: string) => statSync(path).isDirectory();
  if (ifPresent(folder, isFolder) === true) return folder;
  throw new UsageError(
    `There is no functions folder at ${displayPath(cwd, folder)}. Run this in the folder of your Convex app, or pass --dir <folder>; \`workflow-codegen init\` makes a new one.`,
  );
}

/**
 * The same where the folder may be yet to be made.
 *
 * @throws UsageError when `convex.json` cannot be read
 */
export function wantedFolder(cwd: string, dir: string | undefined): string {
  return resolve(cwd, dir ?? configured(cwd) ?? "convex");
}

function configured(cwd: string): string | undefined {
  const text = readText(resolve(cwd, "convex.json"));
  if (text === undefined) return undefined;
  const functions = functionsOf(text);
  if (functions === undefined || typeof functions === "string") return functions;
  throw new UsageError(
    'convex.json cannot be read: it must be JSON, with a string as "functions" if there is one.',
  );
}

/** The field `functions`; null when the text is not what it should be. */
function functionsOf(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== "object" || parsed === null) return null;
    return "functions" in parsed ? parsed.functions : undefined;
  } catch {
    return null;
  }
}

/** A path as a person in `cwd` would write it. */
export function displayPath(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short === "" ? "." : short.startsWith("..") ? path : short;
}
