import { statSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import type { Baseline } from "../compatibility/baseline.js";
import type { Change } from "../compatibility/lines.js";
import { codes } from "../diagnostics/codes.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { definitionFiles, originOf, placeOfDefine } from "../discover/discover.js";
import { readIn, stampWhenRead } from "../discover/discover.js";
import type { SourceText } from "../discover/discover.js";
import { settledStamp, stampOf } from "../discover/stamp.js";
import { refsState } from "../git/refs.js";
import type { GeneratedFile } from "../emit/emit.js";
import type { Tombstones } from "../plan/schema.js";
import { hashOf } from "../plan/hash-of.js";
import { compilerVersion } from "../version.js";
import { presentFiles } from "../write/present-files.js";
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
  readonly branches: string;
  readonly sources: readonly string[];
  readonly consulted: readonly string[];
  /** The folders of the output. */
  readonly folders: readonly string[];
  /** All that the output depends on, and the output itself, by path. */
  readonly files: Readonly<Record<string, Known>>;
}

/**
 * A hash of what a file held: null if it was not there, or empty if all that counts is that it
 * defines no workflow. It need not be read while its `stamp` is the same.
 */
type Known = readonly [hash: string | null, stamp?: string];

const fileOf = (functionsDir: string): CacheFile =>
  CacheFile.of(functionsDir, "unchanged", compilerIdentity());

/** Returns what was compiled last, if definitions, output and compiler are the same. */
export function unchangedSince(functionsDir: string): LastCompile | undefined {
  const cache = fileOf(functionsDir);
  const bytes = cache.read();
  if (bytes === undefined) return undefined;
  // Nothing else is written to that file.
  const last = JSON.parse(bytes.toString()) as LastCompile;
  const { files, others, linked, links, unreadable } = definitionFiles(functionsDir);
  const isNew = (file: string) => last.files[file] === undefined;
  if (linked.length + unreadable.length > 0 || files.join("\n") !== last.sources.join("\n"))
    return undefined;
  if (hashOf(refsState(functionsDir)) !== last.branches) return undefined;
  if (others.filter(isNew).some((file) => !isSame(functionsDir, file, "", false))) return undefined;
  if (presentFiles(functionsDir, last.folders, isNew).own.size > 0) return undefined;
  const now: Record<string, Known> = {};
  for (const [file, [hash, stamp]] of Object.entries(last.files)) {
    const path = `${functionsDir}/${file}`;
    if (stamp !== undefined && stampOf(path) === stamp) continue;
    const settled = hash === null || links.includes(file) ? undefined : settledStamp(path);
    if (!isSame(functionsDir, file, hash, links.includes(file))) return undefined;
    if (settled !== undefined) now[file] = [hash, settled];
  }
  // Next time these are not read either.
  if (Object.keys(now).length > 0)
    cache.write(() => [Buffer.from(JSON.stringify({ ...last, files: { ...last.files, ...now } }))]);
  return last;
}

/** Says whether a file still holds what it held. */
function isSame(functionsDir: string, file: string, hash: string | null, isLink: boolean): boolean {
  const text = readIn(functionsDir, file);
  if (hash === "") return text === undefined || placeOfDefine(text) === undefined;
  if (text === undefined) return hash === null;
  return hashOf(isLink ? `${originOf(functionsDir, file)}\n${text}` : text) === hash;
}

/** Keeps what was compiled; `contents` is what the compiler read, which may have changed since. */
export function keepLastCompile(functionsDir: string, contents: Contents, answer: Answer): void {
  const { sources, consulted, outputs, branches } = contents;
  const { others, linked, unreadable } = definitionFiles(functionsDir);
  if (linked.length + unreadable.length > 0) return;
  if (answer.diagnostics.some(({ code }) => code === codes.misnamedFile.code)) return;
  fileOf(functionsDir).write(() => {
    const files: Record<string, Known> = {};
    const keep = (file: string, hash: string | null, isRead = false) => {
      const path = `${functionsDir}/${file}`;
      const stamp = isRead ? undefined : (stampWhenRead(path) ?? settledStamp(path));
      files[file] = stamp === undefined ? [hash] : [hash, stamp];
    };
    // What is edited most comes first: after a change the rest is not looked at.
    for (const { file, text, origin } of sources)
      keep(file, hashOf(origin === undefined ? text : `${origin}\n${text}`), origin !== undefined);
    for (const file of others) keep(file, "");
    for (const [file, text] of consulted)
      keep(file, text === undefined ? null : hashOf(text), file.endsWith("/"));
    for (const file of outputs)
      if (file.there === undefined) keep(file.path, hashOf(file.text));
      else files[file.path] = [file.there.hash, file.there.stamp];
    const last: LastCompile = {
      branches: hashOf(branches),
      sources: sources.map(({ file }) => file),
      consulted: [...consulted.keys()].sort(),
      folders: [...new Set(outputs.map(({ path }) => posix.dirname(path)))].sort(),
      files,
      ...answer,
    };
    return [Buffer.from(JSON.stringify(last))];
  });
}

/** All that the output of the compiler depends on, and the output itself. */
interface Contents {
  readonly sources: readonly SourceText[];
  readonly consulted: ReadonlyMap<string, string | undefined>;
  readonly outputs: readonly GeneratedFile[];
  /** Where the main branch is, by `refsState`: what is gone since then gets a tombstone. */
  readonly branches: string;
}

/** The compiler's version, and when this file was installed: a build may have the same version. */
export function compilerIdentity(): string {
  return `${compilerVersion()} ${statSync(fileURLToPath(import.meta.url)).mtimeMs}`;
}
