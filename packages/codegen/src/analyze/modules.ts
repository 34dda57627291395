import type { SourceFile } from "ts-morph";
import { placeAt } from "../diagnostics/diagnostic.js";
import { jsName } from "../plan/constants.js";
import { Node, ts, type TypeScript } from "../ts-morph.js";
import { bareSource, childrenOf } from "./descendants.js";
import { declarationsOf } from "./scoping.js";
import type { ModuleEdge, ModuleFacts } from "./import-cycles.js";
import type { Reexport } from "./workflows.js";

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
    const module = specifierOf(statement)?.text;
    if (module === undefined || ts.isExportDeclaration(statement)) continue;
    if (ts.isImportEqualsDeclaration(statement)) {
      const { name, isTypeOnly: typeOnly } = statement;
      imports.set(name.text, { module, imported: "*", typeOnly, isRequired: true });
    } else if (ts.isImportDeclaration(statement) && statement.importClause !== undefined) {
      const { name, namedBindings, isTypeOnly: typeOnly } = statement.importClause;
      if (name !== undefined) imports.set(name.text, { module, imported: "default", typeOnly });
      if (namedBindings !== undefined && ts.isNamespaceImport(namedBindings))
        imports.set(namedBindings.name.text, { module, imported: "*", typeOnly });
      else
        for (const named of namedBindings?.elements ?? []) {
          const imported = exportedAs(named.propertyName ?? named.name);
          const isType = typeOnly || named.isTypeOnly;
          imports.set(named.name.text, { module, imported, typeOnly: isType });
        }
    }
  }
  return imports;
}

/** A name that a module exports, in quotes where it is no identifier: `export { a as "b c" }`. */
function exportedAs(name: TypeScript.ModuleExportName): string {
  return ts.isIdentifier(name) || jsName.test(name.text) ? name.text : JSON.stringify(name.text);
}

export function exportsOf(source: SourceFile): Map<string, string[]> {
  const exports = new Map<string, string[]>();
  const add = (local: string, exported: string) =>
    exports.set(local, [...new Set([...(exports.get(local) ?? []), exported])]);
  for (const declaration of source.getVariableDeclarations())
    if (declaration.hasExportKeyword()) add(declaration.getName(), declaration.getName());
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

export function parseModuleFacts(file: string, text: string): ModuleFacts {
  const source = bareSource(file, text);
  return source === undefined ? { edges: [], functions: [] } : moduleFactsOf(source);
}

/** The modules that a file takes values from, and which of these it reads while it is loaded. */
export function moduleFactsOf(source: TypeScript.SourceFile): ModuleFacts {
  const imports = importsOf(source);
  const edgeTo = (module: string, reads: readonly string[], at: TypeScript.Node): ModuleEdge => {
    const start = at.getStart(source);
    return { module, reads, place: placeAt(source.fileName, source.text, start, at.end - start) };
  };
  const loads: ModuleEdge[] = [];
  const hasLoads = mayLoad(source.text);
  /** The names that the file uses as values, and whether it does so while it is loaded. */
  const used = new Map<string, boolean>();
  const visit = (part: TypeScript.Node, isRun: boolean) => {
    if (ts.isIdentifier(part)) used.set(part.text, isRun || used.get(part.text) === true);
    const module = hasLoads && isRun ? loadedBy(part)?.name : undefined;
    if (module !== undefined) loads.push(edgeTo(module, ["*"], part));
  };
  eachValue(source, visit, bodiesIn(source));
  const edges = source.statements.flatMap((statement): ModuleEdge[] => {
    const specifier = specifierOf(statement);
    if (specifier === undefined) return [];
    const given = namesOf(statement);
    if (given === undefined) return [edgeTo(specifier.text, [], specifier)];
    const names = given.filter((name) => used.has(name));
    const read = names.filter((name) => used.get(name) === true);
    const reads = read.map((name) => imports.get(name)?.imported ?? name);
    return names.length === 0 ? [] : [edgeTo(specifier.text, reads, specifier)];
  });
  return { edges: [...edges, ...loads], functions: source.statements.flatMap(functionName) };
}

/** What a call of `import` or `require` loads; the name is undefined if it is not written out. */
export function loadedBy(part: TypeScript.Node): { load: string; name?: string } | undefined {
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
  let specifier: TypeScript.Node | undefined;
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
  if (ts.isImportEqualsDeclaration(statement))
    return statement.isTypeOnly ? [] : [statement.name.text];
  const clause = ts.isImportDeclaration(statement) ? statement.importClause : undefined;
  if (clause === undefined) return undefined;
  const { name, namedBindings, isTypeOnly } = clause;
  if (isTypeOnly) return [];
  const whole = name === undefined ? [] : [name.text];
  if (namedBindings === undefined) return whole;
  if (ts.isNamespaceImport(namedBindings)) return [...whole, namedBindings.name.text];
  const named = namedBindings.elements.filter((each) => !each.isTypeOnly);
  return [...whole, ...named.map((each) => each.name.text)];
}

/** A function is there before anything of its file has run. */
function functionName(statement: TypeScript.Statement): string[] {
  if (!ts.isFunctionDeclaration(statement)) return [];
  const isDefault = statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword);
  return [...(statement.name ? [statement.name.text] : []), ...(isDefault ? ["default"] : [])];
}

