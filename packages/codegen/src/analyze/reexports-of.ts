import { ts, type TypeScript } from "../ts-morph.js";
import { unlessTooDeep } from "./depth.js";
import type { Reexport } from "./reexports.js";

/** Parses a file that is no definition, to see what it hands on. */
export function parseReexports(file: string, text: string): Reexport[] {
  const parse = () => ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const source = unlessTooDeep(parse);
  return source === undefined ? [] : reexportsOf(source);
}

/** `export … from "…"`, and exports of what the file imports. */
export function reexportsOf(source: TypeScript.SourceFile): Reexport[] {
  const found: Reexport[] = [];
  const add = (exported: string, imported: string, module: string) =>
    found.push({ exported, imported, module });
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
