import { type Node, ts, type TypeScript } from "../typescript.js";
import { type Place, placeAt } from "../diagnostics/diagnostic.js";
import { unlessTooDeep } from "./depth.js";
import { once } from "../plan/once.js";

/** All nodes below one, in order, found once. No recursion: chains are deep. */
export const allBelow = once((node: Node): readonly Node[] => {
  const found: Node[] = [];
  const waiting: Node[] = [];
  const wait = (child: Node) => void waiting.push(child);
  for (let part: Node | undefined = node; part !== undefined; part = waiting.pop()) {
    const before = waiting.length;
    ts.forEachChild(part, wait);
    turn(waiting, before);
    if (part !== node) found.push(part);
  }
  return found;
});

/** Turns the end of a list around, in place: one list of each node's children would be garbage. */
function turn(list: unknown[], from: number): void {
  for (let low = from, high = list.length - 1; low < high; low++, high--)
    [list[low], list[high]] = [list[high], list[low]];
}

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
