import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import type { Baseline } from "../compatibility/baseline.js";
import type { Change } from "../compatibility/lines.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { discoverAll, readIn, type SourceText } from "../discover/discover.js";
import { refsState } from "../git/repository.js";
import type { Tombstones } from "../plan/schema.js";
import { compilerVersion } from "../version.js";
import { presentFiles } from "../write/write-generated.js";
import { CacheFile } from "./cache-file.js";

/** What there is to say of an app whose generated code is up to date. */
export interface Answer {
  readonly diagnostics: readonly Diagnostic[];
  readonly changes: readonly Change[];
  readonly tombstones: readonly Tombstones[];
  readonly against: Pick<Baseline, "from" | "hint" | "missing">;
  readonly workflows: number;
  readonly nodes: number;
}

/** What is kept of a compilation without errors, so that the next one need not happen. */
export interface LastCompile extends Answer {
  readonly fingerprint: string;
  readonly consulted: readonly string[];
  readonly folders: readonly string[];
}

const fileOf = (functionsDir: string): CacheFile =>
  CacheFile.of(functionsDir, "unchanged", compilerIdentity());

/** What was compiled last, if definitions, output and compiler are the same. */
export function unchangedSince(functionsDir: string): LastCompile | undefined {
  const bytes = fileOf(functionsDir).read();
  if (bytes === undefined) return undefined;
  // Nothing else is written to that file.
  const last = JSON.parse(bytes.toString()) as LastCompile;
  const contents = contentsOnDisk(functionsDir, last.consulted, last.folders);
  return contents && fingerprintOf(contents) === last.fingerprint ? last : undefined;
}

/** Keeps what was compiled; `contents` is what the compiler read, which may have changed since. */
export function keepLastCompile(functionsDir: string, contents: Contents, answer: Answer): void {
  fileOf(functionsDir).write(() => {
    const last: LastCompile = {
      fingerprint: fingerprintOf(contents),
      consulted: [...contents.consulted.keys()].sort(),
      folders: [...new Set([...contents.outputs.keys()].map((path) => posix.dirname(path)))].sort(),
      ...answer,
    };
    return Buffer.from(JSON.stringify(last));
  });
}

/** All that the output of the compiler depends on, and the output itself. */
interface Contents {
  readonly sources: readonly SourceText[];
  readonly consulted: ReadonlyMap<string, string | undefined>;
  readonly outputs: ReadonlyMap<string, string>;
  /** Where the main branch is, by `refsState`: what is gone since then gets a tombstone. */
  readonly branches: string;
}

function contentsOnDisk(
  functionsDir: string,
  consulted: readonly string[],
  folders: readonly string[],
): Contents | undefined {
  const { sources, linked, misnamed, unreadable } = discoverAll(functionsDir);
  if (linked.length + misnamed.length + unreadable.length > 0) return undefined;
  return {
    sources,
    consulted: new Map(consulted.map((file) => [file, readIn(functionsDir, file)])),
    outputs: presentFiles(functionsDir, folders).own,
    branches: refsState(functionsDir),
  };
}

/** Two contents have one fingerprint only if they are the same, and the compiler is. */
function fingerprintOf({ sources, consulted, outputs, branches }: Contents): string {
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
