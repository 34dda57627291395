import type { SourceFile } from "ts-morph";
import { jsName } from "../plan/js-name.js";
import { Node, ts, type TypeScript } from "../ts-morph.js";

/** What a name that is imported stands for. */
export interface Import {
  readonly module: string;
  /** The name in that module; `*` for the whole module. */
  readonly imported: string;
  readonly typeOnly: boolean;
  /** Whether it stands for `import name = require("module")`. */
  readonly isRequired?: true;
}

/** Over the bare syntax tree: every file has several of them, and hardly any is looked at again. */
export function importsOf(source: TypeScript.SourceFile): Map<string, Import> {
  const imports = new Map<string, Import>();
  for (const statement of source.statements) {
    if (ts.isImportEqualsDeclaration(statement)) {
      const { name, isTypeOnly: typeOnly } = statement;
      const module = requiredModule(statement)?.text;
      if (module !== undefined)
        imports.set(name.text, { module, imported: "*", typeOnly, isRequired: true });
    }
    if (!ts.isImportDeclaration(statement) || statement.importClause === undefined) continue;
    const { moduleSpecifier, importClause } = statement;
    const module = ts.isStringLiteral(moduleSpecifier) ? moduleSpecifier.text : "";
    const { name, namedBindings, isTypeOnly: typeOnly } = importClause;
    if (name !== undefined) imports.set(name.text, { module, imported: "default", typeOnly });
    if (namedBindings === undefined) continue;
    if (ts.isNamespaceImport(namedBindings)) {
      imports.set(namedBindings.name.text, { module, imported: "*", typeOnly });
      continue;
    }
    for (const named of namedBindings.elements) {
      const imported = exportedAs(named.propertyName ?? named.name);
      imports.set(named.name.text, { module, imported, typeOnly: typeOnly || named.isTypeOnly });
    }
  }
  return imports;
}

export function requiredModule({
  moduleReference,
}: TypeScript.ImportEqualsDeclaration): TypeScript.StringLiteral | undefined {
  if (!ts.isExternalModuleReference(moduleReference)) return undefined;
  const { expression } = moduleReference;
  return ts.isStringLiteral(expression) ? expression : undefined;
}

/** A name that a module exports, in quotes where it is no identifier: `export { a as "b c" }`. */
function exportedAs(name: TypeScript.ModuleExportName): string {
  return ts.isIdentifier(name) || jsName.test(name.text) ? name.text : JSON.stringify(name.text);
}

/** The names under which each local variable is exported. */
export function exportsOf(source: SourceFile): Map<string, string[]> {
  const exports = new Map<string, string[]>();
  const add = (local: string, exported: string) => {
    const names = exports.get(local) ?? [];
    if (!names.includes(exported)) exports.set(local, [...names, exported]);
  };
  for (const statement of source.getVariableStatements()) {
    if (!statement.hasExportKeyword()) continue;
    for (const declaration of statement.getDeclarations())
      add(declaration.getName(), declaration.getName());
  }
  for (const declaration of source.getExportDeclarations()) {
    if (declaration.getModuleSpecifierValue() !== undefined || declaration.isTypeOnly()) continue;
    for (const named of declaration.getNamedExports()) {
      if (!named.isTypeOnly()) add(named.getName(), exportedAs(named.compilerNode.name));
    }
  }
  for (const assignment of source.getExportAssignments()) {
    const expression = assignment.getExpression();
    if (!assignment.isExportEquals() && Node.isIdentifier(expression))
      add(expression.getText(), "default");
  }
  return exports;
}

/** The local names of what a file imports under `imported`, from whichever module. */
export function localNamesOf(imports: ReadonlyMap<string, Import>, imported: string): Set<string> {
  return new Set(
    [...imports].filter(([, from]) => from.imported === imported).map(([local]) => local),
  );
}

/** Whether an expression is an import: `defineWorkflow`, an alias, or `stepwise.defineWorkflow`. */
export function isImported(
  node: Node,
  imports: ReadonlyMap<string, Import>,
  imported: string,
): boolean {
  if (Node.isIdentifier(node)) return imports.get(node.getText())?.imported === imported;
  if (!Node.isPropertyAccessExpression(node) || node.getName() !== imported) return false;
  const owner = node.getExpression();
  const from = Node.isIdentifier(owner) ? imports.get(owner.getText()) : undefined;
  return from?.imported === "*" && from.isRequired !== true;
}
