import { statSync } from "node:fs";
import { relative, resolve } from "node:path";
import { packageFolder } from "../cache/cache-file.js";
import { ifPresent, readText } from "../discover/discover.js";
import { jsonObject } from "../json.js";

/** Something the user gave that cannot be worked with; printed without a stack. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The functions folder: `--dir`, that of `convex.json`, or `convex`. @throws UsageError */
export function functionsFolder(cwd: string, dir: string | undefined): string {
  const folder = wantedFolder(cwd, dir);
  mustBeThere(cwd, folder);
  return folder;
}

/** @throws UsageError if there is no such functions folder, or not any more */
export function mustBeThere(cwd: string, folder: string): void {
  if (ifPresent(folder, (path) => statSync(path).isDirectory()) === true) return;
  throw new UsageError(
    `There is no functions folder at ${displayPath(cwd, folder)}. Run this in the folder of your Convex app, or pass --dir <folder>; \`workflow-codegen init\` makes a new one.`,
  );
}

/** The same, but the folder need not exist yet. */
export function wantedFolder(cwd: string, dir: string | undefined): string {
  // As of a variable of the shell that is not set: not the folder that the app itself is in.
  if (dir === "") throw new UsageError("--dir is empty: give the folder of your functions.");
  if (dir !== undefined) return resolve(cwd, dir);
  const app = packageFolder(cwd);
  if (app !== undefined && app !== cwd && isIn(functionsOf(app), cwd))
    throw new UsageError(`${cwd} is in the functions folder of an app: run this in ${app}.`);
  return functionsOf(cwd);
}

const isIn = (folder: string, path: string): boolean => !relative(folder, path).startsWith("..");
const functionsOf = (app: string): string => resolve(app, configured(app) ?? "convex");

function configured(cwd: string): string | undefined {
  const text = readText(resolve(cwd, "convex.json"));
  if (text === undefined) return undefined;
  const config = jsonObject(text);
  const functions = config?.["functions"];
  const isFolder = typeof functions === "string" && functions !== "";
  if (isFolder || (config && functions === undefined)) return functions;
  const cannot = "convex.json cannot be read:";
  if (config === undefined) throw new UsageError(`${cannot} it must be a JSON object.`);
  throw new UsageError(
    `${cannot} its "functions" is ${JSON.stringify(functions)}, and must be the path of a folder.`,
  );
}

/** A path as a person in `cwd` would write it. */
export function displayPath(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short === "" ? "." : short.startsWith("..") ? path : short;
}

export const inFolder = (folder: string, file: string): string =>
  folder === "." ? file : `${folder}/${file}`;
