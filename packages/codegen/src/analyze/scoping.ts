import { type Node, ts, type TypeScript } from "../typescript.js";
import { once } from "../plan/once.js";
import { allBelow, identifiersIn } from "./descendants.js";

/* Which declaration a name belongs to, decided by the blocks around it alone. */

export function boundNames(name: TypeScript.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((each) => (ts.isBindingElement(each) ? boundNames(each.name) : []));
}

export const hasModifier = (node: Node, kind: TypeScript.ModifierSyntaxKind): boolean =>
  ts.canHaveModifiers(node) && node.modifiers?.some((each) => each.kind === kind) === true;

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
function varsOf(body: Node): Declaration[] {
  if (!/\bvar\b/.test(body.getSourceFile().text.slice(body.pos, body.end))) return [];
  const isAround = (part: Node) =>
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
export const namesIn = once((part: Node): ReadonlySet<string> => {
  const names = new Set(declaredIn(part).map(([name]) => name));
  if ((ts.isFunctionExpression(part) || ts.isClassExpression(part)) && part.name !== undefined)
    names.add(part.name.text);
  return names;
});

const isFor = (part: Node) =>
  ts.isForStatement(part) || ts.isForOfStatement(part) || ts.isForInStatement(part);

function declaredIn(part: Node): readonly Declaration[] {
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

/** Says whether a name is declared at the top of a file, other than by an import from a module. */
export const isDeclaredInFile = (
  name: string,
  { source }: { readonly source: TypeScript.SourceFile },
): boolean => namesIn(source).has(name);

/** The variables at the top of a file, by the names that they bind. */
export const variablesIn = once(
  (source: TypeScript.SourceFile): ReadonlyMap<string, TypeScript.VariableDeclaration> =>
    new Map(
      source.statements
        .flatMap(declarationsOf)
        .reverse()
        .flatMap(([name, node]) => (ts.isVariableDeclaration(node) ? [[name, node]] : [])),
    ),
);

/** Asked of each node between a name and the top of its file. */
const scopeKinds: ReadonlySet<TypeScript.SyntaxKind> = new Set([
  ts.SyntaxKind.SourceFile,
  ts.SyntaxKind.Block,
  ts.SyntaxKind.CaseClause,
  ts.SyntaxKind.DefaultClause,
  ts.SyntaxKind.CatchClause,
  ts.SyntaxKind.ClassExpression,
  ts.SyntaxKind.ForStatement,
  ts.SyntaxKind.ForOfStatement,
  ts.SyntaxKind.ForInStatement,
  // What is in one of a method stands outside that.
  ts.SyntaxKind.ComputedPropertyName,
]);

const isScope = (part: Node): boolean => scopeKinds.has(part.kind) || ts.isFunctionLike(part);

const scopes = new WeakMap<Node, Node>();
/** How deep an expression is before its scope is remembered, which costs more than a few steps. */
const deep = 32;

/** The nearest scope around a node. Of deep expressions each node is passed only a few times. */
function scopeAround(node: Node): Node {
  let scope = node.parent;
  let steps = 0;
  for (; !isScope(scope); scope = scope.parent) {
    const known = ++steps > deep ? scopes.get(scope) : undefined;
    if (known === undefined) continue;
    scope = known;
    break;
  }
  for (let each = node; steps > deep; each = each.parent, steps--) scopes.set(each, scope);
  return scope;
}

/**
 * Says whether something between an identifier and `boundary` declares its name anew.
 *
 * @param boundary Default: its file.
 */
export function isHidden(id: TypeScript.Identifier, boundary?: Node): boolean {
  const isType = ts.isTypeReferenceNode(id.parent);
  const end = boundary === undefined || isScope(boundary) ? boundary : scopeAround(boundary);
  let inner: Node = id;
  for (let scope = scopeAround(inner); scope !== end; scope = scopeAround(inner)) {
    if (ts.isSourceFile(scope)) return false;
    const isOutside = ts.isComputedPropertyName(inner) && inner.parent === scope;
    if (!isOutside && declares(scope, id.text, isType)) return true;
    inner = scope;
  }
  return false;
}

function declares(part: Node, name: string, isType: boolean): boolean {
  if (namesIn(part).has(name)) return true;
  const types = isType && ts.isFunctionLike(part) ? (part.typeParameters ?? []) : [];
  return types.some((each) => each.name.text === name);
}

/** Says whether an identifier is a value, and not a property, declaration or type member. */
export function isReference(bare: Node): boolean {
  // Whatever a node of the tree is a name of, it has under one of these.
  const parent: Node & {
    readonly name?: Node;
    readonly propertyName?: Node;
    readonly label?: Node;
  } = bare.parent;
  if (ts.isImportTypeNode(parent)) return false;
  if (ts.isQualifiedName(parent)) return parent.left === bare && !isOfImportType(parent);
  if (ts.isShorthandPropertyAssignment(parent)) return true;
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) return true;
  return bare !== parent.name && bare !== parent.propertyName && bare !== parent.label;
}

const isOfImportType = ({ parent }: Node): boolean =>
  ts.isImportTypeNode(parent) || (ts.isQualifiedName(parent) && isOfImportType(parent));

/** The values in a node, by their names, that nothing between them and `boundary` declares. */
export const referencesIn = (
  node: Node,
  isWanted: (name: string) => boolean = () => true,
  boundary?: Node,
): TypeScript.Identifier[] =>
  identifiersIn(node).filter(
    (id) => isWanted(id.text) && isReference(id) && !isHidden(id, boundary),
  );

export const usesOf = (name: string, source: TypeScript.SourceFile): TypeScript.Identifier[] =>
  referencesIn(source, (text) => text === name);

/** Says whether an expression is given a value, is counted up or down, or is deleted. */
export function isAssigned(target: Node): boolean {
  const { parent } = target;
  if (ts.isBinaryExpression(parent))
    return parent.left === target && isAssignment(parent.operatorToken.kind);
  if (ts.isPrefixUnaryExpression(parent) || ts.isPostfixUnaryExpression(parent))
    return (
      parent.operator === ts.SyntaxKind.PlusPlusToken ||
      parent.operator === ts.SyntaxKind.MinusMinusToken
    );
  if (ts.isForOfStatement(parent) || ts.isForInStatement(parent))
    return parent.initializer === target;
  return ts.isDeleteExpression(parent) || (isPartOfTarget(target, parent) && isAssigned(parent));
}

const isAssignment = (kind: TypeScript.SyntaxKind): boolean =>
  kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;

/** Says whether a node is a target if its parent is: `(a)`, or in `[a, { b, c: d = 1 }]`. */
function isPartOfTarget(target: Node, parent: Node): boolean {
  if (ts.isPropertyAssignment(parent)) return parent.initializer === target;
  return (
    ts.isParenthesizedExpression(parent) ||
    ts.isNonNullExpression(parent) ||
    ts.isAsExpression(parent) ||
    ts.isSatisfiesExpression(parent) ||
    ts.isTypeAssertionExpression(parent) ||
    ts.isArrayLiteralExpression(parent) ||
    ts.isSpreadElement(parent) ||
    ts.isObjectLiteralExpression(parent) ||
    ts.isShorthandPropertyAssignment(parent) ||
    ts.isSpreadAssignment(parent)
  );
}
