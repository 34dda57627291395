import type { MethodDeclaration, ObjectLiteralExpression } from "ts-morph";
import { Node } from "../ts-morph.js";
import { nameOf } from "./scoping.js";

export interface Option {
  readonly name: string;
  readonly nameNode: Node;
  readonly value: Node;
}

/** What a property gives an options object; undefined for a spread, computed name or accessor. */
export function readOption(
  property: ReturnType<ObjectLiteralExpression["getProperties"]>[number],
): Option | undefined {
  if (Node.isShorthandPropertyAssignment(property)) {
    const nameNode = property.getNameNode();
    return { name: property.getName(), nameNode, value: nameNode };
  }
  if (!Node.isPropertyAssignment(property) && !Node.isMethodDeclaration(property)) return undefined;
  const nameNode = property.getNameNode();
  const name = optionName(nameNode);
  const value = Node.isMethodDeclaration(property) ? callable(property) : property.getInitializer();
  // `__proto__: other` makes all that the other object has options too.
  const isUnseen = name === undefined || name === "__proto__" || value === undefined;
  return isUnseen ? undefined : { name, nameNode, value };
}

function optionName(node: Node): string | undefined {
  if (Node.isIdentifier(node)) return nameOf(node);
  if (Node.isNumericLiteral(node)) return String(node.getLiteralValue());
  return Node.isStringLiteral(node) ? node.getLiteralText() : undefined;
}

/** A generator is no handler. */
function callable(method: MethodDeclaration): Node | undefined {
  return method.isGenerator() ? undefined : method;
}
