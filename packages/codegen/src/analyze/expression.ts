import { Node, SyntaxKind } from "../ts-morph.js";
import type { Expression } from "../plan/expression.js";
import { identifiersIn } from "./descendants.js";
import { isDeclaredBetween, isReference } from "./scoping.js";
import { hasComments } from "./tokens.js";

/**
 * Takes an expression apart as far as the emitter can lay it out anew: literals, names, members, calls, lists and objects.
 * One that holds anything else, or a comment, is kept as it is written.
 *
 * @param imported the names in it that are imported by the generated file, which may have to rename them
 */
export function toExpression(node: Node, imported: ReadonlySet<string>): Expression {
  const parts = hasComments(node) ? undefined : convert(node, imported);
  return parts ?? verbatim(node, imported);
}

function convert(node: Node, imported: ReadonlySet<string>): Expression | undefined {
  if (Node.isIdentifier(node)) {
    const name = node.getText();
    return imported.has(name) ? { kind: "import", name } : { kind: "literal", text: name };
  }
  if (Node.isStringLiteral(node)) return { kind: "string", text: node.getLiteralText() };
  if (isPlainLiteral(node)) return { kind: "literal", text: node.getText() };
  if (Node.isPropertyAccessExpression(node)) {
    const object = node.hasQuestionDotToken() ? undefined : convert(node.getExpression(), imported);
    return object && { kind: "member", object, property: node.getName() };
  }
  if (Node.isCallExpression(node)) {
    if (node.hasQuestionDotToken() || node.getTypeArguments().length > 0) return undefined;
    const callee = convert(node.getExpression(), imported);
    const args = convertAll(node.getArguments(), imported);
    return callee && args && { kind: "call", callee, args };
  }
  if (Node.isArrayLiteralExpression(node)) {
    const items = convertAll(node.getElements(), imported);
    return items && { kind: "array", items };
  }
  return Node.isObjectLiteralExpression(node) ? convertObject(node, imported) : undefined;
}

function convertAll(
  nodes: readonly Node[],
  imported: ReadonlySet<string>,
): Expression[] | undefined {
  const converted = nodes.map((node) => convert(node, imported));
  return converted.every((each) => each !== undefined) ? converted : undefined;
}

function convertObject(
  node: Node & { getProperties(): Node[] },
  imported: ReadonlySet<string>,
): Expression | undefined {
  const properties: { key: string; value: Expression }[] = [];
  for (const property of node.getProperties()) {
    const isShorthand = Node.isShorthandPropertyAssignment(property);
    if (!isShorthand && !Node.isPropertyAssignment(property)) return undefined;
    const key = property.getNameNode();
    const value = convert(isShorthand ? key : property.getInitializerOrThrow(), imported);
    const isPlainKey = Node.isIdentifier(key) || Node.isStringLiteral(key);
    if (value === undefined || !isPlainKey) return undefined;
    properties.push({ key: Node.isIdentifier(key) ? key.getText() : key.getLiteralText(), value });
  }
  // Prettier keeps an object open when its first property is on a line of its own.
  const [first] = node.getProperties();
  const open = first !== undefined && first.getStartLineNumber() > node.getStartLineNumber();
  return { kind: "object", properties, open };
}

function isPlainLiteral(node: Node): boolean {
  if (Node.isTrueLiteral(node) || Node.isFalseLiteral(node) || Node.isNullLiteral(node))
    return true;
  if (Node.isPrefixUnaryExpression(node)) {
    return (
      node.getOperatorToken() === SyntaxKind.MinusToken &&
      isPlainLiteral(node.getOperand()) &&
      !Node.isPrefixUnaryExpression(node.getOperand())
    );
  }
  // Other spellings of numbers and of flags are ones that Prettier would change.
  if (Node.isNumericLiteral(node)) return /^(0|[1-9][\d_]*)(\.\d*[1-9])?$/.test(node.getText());
  return Node.isRegularExpressionLiteral(node) && /\/[a-z]?$/.test(node.getText());
}

/** A piece of source as it is written, but for the names that are imported. */
export function verbatim(
  node: Node,
  imported: ReadonlySet<string>,
): Extract<Expression, { kind: "verbatim" }> {
  const parts: (string | { name: string; shorthand: boolean })[] = [];
  const start = node.getStart();
  const text = node.getText();
  let end = 0;
  for (const id of identifiersIn(node, (text) => imported.has(text))) {
    const name = id.getText();
    if (!isReference(id) || isDeclaredBetween(id, node.getParentOrThrow())) continue;
    const at = id.getStart() - start;
    parts.push(text.slice(end, at), {
      name,
      shorthand: Node.isShorthandPropertyAssignment(id.getParent()),
    });
    end = at + name.length;
  }
  parts.push(text.slice(end));
  return { kind: "verbatim", parts: dedented(parts, node) };
}

type Parts = (string | { name: string; shorthand: boolean })[];

/** Takes the margin of the definition off the lines after the first; not inside a template, where it is part of the value. */
function dedented(parts: Parts, node: Node): Parts {
  const hasTemplate = node
    .getDescendants()
    .some((each) => Node.isNoSubstitutionTemplateLiteral(each) || Node.isTemplateExpression(each));
  const text = node.getSourceFile().getFullText();
  const lineStart = text.lastIndexOf("\n", node.getStart()) + 1;
  const width = text.slice(lineStart).search(/[^ \t]/);
  if (hasTemplate || width === 0) return parts;
  return parts.map((part) =>
    typeof part === "string" ? part.replace(new RegExp(`\\n[ \\t]{1,${width}}`, "g"), "\n") : part,
  );
}
