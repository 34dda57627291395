import { ts, type Node } from "ts-morph";
import { hashOf } from "../plan/write.js";

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

/** A hash that stays the same when the source is only formatted anew, or its comments change. */
export function sourceHash(nodes: readonly Node[]): string {
  const tokens = nodes.flatMap(tokensOf);
  const kept = tokens.filter((token, at) => token !== "," || !closing.has(tokens[at + 1] ?? ""));
  return hashOf(kept.join("\n"));
}

/** Whether a comment stands somewhere inside. */
export function hasComments(node: Node): boolean {
  const tokens = tokensOf(node).join("").replace(/\s/g, "");
  return tokens !== node.getText().replace(/\s/g, "");
}
