import type { CallExpression, Node } from "ts-morph";
import { ts, type TypeScript } from "../ts-morph.js";
import { diagnostic, type Diagnostic, placeAt } from "../diagnostics/diagnostic.js";

/** Visits all nodes below, but not below one that gives `false`. No recursion: chains are deep. */
export function eachBelow(
  node: TypeScript.Node,
  visit: (part: TypeScript.Node) => boolean | void,
): void {
  const waiting = childrenOf(node).reverse();
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop())
    if (visit(part) !== false) waiting.push(...childrenOf(part).reverse());
}

export function childrenOf(node: TypeScript.Node): TypeScript.Node[] {
  const children: TypeScript.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  return children;
}

/** All nodes below of one kind, in order. ts-morph's own search makes every token first. */
function allBelow<Part extends TypeScript.Node>(
  node: TypeScript.Node,
  isWanted: (part: TypeScript.Node) => part is Part,
): Part[] {
  const found: Part[] = [];
  eachBelow(node, (part) => void (isWanted(part) && found.push(part)));
  return found;
}

/** The identifiers below a node, in order. A node is searched once for all. */
export function identifiersIn(node: TypeScript.Node): readonly TypeScript.Identifier[] {
  const found = identifiers.get(node) ?? allBelow(node, ts.isIdentifier);
  identifiers.set(node, found);
  return found;
}

const identifiers = new WeakMap<TypeScript.Node, readonly TypeScript.Identifier[]>();

export const callsIn = (
  node: Node,
  wanted: (call: TypeScript.CallExpression) => boolean,
): CallExpression[] =>
  allBelow(node.compilerNode, ts.isCallExpression)
    .filter(wanted)
    .map((part) => wrapped(part, node) as CallExpression);

export function calleeName({ expression }: TypeScript.CallExpression): string | undefined {
  if (ts.isIdentifier(expression)) return expression.text;
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : undefined;
}

/** ts-morph has no public way from a bare node to the wrapped one; it does the same itself. */
export function wrapped(part: TypeScript.Node, of: Node): Node {
  const { _getNodeFromCompilerNode: wrap } = of as unknown as {
    _getNodeFromCompilerNode(part: TypeScript.Node): Node;
  };
  // ts-morph wraps parents by recursion, too deep for a long chain: wrap the outermost one first.
  const around: TypeScript.Node[] = [];
  let each = part.parent;
  for (; !ts.isSourceFile(each) && !wrappedBefore.has(each); each = each.parent) around.push(each);
  for (const outer of around.reverse()) {
    wrap.call(of, outer);
    wrappedBefore.add(outer);
  }
  return wrap.call(of, part);
}

const wrappedBefore = new WeakSet<TypeScript.Node>();

/** The result; undefined if the stack overflows, as over source that is nested too deeply. */
export function unlessTooDeep<Made>(make: () => Made): Made | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError && error.message.includes("call stack")) return undefined;
    throw error;
  }
}

export const bareSource = (file: string, text: string): TypeScript.SourceFile | undefined =>
  unlessTooDeep(() => ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));

/** Of a file that is nested too deeply, at the place where it is deepest. */
export function tooDeep(file: string, text: string): Diagnostic {
  let depth = 0;
  let deepest = { depth: 0, at: 0 };
  for (const { 0: bracket, index: at } of text.matchAll(/[()[\]{}]/g)) {
    depth += /[([{]/.test(bracket) ? 1 : -1;
    if (depth > deepest.depth) deepest = { depth, at };
  }
  const place = placeAt(file, text, deepest.at);
  const message = `${file} is nested too deeply to be compiled`;
  const hint = "take the inner nodes into a workflow of their own, and start it with .child()";
  return diagnostic("syntaxError", place, message, hint);
}
