import { Node, SyntaxKind, ts, type TypeScript, VariableDeclarationKind } from "../ts-morph.js";
import type { DefinitionFile } from "./parser.js";
import type {
  BindingName,
  Identifier,
  SourceFile,
  Statement,
  SyntaxKind as Operator,
} from "ts-morph";
import { identifiersNamed, wrapped } from "./descendants.js";

/** Whether a name is declared at the top of a file, other than by an import from a module. */
export function isDeclaredInFile(name: string, { source }: DefinitionFile): boolean {
  return declaredNames(source.compilerNode).has(name);
}

const found = new WeakMap<TypeScript.SourceFile, ReadonlySet<string>>();

/** The names that belong to a whole file: also those of a `var` inside a block or a loop. */
function declaredNames(source: TypeScript.SourceFile): ReadonlySet<string> {
  const known = found.get(source);
  if (known !== undefined) return known;
  const names = new Set<string>();
  for (const statement of source.statements) {
    if (hasName(statement)) names.add(statement.name.text);
    else if (ts.isVariableStatement(statement)) addNames(statement.declarationList, names);
    else addVars(statement, names);
  }
  found.set(source, names);
  return names;
}

function hasName(
  statement: TypeScript.Statement,
): statement is TypeScript.Statement & { readonly name: TypeScript.Identifier } {
  const isDeclaration =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isEnumDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isModuleDeclaration(statement) ||
    ts.isImportEqualsDeclaration(statement);
  return isDeclaration && statement.name !== undefined && ts.isIdentifier(statement.name);
}

function addNames(list: TypeScript.VariableDeclarationList, names: Set<string>): void {
  for (const { name } of list.declarations) for (const each of boundNames(name)) names.add(each);
}

/** Collects the `var` of a statement and of those inside it; functions and classes keep theirs. */
function addVars(part: TypeScript.Node, names: Set<string>): void {
  if (ts.isVariableDeclarationList(part)) {
    if ((part.flags & ts.NodeFlags.BlockScoped) === 0) addNames(part, names);
    return;
  }
  if (ts.isFunctionDeclaration(part) || ts.isClassDeclaration(part) || ts.isModuleDeclaration(part))
    return;
  const holdsStatements =
    ts.isStatement(part) ||
    ts.isBlock(part) ||
    ts.isCaseBlock(part) ||
    ts.isCaseOrDefaultClause(part) ||
    ts.isCatchClause(part);
  if (holdsStatements) ts.forEachChild(part, (child) => addVars(child, names));
}

/** The names that a name or a pattern of names binds. */
export function boundNames(name: TypeScript.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((each) => (ts.isBindingElement(each) ? boundNames(each.name) : []));
}

/** Which declaration a name belongs to, decided by the blocks around it alone. */

/** Whether an identifier is a value, and not a property, declaration or type member. */
export function isReference(id: Identifier): boolean {
  const parent = id.getParent();
  if (Node.isPropertyAccessExpression(parent) || Node.isMetaProperty(parent))
    return parent.getNameNode() !== id;
  if (Node.isQualifiedName(parent)) return parent.getLeft() === id && !isOfImportType(parent);
  if (Node.isImportTypeNode(parent)) return false;
  if (
    Node.isBindingElement(parent) ||
    Node.isVariableDeclaration(parent) ||
    Node.isParameterDeclaration(parent) ||
    Node.isPropertyAssignment(parent) ||
    Node.isPropertyDeclaration(parent) ||
    Node.isEnumMember(parent)
  )
    return parent.getInitializer() === id;
  if (Node.isShorthandPropertyAssignment(parent)) return true;
  const isName =
    Node.isLabeledStatement(parent) ||
    Node.isBreakStatement(parent) ||
    Node.isContinueStatement(parent) ||
    Node.isNamedTupleMember(parent) ||
    Node.isTypeParameterDeclaration(parent);
  return !isName && !isNameOfDeclaration(id, parent);
}

/** Whether a name is that of a member of `import("module")`. */
function isOfImportType(name: Node): boolean {
  const parent = name.getParent();
  return Node.isImportTypeNode(parent) || (Node.isQualifiedName(parent) && isOfImportType(parent));
}

function isNameOfDeclaration(id: Identifier, parent: Node | undefined): boolean {
  const named =
    Node.isFunctionDeclaration(parent) ||
    Node.isFunctionExpression(parent) ||
    Node.isClassDeclaration(parent) ||
    Node.isClassExpression(parent) ||
    Node.isMethodDeclaration(parent) ||
    Node.isGetAccessorDeclaration(parent) ||
    Node.isSetAccessorDeclaration(parent) ||
    Node.isPropertySignature(parent) ||
    Node.isMethodSignature(parent);
  return named && parent.getNameNode() === id;
}

/** What an identifier names, however it is escaped. */
export const nameOf = (id: Identifier): string => id.compilerNode.text;

/** Whether something between an identifier and `boundary` declares its name anew. */
export function isDeclaredBetween(id: Identifier, boundary: Node): boolean {
  const name = nameOf(id);
  const isType = Node.isTypeReference(id.getParent());
  let inner: TypeScript.Node = id.compilerNode;
  // Over the bare tree: the last node of a long chain has thousands of calls around it.
  for (let part = inner.parent; part !== boundary.compilerNode; part = part.parent) {
    if (ts.isSourceFile(part)) return false;
    if (!isLink(part)) {
      const node = wrapped(part, id);
      if (declares(node, name, wrapped(inner, id)) || (isType && hasTypeParameter(node, name)))
        return true;
    }
    inner = part;
  }
  return false;
}

