import { posix } from "node:path";
import type { Baseline } from "../compatibility/baseline.js";
import type { Change } from "../compatibility/change.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { Leftover } from "../plan/schema.js";
import { CacheFile } from "./cache-file.js";
import { compilerIdentity, contentsOnDisk, fingerprintOf, type Contents } from "./fingerprint.js";

/** What there is to say of an app whose generated code is up to date. */
export interface Answer {
  /** Warnings alone. */
  readonly diagnostics: readonly Diagnostic[];
  /** The changes since what may be deployed. */
  readonly changes: readonly Change[];
  /** What earlier versions have left behind for runs in flight. */
  readonly left: readonly Leftover[];
  readonly against: Pick<Baseline, "from" | "hint">;
  readonly workflows: number;
  readonly nodes: number;
}

/** What is kept of a compilation without errors, so that the next one need not happen. */
export interface LastCompile extends Answer {
  readonly fingerprint: string;
  /** Files that were looked into besides the definitions. */
  readonly consulted: readonly string[];
  /** The folders that generated files stand in. */
  readonly folders: readonly string[];
}

const fileOf = (functionsDir: string): CacheFile =>
  new CacheFile(functionsDir, "unchanged", compilerIdentity());

/** What was compiled last, if definitions, output and compiler are the same. Nothing is parsed for it. */
export function unchangedSince(functionsDir: string): LastCompile | undefined {
  const bytes = fileOf(functionsDir).read();
  if (bytes === undefined) return undefined;
  // Nothing else is written to that file.
  const last = JSON.parse(bytes.toString()) as LastCompile;
  const contents = contentsOnDisk(functionsDir, last.consulted, last.folders);
  return contents && fingerprintOf(contents) === last.fingerprint ? last : undefined;
}

/**
 * Keeps what was compiled and written. `contents` is what the compiler had read, not what is on the
 * disk by now: a definition may have been saved meanwhile.
 */
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
