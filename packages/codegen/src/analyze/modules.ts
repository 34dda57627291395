import { placeAt } from "../diagnostics/diagnostic.js";
import { jsName } from "../plan/constants.js";
import { once } from "../plan/once.js";
import { type Node, ts, type TypeScript } from "../typescript.js";
import { allBelow, bareSource } from "./descendants.js";
import { unlessTooDeep } from "./depth.js";
import { declarationsOf, hasModifier, isHidden } from "./scoping.js";
import { isLoading, valueUses } from "./values-used.js";
import type { ModuleEdge } from "./import-cycles.js";
import type { Reexport } from "./workflows.js";

export interface Import {
  readonly module: string;
  /** The name in that module; `*` for the whole module. */
  readonly imported: string;
  readonly typeOnly: boolean;
  /** Says whether it stands for `import name = require("module")`. */
  readonly isRequired?: true;
}

/** Over the bare syntax tree: every file has several of them, and hardly any is looked at again. */
export const importsOf = once(
  (source: TypeScript.SourceFile): ReadonlyMap<string, Import> =>
    new Map(source.statements.flatMap(importsIn)),
);

function importsIn(statement: TypeScript.Statement): [local: string, of: Import][] {
  const module = specifierOf(statement)?.text;
  if (module === undefined) return [];
  if (ts.isImportEqualsDeclaration(statement)) {
    const { name, isTypeOnly: typeOnly } = statement;
    return [[name.text, { module, imported: "*", typeOnly, isRequired: true }]];
  }
  if (!ts.isImportDeclaration(statement) || statement.importClause === undefined) return [];
  const { name, namedBindings, isTypeOnly: typeOnly } = statement.importClause;
  const imports: [string, Import][] = [];
  if (name !== undefined) imports.push([name.text, { module, imported: "default", typeOnly }]);
  if (namedBindings !== undefined && ts.isNamespaceImport(namedBindings))
    imports.push([namedBindings.name.text, { module, imported: "*", typeOnly }]);
  else
    for (const named of namedBindings?.elements ?? []) {
      const imported = exportedAs(named.propertyName ?? named.name);
      const isType = typeOnly || named.isTypeOnly;
      imports.push([named.name.text, { module, imported, typeOnly: isType }]);
    }
  return imports;
}

/** A name that a module exports, in quotes where it is no identifier: `export { a as "b c" }`. */
function exportedAs(name: TypeScript.ModuleExportName): string {
  return ts.isIdentifier(name) || jsName.test(name.text) ? name.text : JSON.stringify(name.text);
}

/** The names that a file exports its own values by, by what it calls these itself. */
export const exportsOf = once((source: TypeScript.SourceFile) => {
  const names = new Map<string, string[]>();
  for (const { exported, imported: local, module } of reexportsOf(source)) {
    if (module !== undefined) continue;
    const others = names.get(local);
    if (others === undefined) names.set(local, [exported]);
    else if (!others.includes(exported)) others.push(exported);
  }
  return names as ReadonlyMap<string, readonly string[]>;
});

export function localNamesOf(imports: ReadonlyMap<string, Import>, imported: string): Set<string> {
  return new Set(
    [...imports].filter(([, from]) => from.imported === imported).map(([local]) => local),
  );
}

/**
 * Says whether an expression is an import: `defineWorkflow`, an alias, or
 * `stepwise.defineWorkflow`.
 */
export function isImported(node: Node, imports: ReadonlyMap<string, Import>, imported: string) {
  // What a function around it declares has the name of an import alone.
  if (ts.isIdentifier(node))
    return imports.get(node.text)?.imported === imported && !isHidden(node);
  if (!ts.isPropertyAccessExpression(node) || node.name.text !== imported) return false;
  const owner = node.expression;
  const from = ts.isIdentifier(owner) && !isHidden(owner) ? imports.get(owner.text) : undefined;
  return from?.imported === "*" && from.isRequired !== true;
}

export function parseModuleEdges(file: string, text: string): ModuleEdge[] {
  const edges = unlessTooDeep(() => {
    const source = bareSource(file, text);
    return source && moduleEdgesOf(source);
  });
  return edges ?? [];
}

/** The modules that a file takes values from, and whether it uses these while it is loaded. */
export function moduleEdgesOf(source: TypeScript.SourceFile): ModuleEdge[] {
  const edgeTo = (module: string, isNeeded: boolean, at: Node): ModuleEdge => {
    const start = at.getStart(source);
    return {
      module,
      isNeeded,
      place: placeAt(source.fileName, source.text, start, at.end - start),
    };
  };
  const imports = importsOf(source);
  const allUses = valueUses(source, (name) => imports.has(name));
  const edges = source.statements.flatMap((statement): ModuleEdge[] => {
    const specifier = specifierOf(statement);
    if (specifier === undefined) return [];
    const names = namesOf(statement);
    if (names === undefined) return [edgeTo(specifier.text, false, specifier)];
    const uses = allUses.filter(({ text }) => names.includes(text));
    if (uses.length === 0) return [];
    return [edgeTo(specifier.text, uses.some(isLoading), specifier)];
  });
  const loads = mayLoad(source.text) ? allBelow(source) : [];
  return [
    ...edges,
    ...loads.flatMap((part) => {
      const { load, name } = loadedBy(part) ?? {};
      const isNow = load === "require" || !isUnawaited(part);
      return name !== undefined && isNow && isLoading(part) ? [edgeTo(name, true, part)] : [];
    }),
  ];
}

