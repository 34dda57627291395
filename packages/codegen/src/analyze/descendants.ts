import type { CallExpression, Identifier, Node, SourceFile } from "ts-morph";
import { ts, type TypeScript } from "../ts-morph.js";

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
  const visit = (part: TypeScript.Node): void => {
    if (ts.isIdentifier(part) && wanted(part.text)) found.push(wrapped(part, node) as Identifier);
    else ts.forEachChild(part, visit);
  };
  ts.forEachChild(node.compilerNode, visit);
  return found;
}

/** The identifiers of one text in a file, in the order of the source. All of a file's are found in one go. */
export function identifiersNamed(name: string, source: SourceFile): Identifier[] {
  const bare = source.compilerNode;
  const known = byName.get(bare) ?? new Map<string, TypeScript.Identifier[]>();
  if (!byName.has(bare)) {
    const visit = (part: TypeScript.Node): void => {
      if (!ts.isIdentifier(part)) return ts.forEachChild(part, visit);
      const same = known.get(part.text);
      if (same === undefined) known.set(part.text, [part]);
      else same.push(part);
    };
    ts.forEachChild(bare, visit);
    byName.set(bare, known);
  }
  return (known.get(name) ?? []).map((part) => wrapped(part, source) as Identifier);
}

const byName = new WeakMap<TypeScript.SourceFile, Map<string, TypeScript.Identifier[]>>();

/** The calls inside a node of what has one of these names, by itself or as a member of something, in the order of the source. */
export function callsOf(node: Node, names: ReadonlySet<string>): CallExpression[] {
  const found: CallExpression[] = [];
  const visit = (part: TypeScript.Node): void => {
    if (ts.isCallExpression(part) && names.has(calleeName(part) ?? ""))
      found.push(wrapped(part, node) as CallExpression);
    ts.forEachChild(part, visit);
  };
  ts.forEachChild(node.compilerNode, visit);
  return found;
}

function calleeName({ expression }: TypeScript.CallExpression): string | undefined {
  if (ts.isIdentifier(expression)) return expression.text;
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : undefined;
}

/** What ts-morph itself does wherever it hands out a node; there is no public way from a bare node to the wrapped one. */
function wrapped(part: TypeScript.Node, of: Node): Node {
  const { _getNodeFromCompilerNode: wrap } = of as unknown as {
    _getNodeFromCompilerNode(part: TypeScript.Node): Node;
  };
  return wrap.call(of, part);
}
