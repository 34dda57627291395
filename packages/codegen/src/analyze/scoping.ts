import type { Identifier, Statement } from "ts-morph";
import { Node, SyntaxKind, VariableDeclarationKind } from "../ts-morph.js";

/** Which declaration a name belongs to, decided by the blocks around it alone. */

/** Whether an identifier is used as a value, rather than naming a property, a declaration or a type's member. */
export function isReference(id: Identifier): boolean {
  const parent = id.getParent();
  if (Node.isPropertyAccessExpression(parent) || Node.isMetaProperty(parent))
    return parent.getNameNode() !== id;
  if (Node.isQualifiedName(parent)) return parent.getLeft() === id && !isOfImportType(parent);
  if (Node.isImportTypeNode(parent)) return false;
  if (Node.isBindingElement(parent)) return parent.getInitializer() === id;
  if (Node.isVariableDeclaration(parent) || Node.isParameterDeclaration(parent))
    return parent.getInitializer() === id;
  if (Node.isPropertyAssignment(parent) || Node.isPropertyDeclaration(parent))
    return parent.getInitializer() === id;
  if (Node.isEnumMember(parent)) return parent.getInitializer() === id;
  if (Node.isShorthandPropertyAssignment(parent)) return true;
  if (
    Node.isLabeledStatement(parent) ||
    Node.isBreakStatement(parent) ||
    Node.isContinueStatement(parent)
  )
    return false;
  if (Node.isNamedTupleMember(parent) || Node.isTypeParameterDeclaration(parent)) return false;
  return !isNameOfDeclaration(id, parent);
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

/** Whether something between an identifier and `boundary` declares its name anew. */
export function isDeclaredBetween(id: Identifier, boundary: Node): boolean {
  const name = id.getText();
  for (
    let node: Node | undefined = id.getParent();
    node !== undefined && node !== boundary;
    node = node.getParent()
  ) {
    if (declares(node, name)) return true;
  }
  return false;
}

/** Whether a `var` somewhere in a function declares a name; it then belongs to the whole function. */
export function declaresVar(fn: Node, name: string): boolean {
  let found = false;
  fn.forEachDescendant((node, traversal) => {
    if (
      Node.isFunctionLikeDeclaration(node) ||
      Node.isFunctionExpression(node) ||
      Node.isClassExpression(node)
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

function declares(node: Node, name: string): boolean {
  if (Node.isFunctionLikeDeclaration(node) || Node.isFunctionExpression(node)) {
    if (Node.isFunctionExpression(node) && node.getName() === name) return true;
    return (
      node.compilerNode.typeParameters?.some((each) => each.name.text === name) === true ||
      node.getParameters().some((parameter) => bindsName(parameter.getNameNode(), name)) ||
      declaresVar(node, name)
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
function bindsName(binding: Node, name: string): boolean {
  if (Node.isIdentifier(binding)) return binding.getText() === name;
  return binding
    .getDescendantsOfKind(SyntaxKind.BindingElement)
    .some((element) => Node.isIdentifier(element.getNameNode()) && element.getName() === name);
}
