import { execFile } from "node:child_process";
import { copyFile, mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { rm } from "../../../scripts/folders.mjs";

const prefix = "stepwise-built-";
const packageFolder = fileURLToPath(new URL("..", import.meta.url));

/**
 * The command as it would be installed now, built anew: `dist` may be of yesterday. Gives the path
 * of its main module.
 */
export async function builtCommand(): Promise<string> {
  const folder = join(packageFolder, "node_modules", ".cache", `${prefix}${process.pid}`);
  const tsc = join(packageFolder, "../../node_modules/typescript/bin/tsc");
  const config = join(packageFolder, "tsconfig.build.json");
  await mkdir(folder, { recursive: true });
  await copyFile(join(packageFolder, "package.json"), join(folder, "package.json"));
  const args = [tsc, "--singleThreaded", "--project", config, "--outDir", join(folder, "dist")];
  await promisify(execFile)(process.execPath, args);
  return join(folder, "dist", "cli", "main.js");
}

/**
 * Removes what `builtCommand` made; nothing, where it failed and so gave no path: the folders above
 * an empty path are not ours.
 */
export async function removeBuilt(main: string): Promise<void> {
  const folder = dirname(dirname(dirname(main)));
  if (!basename(folder).startsWith(prefix)) return;
  await rm(folder, { recursive: true });
}