export function valuesUsed(
  source: TypeScript.SourceFile,
): (readonly [name: TypeScript.Identifier, isRun: boolean])[] {
  const used: (readonly [TypeScript.Identifier, boolean])[] = [];
  eachValue(source, (part, isRun) => {
    if (ts.isIdentifier(part)) used.push([part, isRun]);
  });
  return used;
}

/** @param called bodies of functions that run while the file is loaded if it calls them then */
function eachValue(
  source: TypeScript.SourceFile,
  visit: (part: TypeScript.Node, isRun: boolean) => void,
  called = new Map<string, TypeScript.Node>(),
): void {
  const definesWorkflows = source.text.includes("defineWorkflow");
  const waiting = source.statements.map((each): [TypeScript.Node, boolean] => [each, true]);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [part, isRun] = next;
    visit(part, isRun);
    const callee = isRun && ts.isCallExpression(part) ? part.expression : undefined;
    const body = callee && ts.isIdentifier(callee) ? called.get(callee.text) : undefined;
    if (body !== undefined) {
      waiting.push([body, true]);
      called.delete(callee?.getText(source) ?? "");
    }
    const isInside = isRun && !isLater(part, definesWorkflows);
    for (const child of valuesIn(part)) waiting.push([child, isInside]);
  }
}

const bodiesIn = (source: TypeScript.SourceFile): Map<string, TypeScript.Node> =>
  new Map(
    source.statements.flatMap(declarationsOf).flatMap(([name, node]) => {
      const fn = ts.isVariableDeclaration(node) ? node.initializer : node;
      const isFunction = fn && (ts.isArrowFunction(fn) || ts.isFunctionExpression(fn));
      const body = fn && (isFunction || ts.isFunctionDeclaration(fn)) ? fn.body : undefined;
      return body === undefined ? [] : [[name, body] as const];
    }),
  );

/** What is below a node and may use a name as a value: no types, and no names of members. */
function valuesIn(part: TypeScript.Node): readonly TypeScript.Node[] {
  if (ts.isImportDeclaration(part) || ts.isExportDeclaration(part)) return [];
  // `import x = other.y` reads `other` while the file is loaded.
  if (ts.isImportEqualsDeclaration(part)) return [part.moduleReference];
  if (ts.isInterfaceDeclaration(part) || ts.isTypeAliasDeclaration(part)) return [];
  if (ts.isPropertyAccessExpression(part)) return [part.expression];
  if (ts.isQualifiedName(part)) return [part.left];
  if (ts.isPropertyAssignment(part))
    return ts.isComputedPropertyName(part.name)
      ? [part.name, part.initializer]
      : [part.initializer];
  if (ts.isExpressionWithTypeArguments(part)) return [part.expression];
  return childrenOf(part).filter(
    (child) => ts.isExpressionWithTypeArguments(child) || !ts.isTypeNode(child),
  );
}

/** Whether what is below runs after the file is loaded: functions not called at once. */
function isLater(part: TypeScript.Node, definesWorkflows: boolean): boolean {
  if (ts.isPropertyDeclaration(part))
    return part.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) !== true;
  if (!ts.isFunctionLike(part)) return false;
  return !isCalledAtOnce(part) && !(definesWorkflows && isBody(part));
}

/** `(() => …)()` */
function isCalledAtOnce(part: TypeScript.Node): boolean {
  const { parent } = part;
  if (ts.isParenthesizedExpression(parent)) return isCalledAtOnce(parent);
  return ts.isCallExpression(parent) && parent.expression === part;
}

/** `body: (b) => …`, and the cases of a branch: `defineWorkflow` calls them to see their nodes. */
function isBody(part: TypeScript.Node): boolean {
  const property = part.parent;
  if (!ts.isPropertyAssignment(property)) return false;
  if (nameIn(property) === "body") return true;
  const around = property.parent.parent;
  return ts.isPropertyAssignment(around) && nameIn(around) === "cases";
}

const nameIn = ({ name }: TypeScript.PropertyAssignment): string =>
  ts.isIdentifier(name) || ts.isStringLiteral(name) ? name.text : "";

export function parseReexports(file: string, text: string): Reexport[] {
  const source = bareSource(file, text);
  return source === undefined ? [] : reexportsOf(source);
}

/** `export … from "…"`, and exports of what the file imports. */
export function reexportsOf(source: TypeScript.SourceFile): Reexport[] {
  const imports = importsOf(source);
  return source.statements.flatMap((statement): Reexport[] => {
    if (!ts.isExportDeclaration(statement) || statement.isTypeOnly) return [];
    const { exportClause } = statement;
    const from = specifierOf(statement)?.text;
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
