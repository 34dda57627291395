import type { Identifier, SourceFile, SyntaxKind as Operator } from "ts-morph";
import { Node, SyntaxKind, ts, type TypeScript } from "../ts-morph.js";
import { once } from "../plan/once.js";
import { allBelow, identifiersIn, wrapped } from "./descendants.js";
import type { DefinitionFile } from "./parser.js";

/* Which declaration a name belongs to, decided by the blocks around it alone. */

/** What an identifier names, however it is escaped. */
export const nameOf = (id: Identifier): string => id.compilerNode.text;

export function boundNames(name: TypeScript.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((each) => (ts.isBindingElement(each) ? boundNames(each.name) : []));
}

type Declaration = readonly [name: string, node: TypeScript.NamedDeclaration];

const inList = ({ declarations }: TypeScript.VariableDeclarationList): Declaration[] =>
  declarations.flatMap((node) => boundNames(node.name).map((name) => [name, node] as const));

/** The names that a statement declares, each with its variable or the statement itself. */
export function declarationsOf(statement: TypeScript.Statement): Declaration[] {
  if (ts.isVariableStatement(statement)) return inList(statement.declarationList);
  const isDeclaration =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isEnumDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isModuleDeclaration(statement) ||
    ts.isImportEqualsDeclaration(statement);
  if (!isDeclaration || statement.name === undefined) return [];
  return ts.isIdentifier(statement.name) ? [[statement.name.text, statement]] : [];
}

/** Each `var` of a function or file, also inside a block or a loop. */
function varsOf(body: TypeScript.Node): Declaration[] {
  if (!/\bvar\b/.test(body.getSourceFile().text.slice(body.pos, body.end))) return [];
  const isAround = (part: TypeScript.Node) =>
    part === body ||
    ts.isFunctionLike(part) ||
    ts.isClassLike(part) ||
    ts.isModuleDeclaration(part);
  return allBelow(body)
    .filter(ts.isVariableDeclarationList)
    .filter(({ flags }) => (flags & ts.NodeFlags.BlockScoped) === 0)
    .filter((list) => ts.findAncestor(list, isAround) === body)
    .flatMap(inList);
}

/** The names that a file, function, block or the like declares for what is inside it. */
export const namesIn = once((part: TypeScript.Node): ReadonlySet<string> => {
  const names = new Set(declaredIn(part).map(([name]) => name));
  if ((ts.isFunctionExpression(part) || ts.isClassExpression(part)) && part.name !== undefined)
    names.add(part.name.text);
  return names;
});

const isFor = (part: TypeScript.Node) =>
  ts.isForStatement(part) || ts.isForOfStatement(part) || ts.isForInStatement(part);

function declaredIn(part: TypeScript.Node): readonly Declaration[] {
  if (ts.isSourceFile(part) || ts.isBlock(part)) {
    const isBody = ts.isSourceFile(part) || ts.isFunctionLike(part.parent);
    return [...part.statements.flatMap(declarationsOf), ...(isBody ? varsOf(part) : [])];
  }
  if (ts.isCaseOrDefaultClause(part)) return part.statements.flatMap(declarationsOf);
  if (ts.isFunctionLike(part))
    return part.parameters.flatMap((node) => boundNames(node.name).map((name) => [name, node]));
  const list = isFor(part) ? part.initializer : undefined;
  if (list !== undefined && ts.isVariableDeclarationList(list)) return inList(list);
  const caught = ts.isCatchClause(part) ? part.variableDeclaration : undefined;
  return caught === undefined ? [] : boundNames(caught.name).map((name) => [name, caught]);
}

/** Whether a name is declared at the top of a file, other than by an import from a module. */
export const isDeclaredInFile = (name: string, { source }: DefinitionFile): boolean =>
  namesIn(source.compilerNode).has(name);

/** Whether something between an identifier and `boundary` declares its name anew. */
export const isDeclaredBetween = (id: Identifier, boundary: Node): boolean =>
  isHidden(id.compilerNode, boundary.compilerNode);

