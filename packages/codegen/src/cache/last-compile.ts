import { posix } from "node:path";
import { CacheFile } from "./cache-file.js";
import { contentsOnDisk, fingerprintOf, type Contents } from "./fingerprint.js";

/** What is kept of a compilation without any problem, so that the next one need not happen. */
export interface LastCompile {
  readonly fingerprint: string;
  /** Files that were looked into besides the definitions. */
  readonly consulted: readonly string[];
  /** The folders that generated files stand in. */
  readonly folders: readonly string[];
  readonly workflows: number;
  readonly nodes: number;
}

const fileOf = (functionsDir: string): CacheFile => new CacheFile(functionsDir, "unchanged");

/** What was compiled and written last, if definitions, output and compiler are still the same; nothing is parsed to know that. */
export function unchangedSince(functionsDir: string): LastCompile | undefined {
  const last = read(fileOf(functionsDir).read());
  if (last === undefined) return undefined;
  const contents = contentsOnDisk(functionsDir, last.consulted, last.folders);
  const isSame = contents !== undefined && fingerprintOf(contents) === last.fingerprint;
  return isSame ? last : undefined;
}

/**
 * Keeps what was compiled and written. `contents` is what the compiler had in its hands, not what is on the disk by now: a
 * definition may have been saved meanwhile.
 */
export function keepLastCompile(
  functionsDir: string,
  contents: Contents,
  counts: { readonly workflows: number; readonly nodes: number },
): void {
  fileOf(functionsDir).write(() => {
    const last: LastCompile = {
      fingerprint: fingerprintOf(contents),
      consulted: [...contents.consulted.keys()].sort(),
      folders: [...new Set([...contents.outputs.keys()].map((path) => posix.dirname(path)))].sort(),
      ...counts,
    };
    return JSON.stringify(last);
  });
}

/** By hand: a schema library would take longer to load than all else takes. */
function read(text: string | undefined): LastCompile | undefined {
  try {
    const last: unknown = text === undefined ? undefined : JSON.parse(text);
    return isLastCompile(last) ? last : undefined;
  } catch {
    return undefined;
  }
}

function isLastCompile(value: unknown): value is LastCompile {
  if (typeof value !== "object" || value === null) return false;
  const { fingerprint, consulted, folders, workflows, nodes } = value as Record<string, unknown>;
  return (
    typeof fingerprint === "string" &&
    isTexts(consulted) &&
    isTexts(folders) &&
    typeof workflows === "number" &&
    typeof nodes === "number"
  );
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === "string");
