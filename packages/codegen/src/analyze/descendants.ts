import type { CallExpression, Identifier, Node, SourceFile } from "ts-morph";
import { ts, type TypeScript } from "../ts-morph.js";

/**
 * Visits the bare nodes below a node, in the order of the source. Without recursion: a chain of a
 * thousand calls is as many levels deep, and would overflow the stack.
 *
 * @param visit gives `false` where the nodes below are not to be visited
 */
export function eachBelow(
  node: TypeScript.Node,
  visit: (part: TypeScript.Node) => boolean | void,
): void {
  const waiting = childrenOf(node).reverse();
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop())
    if (visit(part) !== false) waiting.push(...childrenOf(part).reverse());
}

/** The bare nodes directly below one, in the order of the source. */
export function childrenOf(node: TypeScript.Node): TypeScript.Node[] {
  const children: TypeScript.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  return children;
}

/**
 * The identifiers inside a node, in the order of the source.
 *
 * Over the bare syntax tree, and only what is found is wrapped: ts-morph's own search makes every token of the source first, which
 * takes longer than to parse it.
 *
 * @param wanted whether an identifier of this text is asked for; by default each is
 */
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

/** The identifiers of one text in a file, in the order of the source. All of a file's are found in one go. */
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

/** The calls inside a node of what has one of these names, by itself or as a member of something, in the order of the source. */
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

/** What ts-morph itself does wherever it hands out a node; there is no public way from a bare node to the wrapped one. */
export function wrapped(part: TypeScript.Node, of: Node): Node {
  const { _getNodeFromCompilerNode: wrap } = of as unknown as {
    _getNodeFromCompilerNode(part: TypeScript.Node): Node;
  };
  // ts-morph wraps what is around a node by recursion, which a long chain makes too deep: from the
  // outermost one on, each finds its parent wrapped.
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
