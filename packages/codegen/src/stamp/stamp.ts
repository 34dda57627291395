import { createHash, randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { contentsOnDisk, fingerprintOf, type Contents } from "./fingerprint.js";

/** What is kept of a compilation without any problem, so that the next one need not happen. */
export interface Stamp {
  readonly fingerprint: string;
  /** Files that were looked into besides the definitions. */
  readonly consulted: readonly string[];
  /** The folders that generated files stand in. */
  readonly folders: readonly string[];
  readonly workflows: number;
  readonly nodes: number;
}

/** What was compiled and written last, if definitions, output and compiler are still the same; nothing is parsed to know that. */
export function unchangedSince(functionsDir: string): Stamp | undefined {
  const path = stampPath(functionsDir);
  const stamp = path === undefined ? undefined : readStamp(path);
  if (stamp === undefined) return undefined;
  const contents = contentsOnDisk(functionsDir, stamp.consulted, stamp.folders);
  const isSame = contents !== undefined && fingerprintOf(contents) === stamp.fingerprint;
  return isSame ? stamp : undefined;
}

/**
 * Keeps what was compiled and written. `contents` is what the compiler had in its hands, not what is on the disk by now: a
 * definition may have been saved meanwhile.
 */
export function keepStamp(
  functionsDir: string,
  contents: Contents,
  counts: { readonly workflows: number; readonly nodes: number },
): void {
  const path = stampPath(functionsDir);
  if (path === undefined) return;
  const stamp: Stamp = {
    fingerprint: fingerprintOf(contents),
    consulted: [...contents.consulted.keys()].sort(),
    folders: [...new Set([...contents.outputs.keys()].map((path) => posix.dirname(path)))].sort(),
    ...counts,
  };
  const temporary = `${path}.${randomUUID()}`;
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(temporary, JSON.stringify(stamp));
    renameSync(temporary, path);
  } catch {
    // A cache that cannot be written, on a read-only disk for example, costs time and nothing else.
  }
}

/**
 * In the cache folder that tools share, by convention, beside the nearest package.json: in the output folder it would be
 * committed, and every edit of a comment would then be a change there. Undefined where there is no package.
 */
function stampPath(functionsDir: string): string | undefined {
  let folder = dirname(functionsDir);
  while (!existsSync(join(folder, "package.json"))) {
    const above = dirname(folder);
    if (above === folder) return undefined;
    folder = above;
  }
  const app = createHash("sha256").update(functionsDir).digest("hex").slice(0, 16);
  return join(folder, "node_modules", ".cache", "stepwise", `unchanged-${app}.json`);
}

/** By hand: a schema library would take longer to load than all else takes. */
function readStamp(path: string): Stamp | undefined {
  try {
    const stamp: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isStamp(stamp) ? stamp : undefined;
  } catch {
    return undefined;
  }
}

function isStamp(value: unknown): value is Stamp {
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
