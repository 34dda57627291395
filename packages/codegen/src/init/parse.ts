import type { SourceFile } from "ts-morph";
import { Project } from "../ts-morph.js";

/** A text as a file; undefined when it does not parse. Places in it are those in the text. */
export function parse(text: string): SourceFile | undefined {
  const project = new Project({ useInMemoryFileSystem: true, skipLoadingLibFiles: true });
  const source = project.createSourceFile("/file.ts", text.replace(/^\ufeff/, " "));
  const { parseDiagnostics = [] } = source.compilerNode as unknown as {
    parseDiagnostics?: unknown[];
  };
  return parseDiagnostics.length === 0 ? source : undefined;
}
