import type { CallExpression, Identifier, Node, SourceFile } from "ts-morph";
import { ts, type TypeScript } from "../ts-morph.js";
import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";

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

/** The identifiers in a node, over the bare tree: ts-morph's own search makes every token first. */
export function identifiersIn(
  node: Node,
  wanted: (text: string) => boolean = () => true,
): Identifier[] {
  const found: Identifier[] = [];
  eachBelow(node.compilerNode, (part) => {
    if (ts.isIdentifier(part) && wanted(part.text)) found.push(wrapped(part, node) as Identifier);
  });
  return found;
}

/** The identifiers of one text in a file, in order. A file is searched once for all. */
export function identifiersNamed(name: string, source: SourceFile): Identifier[] {
  const bare = source.compilerNode;
  const known = byName.get(bare) ?? new Map<string, TypeScript.Identifier[]>();
  if (!byName.has(bare)) {
    eachBelow(bare, (part) => {
      if (!ts.isIdentifier(part)) return;
      const same = known.get(part.text);
      if (same === undefined) known.set(part.text, [part]);
      else same.push(part);
    });
    byName.set(bare, known);
  }
  return (known.get(name) ?? []).map((part) => wrapped(part, source) as Identifier);
}

const byName = new WeakMap<TypeScript.SourceFile, Map<string, TypeScript.Identifier[]>>();

/** The calls in a node of a function or method with one of these names, in order. */
export function callsOf(node: Node, names: ReadonlySet<string>): CallExpression[] {
  return callsIn(node, (call) => names.has(calleeName(call) ?? ""));
}

/** The calls inside a node that are wanted, in the order of the source. */
export function callsIn(
  node: Node,
  wanted: (call: TypeScript.CallExpression) => boolean,
): CallExpression[] {
  const found: CallExpression[] = [];
  eachBelow(node.compilerNode, (part) => {
    if (ts.isCallExpression(part) && wanted(part))
      found.push(wrapped(part, node) as CallExpression);
  });
  return found;
}

function calleeName({ expression }: TypeScript.CallExpression): string | undefined {
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

/** A file as a bare syntax tree; undefined when it is nested too deeply. */
export const bareSource = (file: string, text: string): TypeScript.SourceFile | undefined =>
  unlessTooDeep(() => ts.createSourceFile(file, text, ts.ScriptTarget.Latest));

/** Of a file that is nested too deeply, at the place where it is deepest. */
export function tooDeep(file: string, text: string): Diagnostic {
  let depth = 0;
  let deepest = { depth: 0, at: 0 };
  for (const { 0: bracket, index: at } of text.matchAll(/[()[\]{}]/g)) {
    depth += /[([{]/.test(bracket) ? 1 : -1;
    if (depth > deepest.depth) deepest = { depth, at };
  }
  const before = text.slice(0, deepest.at).split("\n");
  const column = (before.at(-1)?.length ?? 0) + 1;
  const place = { file, line: before.length, column, length: 1 };
  const message = `${file} is nested too deeply to be compiled`;
  const hint = "take the inner nodes into a workflow of their own, and start it with .child()";
  return diagnostic("syntaxError", place, message, hint);
}