/** Whether a node is one of a chain of calls, which declares nothing. */
const isLink = (part: TypeScript.Node): boolean =>
  ts.isCallExpression(part) || ts.isPropertyAccessExpression(part);

/** Whether a `var` in a function declares a name; it then belongs to the whole function. */
export function declaresVar(fn: Node, name: string): boolean {
  let found = false;
  fn.forEachDescendant((node, traversal) => {
    if (
      Node.isFunctionLikeDeclaration(node) ||
      Node.isFunctionExpression(node) ||
      Node.isClassExpression(node) ||
      Node.isClassDeclaration(node)
    ) {
      traversal.skip();
    } else if (
      Node.isVariableDeclarationList(node) &&
      node.getDeclarationKind() === VariableDeclarationKind.Var
    ) {
      found ||= node
        .getDeclarations()
        .some((declaration) => bindsName(declaration.getNameNode(), name));
    }
  });
  return found;
}

function hasTypeParameter(node: Node, name: string): boolean {
  return (
    (Node.isFunctionLikeDeclaration(node) || Node.isFunctionExpression(node)) &&
    node.compilerNode.typeParameters?.some((each) => each.name.text === name) === true
  );
}

/** @param inner the part of the node in which the name stands */
function declares(node: Node, name: string, inner: Node): boolean {
  if (Node.isFunctionLikeDeclaration(node) || Node.isFunctionExpression(node)) {
    // The computed name of a method stands outside it, and a parameter outside the body.
    if (Node.isComputedPropertyName(inner)) return false;
    if (Node.isFunctionExpression(node) && node.getName() === name) return true;
    const parameters = node.getParameters();
    return (
      parameters.some((parameter) => bindsName(parameter.getNameNode(), name)) ||
      (!parameters.some((parameter) => parameter === inner) && declaresVar(node, name))
    );
  }
  if (Node.isClassExpression(node)) return node.getName() === name;
  if (Node.isBlock(node) || Node.isCaseClause(node) || Node.isDefaultClause(node)) {
    return node.getStatements().some((statement) => declaresInBlock(statement, name));
  }
  if (Node.isForStatement(node) || Node.isForOfStatement(node) || Node.isForInStatement(node)) {
    const list = node.getInitializer();
    if (!Node.isVariableDeclarationList(list)) return false;
    return list.getDeclarations().some((declaration) => bindsName(declaration.getNameNode(), name));
  }
  if (Node.isCatchClause(node)) {
    const declaration = node.getVariableDeclaration();
    return declaration !== undefined && bindsName(declaration.getNameNode(), name);
  }
  return false;
}

function declaresInBlock(statement: Statement, name: string): boolean {
  if (Node.isVariableStatement(statement)) {
    return statement
      .getDeclarations()
      .some((declaration) => bindsName(declaration.getNameNode(), name));
  }
  if (Node.isFunctionDeclaration(statement) || Node.isClassDeclaration(statement))
    return statement.getName() === name;
  return Node.isEnumDeclaration(statement) && statement.getName() === name;
}

/** Whether a name, or a pattern of names, binds `name`. */
const bindsName = ({ compilerNode }: BindingName, name: string): boolean =>
  boundNames(compilerNode).includes(name);

/** Where a file uses what is declared at its top under a name. */
export function usesOf(name: string, source: SourceFile): Identifier[] {
  return identifiersNamed(name, source).filter(
    (id) => isReference(id) && !isDeclaredBetween(id, source),
  );
}

/** Whether an expression is given a value, is counted up or down, or is deleted. */
export function isAssigned(target: Node): boolean {
  const parent = target.getParent();
  if (Node.isBinaryExpression(parent))
    return parent.getLeft() === target && isAssignment(parent.getOperatorToken().getKind());
  if (Node.isPrefixUnaryExpression(parent) || Node.isPostfixUnaryExpression(parent))
    return increments.has(parent.getOperatorToken());
  if (Node.isForOfStatement(parent) || Node.isForInStatement(parent))
    return parent.getInitializer() === target;
  return Node.isDeleteExpression(parent) || (isPassedOn(target, parent) && isAssigned(parent));
}

const increments: ReadonlySet<Operator> = new Set([
  SyntaxKind.PlusPlusToken,
  SyntaxKind.MinusMinusToken,
]);

const isAssignment = (kind: Operator): boolean =>
  kind >= SyntaxKind.FirstAssignment && kind <= SyntaxKind.LastAssignment;

/** Whether a node is a target if its parent is: `(a)`, or in `[a, { b, c: d = 1 }]`. */
function isPassedOn(target: Node, parent: Node | undefined): parent is Node {
  if (Node.isPropertyAssignment(parent)) return parent.getInitializer() === target;
  return (
    Node.isParenthesizedExpression(parent) ||
    Node.isNonNullExpression(parent) ||
    Node.isAsExpression(parent) ||
    Node.isSatisfiesExpression(parent) ||
    Node.isTypeAssertion(parent) ||
    Node.isArrayLiteralExpression(parent) ||
    Node.isSpreadElement(parent) ||
    Node.isObjectLiteralExpression(parent) ||
    Node.isShorthandPropertyAssignment(parent) ||
    Node.isSpreadAssignment(parent)
  );
}
