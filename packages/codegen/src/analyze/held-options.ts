import type { Identifier, ObjectLiteralExpression } from "ts-morph";
import { Node } from "../ts-morph.js";
import type { DefinitionFile } from "./definition-file.js";
import { identifiersIn } from "./descendants.js";
import { constantOf, unwrap } from "./functions.js";
import { isImported } from "./modules.js";
import { isDeclaredBetween, isReference } from "./scoping.js";

/**
 * The object of options that an expression is, or names when it is a const at the top of the same file which nothing in the file can
 * change.
 */
export function objectOf(value: Node, file: DefinitionFile): ObjectLiteralExpression | undefined {
  const node = unwrap(value);
  if (Node.isObjectLiteralExpression(node)) return node;
  if (!Node.isIdentifier(node)) return undefined;
  const held = constantOf(node.getText(), file);
  if (!Node.isObjectLiteralExpression(held)) return undefined;
  const name = node.getText();
  const uses = identifiersIn(file.source, (text) => text === name).filter(
    (id) => isReference(id) && !isDeclaredBetween(id, file.source),
  );
  return uses.every((id) => leavesAsItIs(id, file)) ? held : undefined;
}

/** Whether a use of an object only reads it: it is a node's options, or one of them, or one of its members is taken. */
function leavesAsItIs(id: Identifier, file: DefinitionFile): boolean {
  let node: Node = id;
  let parent = node.getParent();
  while (parent !== undefined && unwrap(parent) === id)
    [node, parent] = [parent, parent.getParent()];
  if (Node.isCallExpression(parent)) {
    const callee = parent.getExpression();
    if (isImported(callee, file.imports, "defineWorkflow")) return true;
    return parent.getArguments().includes(node) && Node.isPropertyAccessExpression(callee)
      ? isChain(callee.getExpression())
      : false;
  }
  if (Node.isPropertyAccessExpression(parent)) {
    const above = parent.getParent();
    return Node.isPropertyAssignment(above) || Node.isVariableDeclaration(above);
  }
  return (
    Node.isPropertyAssignment(parent) ||
    Node.isShorthandPropertyAssignment(parent) ||
    Node.isSpreadAssignment(parent) ||
    Node.isTypeQuery(parent) ||
    Node.isExportSpecifier(parent)
  );
}

/** Whether what is called may be a definition under way, or the parameter of a body: not `Object` in `Object.assign(options, …)`. */
function isChain(callee: Node): boolean {
  const node = unwrap(callee);
  return Node.isCallExpression(node) || (Node.isIdentifier(node) && /^[a-z]/.test(node.getText()));
}
