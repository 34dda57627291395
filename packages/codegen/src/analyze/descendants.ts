import { ts, type Identifier, type Node } from "ts-morph";

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
  const visit = (part: ts.Node): void => {
    if (ts.isIdentifier(part) && wanted(part.text)) found.push(wrapped(part, node));
    else ts.forEachChild(part, visit);
  };
  ts.forEachChild(node.compilerNode, visit);
  return found;
}

/** What ts-morph itself does wherever it hands out a node; there is no public way from a bare node to the wrapped one. */
function wrapped(part: ts.Identifier, of: Node): Identifier {
  const { _getNodeFromCompilerNode: wrap } = of as unknown as {
    _getNodeFromCompilerNode(part: ts.Node): Node;
  };
  return wrap.call(of, part) as Identifier;
}