export function isHidden(id: TypeScript.Identifier, boundary?: TypeScript.Node): boolean {
  const isType = ts.isTypeReferenceNode(id.parent);
  let inner: TypeScript.Node = id;
  for (let part = inner.parent; part !== boundary; part = part.parent) {
    if (ts.isSourceFile(part)) return false;
    // The computed name of a method stands outside it.
    const isOutside = ts.isComputedPropertyName(inner) && ts.isFunctionLike(part);
    const isLink = ts.isCallExpression(part) || ts.isPropertyAccessExpression(part);
    if (!isLink && !isOutside && declares(part, id.text, isType)) return true;
    inner = part;
  }
  return false;
}

function declares(part: TypeScript.Node, name: string, isType: boolean): boolean {
  if (namesIn(part).has(name)) return true;
  const types = isType && ts.isFunctionLike(part) ? (part.typeParameters ?? []) : [];
  return types.some((each) => each.name.text === name);
}

/** Whether an identifier is a value, and not a property, declaration or type member. */
export function isReference(bare: TypeScript.Node): boolean {
  // Whatever a node of the tree is a name of, it has under one of these.
  const parent: TypeScript.Node & {
    readonly name?: TypeScript.Node;
    readonly propertyName?: TypeScript.Node;
    readonly label?: TypeScript.Node;
  } = bare.parent;
  if (ts.isImportTypeNode(parent)) return false;
  if (ts.isQualifiedName(parent)) return parent.left === bare && !isOfImportType(parent);
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) return true;
  return bare !== parent.name && bare !== parent.propertyName && bare !== parent.label;
}

const isOfImportType = ({ parent }: TypeScript.Node): boolean =>
  ts.isImportTypeNode(parent) || (ts.isQualifiedName(parent) && isOfImportType(parent));

/** The values in a node, by their names, that nothing between them and `boundary` declares. */
export const referencesIn = (
  node: Node,
  boundary: Node,
  isWanted: (name: string) => boolean = () => true,
): Identifier[] =>
  identifiersIn(node.compilerNode)
    .filter((id) => isWanted(id.text) && isReference(id) && !isHidden(id, boundary.compilerNode))
    .map((id) => wrapped(id, node) as Identifier);

export const usesOf = (name: string, source: SourceFile): Identifier[] =>
  referencesIn(source, source, (text) => text === name);

/** Whether an expression is given a value, is counted up or down, or is deleted. */
export function isAssigned(target: Node): boolean {
  const parent = target.getParent();
  if (Node.isBinaryExpression(parent))
    return parent.getLeft() === target && isAssignment(parent.getOperatorToken().getKind());
  if (Node.isPrefixUnaryExpression(parent) || Node.isPostfixUnaryExpression(parent))
    return increments.has(parent.getOperatorToken());
  if (Node.isForOfStatement(parent) || Node.isForInStatement(parent))
    return parent.getInitializer() === target;
  return Node.isDeleteExpression(parent) || (isPartOfTarget(target, parent) && isAssigned(parent));
}

const increments: ReadonlySet<Operator> = new Set([
  SyntaxKind.PlusPlusToken,
  SyntaxKind.MinusMinusToken,
]);

const isAssignment = (kind: Operator): boolean =>
  kind >= SyntaxKind.FirstAssignment && kind <= SyntaxKind.LastAssignment;

/** Whether a node is a target if its parent is: `(a)`, or in `[a, { b, c: d = 1 }]`. */
function isPartOfTarget(target: Node, parent: Node | undefined): parent is Node {
  if (Node.isPropertyAssignment(parent)) return parent.getInitializer() === target;
  return parent !== undefined && targetParts.has(parent.getKindName());
}

const targetParts: ReadonlySet<string> = new Set(
  (
    "ParenthesizedExpression NonNullExpression AsExpression SatisfiesExpression TypeAssertionExpression " +
    "ArrayLiteralExpression SpreadElement ObjectLiteralExpression ShorthandPropertyAssignment SpreadAssignment"
  ).split(" "),
);
