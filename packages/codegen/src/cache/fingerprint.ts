import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { discoverAll, readText, type SourceText } from "../discover/discover.js";
import { compilerVersion } from "../version.js";
import { refsState } from "../git/refs.js";
import { presentFiles } from "../write/own-files.js";

/** All that the output of the compiler depends on, and the output itself. */
export interface Contents {
  readonly sources: readonly SourceText[];
  /** Files that were looked into besides the definitions; `undefined` for those that are not there. */
  readonly consulted: ReadonlyMap<string, string | undefined>;
  /** Texts of generated files, by path. */
  readonly outputs: ReadonlyMap<string, string>;
  /** Where the main branch is, as `refsState` tells: what is gone since then is left behind. */
  readonly branches: string;
}

/**
 * What is on the disk now; undefined if there are problems that are reported every time.
 *
 * @param consulted the files that were looked into besides the definitions
 * @param folders those that hold generated files
 */
export function contentsOnDisk(
  functionsDir: string,
  consulted: readonly string[],
  folders: readonly string[],
): Contents | undefined {
  const { sources, linked, misnamed, unreadable } = discoverAll(functionsDir);
  if (linked.length + misnamed.length + unreadable.length > 0) return undefined;
  return {
    sources,
    consulted: new Map(consulted.map((file) => [file, readText(join(functionsDir, file))])),
    outputs: presentFiles(functionsDir, folders).own,
    branches: refsState(functionsDir),
  };
}

/** Two contents have one fingerprint only if they are the same, and the compiler is. */
export function fingerprintOf({ sources, consulted, outputs, branches }: Contents): string {
  const hash = createHash("sha256");
  // With the length of each part, so that no text can look like two.
  const add = (part: string) => hash.update(`${part.length}:`).update(part);
  add(compilerIdentity());
  add(branches);
  for (const { file, text, origin = file } of sources) [file, origin, text].forEach(add);
  for (const texts of [consulted, outputs]) {
    hash.update("files");
    for (const file of [...texts.keys()].sort()) {
      add(file);
      add(texts.get(file) ?? "");
      hash.update(texts.get(file) === undefined ? "absent" : "present");
    }
  }
  return hash.digest("hex");
}

/** The compiler's version, and when this file was installed: a build may have the same version. */
export function compilerIdentity(): string {
  return `${compilerVersion()} ${statSync(fileURLToPath(import.meta.url)).mtimeMs}`;
}
