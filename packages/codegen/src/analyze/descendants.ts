import { type Node, ts, type TypeScript } from "../typescript.js";
import { type Place, placeAt } from "../diagnostics/diagnostic.js";
import { unlessTooDeep } from "./depth.js";
import { once } from "../plan/once.js";

export function childrenOf(node: Node): Node[] {
  const children: Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  return children;
}

/** All nodes below one, in order, found once. No recursion: chains are deep. */
export const allBelow = once((node: Node): readonly Node[] => {
  const found: Node[] = [];
  const waiting = childrenOf(node).reverse();
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    found.push(part);
    waiting.push(...childrenOf(part).reverse());
  }
  return found;
});

export const identifiersIn = once((node: Node) => allBelow(node).filter(ts.isIdentifier));

export const callsIn = once((node: Node) => allBelow(node).filter(ts.isCallExpression));

export function calleeName({ expression }: TypeScript.CallExpression): string | undefined {
  if (ts.isIdentifier(expression)) return expression.text;
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : undefined;
}

/** The place of a node in the file that it is of, which is found slowly below a long chain. */
export function placeOf(node: Node, source = node.getSourceFile()): Place {
  const start = node.getStart(source);
  return placeAt(source.fileName, source.text, start, node.end - start);
}

export const bareSource = (file: string, text: string): TypeScript.SourceFile | undefined =>
  unlessTooDeep(() => ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
