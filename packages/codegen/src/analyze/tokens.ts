import { Node, ts } from "ts-morph";
import { hashOf } from "../plan/write.js";
import type { DefinitionFile } from "./definition-file.js";
import { functionOf, unwrap } from "./functions.js";
import { objectOf } from "./held-options.js";

/** The tokens of a piece of source, without white space and comments. */
function tokensOf(node: Node): string[] {
  const source = node.getSourceFile().compilerNode;
  // Over the bare syntax tree: to wrap every token would take longer than to parse the file.
  const visit = (part: ts.Node): string[] => {
    if (ts.isJSDoc(part)) return [];
    const children = part.getChildren(source);
    if (children.length > 0) return children.flatMap(visit);
    const text = part.getText(source);
    return text === "" ? [] : [text];
  };
  return visit(node.compilerNode);
}

const closing = new Set([")", "]", "}"]);

/**
 * A hash that stays the same when the source is only formatted anew, or its comments change. What the nodes name of the file, handlers
 * and options, is part of it.
 */
export function sourceHash(nodes: readonly Node[], file: DefinitionFile): string {
  const named = new Set<Node>();
  for (const node of nodes) addNamed(node, file, named);
  const tokens = [...nodes, ...named].flatMap(tokensOf);
  const kept = tokens.filter((token, at) => token !== "," || !closing.has(tokens[at + 1] ?? ""));
  return hashOf(kept.join("\n"));
}

/** Collects the functions and objects at the top of the file that a value names, or the options in it. */
function addNamed(value: Node, file: DefinitionFile, named: Set<Node>): void {
  const node = unwrap(value);
  if (Node.isObjectLiteralExpression(node)) {
    for (const property of node.getProperties()) {
      if (Node.isShorthandPropertyAssignment(property))
        addNamed(property.getNameNode(), file, named);
      if (Node.isPropertyAssignment(property))
        addNamed(property.getInitializerOrThrow(), file, named);
    }
  }
  if (!Node.isIdentifier(node)) return;
  const found = functionOf(node, file) ?? objectOf(node, file);
  if (found === undefined || named.has(found)) return;
  named.add(found);
  addNamed(found, file, named);
}

/** Whether a comment stands somewhere inside. */
export function hasComments(node: Node): boolean {
  const tokens = tokensOf(node).join("").replace(/\s/g, "");
  return tokens !== node.getText().replace(/\s/g, "");
}
