import { ts, type TypeScript } from "../ts-morph.js";
import { bareSource } from "./depth.js";
import { importsOf } from "./modules.js";
import type { Reexport } from "./reexports.js";

/** Parses a file that is no definition, to see what it hands on. */
export function parseReexports(file: string, text: string): Reexport[] {
  const source = bareSource(file, text);
  return source === undefined ? [] : reexportsOf(source);
}

/** `export … from "…"`, and exports of what the file imports. */
export function reexportsOf(source: TypeScript.SourceFile): Reexport[] {
  const imports = importsOf(source);
  return source.statements.flatMap((statement): Reexport[] => {
    if (!ts.isExportDeclaration(statement) || statement.isTypeOnly) return [];
    const { moduleSpecifier, exportClause } = statement;
    const isFrom = moduleSpecifier !== undefined && ts.isStringLiteral(moduleSpecifier);
    const from = isFrom ? moduleSpecifier.text : undefined;
    if (exportClause === undefined || ts.isNamespaceExport(exportClause)) {
      const exported = exportClause?.name.text ?? "*";
      return from === undefined ? [] : [{ exported, imported: "*", module: from }];
    }
    return exportClause.elements.flatMap(({ name, propertyName, isTypeOnly }): Reexport[] => {
      const local = (propertyName ?? name).text;
      const found = from === undefined ? imports.get(local) : { imported: local, module: from };
      if (isTypeOnly || found === undefined) return [];
      return [{ exported: name.text, imported: found.imported, module: found.module }];
    });
  });
}
