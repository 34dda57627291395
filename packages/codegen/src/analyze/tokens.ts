import { Node, ts, type TypeScript } from "../ts-morph.js";
import { hashOf } from "../plan/write.js";
import type { DefinitionFile } from "./definition-file.js";
import { functionOf, unwrap } from "./functions.js";
import { objectOf } from "./held-options.js";

const scanner = ts.createScanner(ts.ScriptTarget.Latest, true);

/**
 * The tokens of a piece of source, without white space and comments. Over the bare syntax tree, with only what stands between its nodes
 * scanned again: to have the tokens made as nodes would take longer than to parse the file.
 */
function tokensOf(node: Node): string[] {
  const source = node.getSourceFile().compilerNode;
  const tokens: string[] = [];
  const scan = (from: number, to: number): void => {
    if (from === to) return;
    scanner.resetTokenState(from);
    while (scanner.scan() !== ts.SyntaxKind.EndOfFileToken && scanner.getTokenEnd() <= to)
      tokens.push(scanner.getTokenText());
  };
  const visit = (part: TypeScript.Node): void => {
    if (part.kind < ts.SyntaxKind.FirstNode) {
      const text = part.getText(source);
      if (text !== "") tokens.push(text);
      return;
    }
    let at = part.pos;
    ts.forEachChild(part, (child) => {
      scan(at, child.pos);
      visit(child);
      at = child.end;
    });
    scan(at, part.end);
  };
  scanner.setText(source.text);
  visit(node.compilerNode);
  // Not to hold on to the file.
  scanner.setText("");
  return tokens;
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
