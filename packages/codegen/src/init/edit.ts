import type { SourceFile } from "ts-morph";
import { Project } from "../ts-morph.js";

/** What `init` does to one file. It refuses a change that could break something: the user makes that one. */
export type Edit = { readonly file: string; readonly what: string } & (
  | { readonly kind: "create" | "change"; readonly text: string }
  | { readonly kind: "keep" | "refuse" }
);

/** Text put into a text at a position. */
export interface Insertion {
  readonly at: number;
  readonly text: string;
  /** Where the text ends that it replaces. Default: it replaces none. */
  readonly until?: number;
}

/** Makes all insertions at once: positions are those of the given text, whose line ends are kept. */
export function insert(text: string, insertions: readonly Insertion[]): string {
  const lineEnd = text.includes("\r\n") ? "\r\n" : "\n";
  let result = text;
  const lastFirst = insertions.toReversed().sort((a, b) => b.at - a.at);
  for (const { at, text: added, until = at } of lastFirst)
    result = result.slice(0, at) + added.replaceAll("\n", lineEnd) + result.slice(until);
  return result;
}

/** A text as a file; undefined when it does not parse. Places in it are those in the text. */
export function parse(text: string): SourceFile | undefined {
  const project = new Project({ useInMemoryFileSystem: true, skipLoadingLibFiles: true });
  const source = project.createSourceFile("/file.ts", text.replace(/^\ufeff/, " "));
  const { parseDiagnostics = [] } = source.compilerNode as unknown as {
    parseDiagnostics?: unknown[];
  };
  return parseDiagnostics.length === 0 ? source : undefined;
}
