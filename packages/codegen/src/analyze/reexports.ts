import { ts, type TypeScript } from "../ts-morph.js";
import { resolveModule } from "../plan/paths.js";
import type { DefinitionFile } from "./definition-file.js";
import { moduleFile, type ReadModule } from "./node-runtime.js";

/** A name that a file hands on from another one. */
interface Reexport {
  /** The name under which it does; `*` for all that the other file exports. */
  readonly exported: string;
  /** The name in the other file; `*` for all of it. */
  readonly imported: string;
  /** The other file, without its ending. */
  readonly module: string;
}

/** The names that files hand on, by the file without its ending. */
export type Reexports = ReadonlyMap<string, readonly Reexport[]>;

/** A name in a file, which is given without its ending. */
export interface Target {
  readonly module: string;
  readonly name: string;
}

/**
 * What the definition files hand on, and the files that they import from: a workflow may be named by way of files which only hand it on.
 */
export function allReexports(files: readonly DefinitionFile[], read: ReadModule): Reexports {
  const reexports = new Map<string, readonly Reexport[]>();
  const waiting: { from: string; module: string }[] = [];
  const add = (module: string, file: string, source: TypeScript.SourceFile) => {
    const found = reexportsOf(file, source);
    reexports.set(module, found);
    waiting.push(...found.map((each) => ({ from: "", module: `./${each.module}` })));
  };
  for (const { file, source } of files) add(withoutEnding(file), file, source.compilerNode);
  for (const { file, imports } of files) {
    for (const { module, typeOnly } of imports.values())
      if (!typeOnly) waiting.push({ from: file, module });
  }
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const module = resolveModule(next.from, next.module);
    if (module === undefined || reexports.has(module)) continue;
    const found = moduleFile(next.from, next.module, read);
    if (found === undefined || !/\bexport\s*[{*]/.test(found.text)) reexports.set(module, []);
    else
      add(module, found.file, ts.createSourceFile(found.file, found.text, ts.ScriptTarget.Latest));
  }
  return reexports;
}

/** Where a name may be declared: in the file itself first, then in those that it is handed on from. */
export function placesOf(
  target: Target,
  reexports: Reexports,
  seen: ReadonlySet<string> = new Set(),
): Target[] {
  const key = `${target.module}\n${target.name}`;
  if (seen.has(key)) return [];
  const path = new Set([...seen, key]);
  const further = (reexports.get(target.module) ?? [])
    .filter(({ exported, imported }) =>
      exported === "*" ? target.name !== "default" : exported === target.name && imported !== "*",
    )
    .flatMap(({ exported, imported, module }) =>
      placesOf({ module, name: exported === "*" ? target.name : imported }, reexports, path),
    );
  return [target, ...further];
}

/** `export … from "…"`, and exports of what the file imports. */
export function reexportsOf(file: string, source: TypeScript.SourceFile): Reexport[] {
  const found: Reexport[] = [];
  const add = (exported: string, imported: string, from: string) => {
    const module = resolveModule(file, from);
    if (module !== undefined) found.push({ exported, imported, module });
  };
  const imports = new Map<string, { imported: string; from: string }>();
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement) && ts.isStringLiteral(statement.moduleSpecifier)) {
      const from = statement.moduleSpecifier.text;
      const bindings = statement.importClause?.namedBindings;
      if (bindings === undefined) continue;
      if (ts.isNamespaceImport(bindings)) imports.set(bindings.name.text, { imported: "*", from });
      else
        for (const { name, propertyName } of bindings.elements)
          imports.set(name.text, { imported: (propertyName ?? name).text, from });
    }
  }
  for (const statement of source.statements) {
    if (!ts.isExportDeclaration(statement) || statement.isTypeOnly) continue;
    const { moduleSpecifier, exportClause } = statement;
    const from =
      moduleSpecifier !== undefined && ts.isStringLiteral(moduleSpecifier)
        ? moduleSpecifier.text
        : undefined;
    if (exportClause === undefined) {
      if (from !== undefined) add("*", "*", from);
    } else if (ts.isNamespaceExport(exportClause)) {
      if (from !== undefined) add(exportClause.name.text, "*", from);
    } else {
      for (const { name, propertyName, isTypeOnly } of exportClause.elements) {
        const local = (propertyName ?? name).text;
        const imported = imports.get(local);
        if (isTypeOnly) continue;
        if (from !== undefined) add(name.text, local, from);
        else if (imported !== undefined) add(name.text, imported.imported, imported.from);
      }
    }
  }
  return found;
}

const withoutEnding = (file: string): string => file.replace(/\.[jt]s$/, "");