/** `import("./x").then(…)`, for whose end nothing waits: it runs once the file is loaded. */
const isUnawaited = ({ parent }: Node): boolean =>
  ts.isPropertyAccessExpression(parent) ||
  ts.isExpressionStatement(parent) ||
  ts.isVoidExpression(parent);

/**
 * Returns what a call of `import` or `require` loads; the name is undefined if it is not written
 * out.
 */
export function loadedBy(part: Node): { load: string; name?: string } | undefined {
  if (!ts.isCallExpression(part)) return undefined;
  const [name] = part.arguments;
  const { expression } = part;
  const isRequire = ts.isIdentifier(expression) && expression.text === "require";
  const isLoad = isRequire || expression.kind === ts.SyntaxKind.ImportKeyword;
  if (!isLoad || name === undefined) return undefined;
  return { load: isRequire ? "require" : "import", name: writtenText(name) };
}

/** A text that is written out, in one piece or in several: `"./" + "name"`. */
function writtenText(node: TypeScript.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isParenthesizedExpression(node)) return writtenText(node.expression);
  const isSum = ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken;
  const [left, right] = isSum ? [writtenText(node.left), writtenText(node.right)] : [];
  return left === undefined || right === undefined ? undefined : left + right;
}

export const mayLoad = (text: string): boolean => /\b(import|require)\s*\(/.test(text);

/** The name of the module that a statement is about: an import, an export, or a `require`. */
export function specifierOf(statement: TypeScript.Statement): TypeScript.StringLiteral | undefined {
  let specifier: Node | undefined;
  if (ts.isImportEqualsDeclaration(statement)) {
    const { moduleReference } = statement;
    if (ts.isExternalModuleReference(moduleReference)) specifier = moduleReference.expression;
  } else if (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement))
    specifier = statement.moduleSpecifier;
  return specifier && ts.isStringLiteral(specifier) ? specifier : undefined;
}

/** The local names that an import gives for values; undefined if its module always loads. */
export function namesOf(statement: TypeScript.Statement): string[] | undefined {
  if (ts.isExportDeclaration(statement)) return statement.isTypeOnly ? [] : undefined;
  if (ts.isImportDeclaration(statement) && statement.importClause === undefined) return undefined;
  return importsIn(statement).flatMap(([name, { typeOnly }]) => (typeOnly ? [] : [name]));
}

export function parseReexports(file: string, text: string): readonly Reexport[] {
  const source = bareSource(file, text);
  return source === undefined ? [] : reexportsOf(source);
}

/** `export const name = …`, `export default name` and `export default function name() {}` */
function namesExported(statement: TypeScript.Statement): [exported: string, local: string][] {
  if (ts.isExportAssignment(statement)) {
    const isDefault = !statement.isExportEquals && ts.isIdentifier(statement.expression);
    return isDefault ? [["default", statement.expression.text]] : [];
  }
  if (!hasModifier(statement, ts.SyntaxKind.ExportKeyword)) return [];
  const isDefault = hasModifier(statement, ts.SyntaxKind.DefaultKeyword);
  return declarationsOf(statement).map(([name]) => [isDefault ? "default" : name, name]);
}

/** Returns what a file exports by name, and all that it hands on from other modules. */
export const reexportsOf = once((source: TypeScript.SourceFile): readonly Reexport[] => {
  const imports = importsOf(source);
  return source.statements.flatMap((statement): Reexport[] => {
    const given = (exported: string, local: string, from?: string): Reexport => {
      const of = from === undefined ? imports.get(local) : { imported: local, module: from };
      return { exported, imported: of?.imported ?? local, module: of?.module };
    };
    if (!ts.isExportDeclaration(statement))
      return namesExported(statement).map(([exported, local]) => given(exported, local));
    const { exportClause } = statement;
    if (statement.isTypeOnly) return [];
    const from = specifierOf(statement)?.text;
    if (exportClause === undefined || ts.isNamespaceExport(exportClause)) {
      const exported = exportClause?.name.text ?? "*";
      return from === undefined ? [] : [{ exported, imported: "*", module: from }];
    }
    return exportClause.elements
      .filter(({ isTypeOnly }) => !isTypeOnly)
      .map(({ name, propertyName }) =>
        given(exportedAs(name), exportedAs(propertyName ?? name), from),
      );
  });
});
