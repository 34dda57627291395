import { ts, type TypeScript } from "../ts-morph.js";
import { unlessTooDeep } from "./depth.js";
import { childrenOf } from "./descendants.js";
import type { ModuleEdge, ModuleFacts } from "./import-cycles.js";
import { importsOf } from "./modules.js";

/** Parses a file that is no definition, to see what it imports. */
export function parseModuleFacts(file: string, text: string): ModuleFacts {
  const parse = () => ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const source = unlessTooDeep(parse);
  return source === undefined ? { edges: [], functions: [] } : moduleFactsOf(source);
}

/** The modules that a file takes values from, and which of these it reads while it is loaded. */
export function moduleFactsOf(source: TypeScript.SourceFile): ModuleFacts {
  const imports = importsOf(source);
  const used = usedNames(source, new Set(imports.keys()));
  const edges = source.statements.flatMap((statement): ModuleEdge[] => {
    const isImport = ts.isImportDeclaration(statement);
    if (!isImport && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
    const module = moduleSpecifier.text;
    if (!module.startsWith(".")) return [];
    const start = moduleSpecifier.getStart(source);
    const { line, character } = source.getLineAndCharacterOfPosition(start);
    const place = { line: line + 1, column: character + 1, length: moduleSpecifier.end - start };
    if (!isImport) return statement.isTypeOnly ? [] : [{ module, reads: [], place }];
    if (statement.importClause === undefined) return [{ module, reads: [], place }];
    const names = namesOf(statement.importClause).filter((name) => used.has(name));
    const read = names.filter((name) => used.get(name) === true);
    const reads = read.map((name) => imports.get(name)?.imported ?? name);
    return names.length === 0 ? [] : [{ module, reads, place }];
  });
  return { edges, functions: source.statements.flatMap(functionName) };
}

/** The local names that an import gives for values. */
function namesOf({ name, namedBindings, isTypeOnly }: TypeScript.ImportClause): string[] {
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
  return [
    ...(statement.name === undefined ? [] : [statement.name.text]),
    ...(isDefault === true ? ["default"] : []),
  ];
}

/** The names of a set that a file uses as values, and whether it does so while it is loaded. */
function usedNames(
  source: TypeScript.SourceFile,
  names: ReadonlySet<string>,
): ReadonlyMap<string, boolean> {
  const used = new Map<string, boolean>();
  const definesWorkflows = source.text.includes("defineWorkflow");
  const waiting: [part: TypeScript.Node, isRun: boolean][] = source.statements.map((each) => [
    each,
    true,
  ]);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [part, isRun] = next;
    if (ts.isIdentifier(part)) {
      if (names.has(part.text)) used.set(part.text, isRun || used.get(part.text) === true);
      continue;
    }
    const isInside = isRun && !isLater(part, definesWorkflows);
    for (const child of valuesIn(part)) waiting.push([child, isInside]);
  }
  return used;
}

/** What is below a node and may use a name as a value: no types, and no names of members. */
function valuesIn(part: TypeScript.Node): readonly TypeScript.Node[] {
  if (ts.isImportDeclaration(part) || ts.isExportDeclaration(part)) return [];
  if (ts.isInterfaceDeclaration(part) || ts.isTypeAliasDeclaration(part)) return [];
  if (ts.isPropertyAccessExpression(part)) return [part.expression];
  if (ts.isPropertyAssignment(part))
    return ts.isComputedPropertyName(part.name)
      ? [part.name, part.initializer]
      : [part.initializer];
  if (ts.isExpressionWithTypeArguments(part)) return [part.expression];
  return childrenOf(part).filter(
    (child) => ts.isExpressionWithTypeArguments(child) || !ts.isTypeNode(child),
  );
}

/** Whether what is below a node runs later than the file is loaded: functions, but for those that are called at once. */
function isLater(part: TypeScript.Node, definesWorkflows: boolean): boolean {
  if (ts.isPropertyDeclaration(part))
    return part.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword) !== true;
  if (!ts.isFunctionLike(part)) return false;
  return !(definesWorkflows && isBody(part));
}

/** `body: (b) => …`, and the cases of a branch: `defineWorkflow` calls them to see their nodes. */
function isBody(part: TypeScript.Node): boolean {
  const property = part.parent;
  if (property === undefined || !ts.isPropertyAssignment(property)) return false;
  if (nameIn(property) === "body") return true;
  const around = property.parent.parent;
  return ts.isPropertyAssignment(around) && nameIn(around) === "cases";
}

const nameIn = ({ name }: TypeScript.PropertyAssignment): string =>
  ts.isIdentifier(name) || ts.isStringLiteral(name) ? name.text : "";
