import { type Node, ts, type TypeScript } from "../typescript.js";
import { diagnostic, type Diagnostic, type Place, placeAt } from "../diagnostics/diagnostic.js";
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

/** The result; undefined if the stack overflows, as over source that is nested too deeply. */
export function unlessTooDeep<Made>(make: () => Made): Made | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError && error.message.includes("call stack")) return undefined;
    throw error;
  }
}

/** The place of a node in the file that it is of, which is found slowly below a long chain. */
export function placeOf(node: Node, source = node.getSourceFile()): Place {
  const start = node.getStart(source);
  return placeAt(source.fileName, source.text, start, node.end - start);
}

export const bareSource = (file: string, text: string): TypeScript.SourceFile | undefined =>
  unlessTooDeep(() => ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));

interface Text {
  readonly file: string;
  readonly text: string;
}

/** Of files one of which is nested too deeply, at the place where that is deepest. */
export function tooDeep(...files: readonly [Text, ...Text[]]): Diagnostic {
  const [first] = files;
  let deepest = { ...first, depth: 0, at: 0 };
  for (const each of files) {
    const found = { ...each, ...depthOf(each.text) };
    if (found.depth > deepest.depth) deepest = found;
  }
  const { file, text, at } = deepest;
  const message = `${file} is nested too deeply, or has too long a chain, to be compiled`;
  const hint =
    "give a name to a part of it; take inner nodes into a workflow of their own, and start it with .child()";
  return diagnostic("syntaxError", placeAt(file, text, at), message, hint);
}

function depthOf(text: string): { readonly depth: number; readonly at: number } {
  /** How many brackets have been opened in each bracket, since the last part of a list began. */
  const links = [0];
  let deepest = { depth: 0, at: 0 };
  for (const { 0: sign, index: at } of text.matchAll(/[()[\]{},;]/g)) {
    const last = links.length - 1;
    if (/[,;]/.test(sign)) links[last] = 0;
    else if (/[)\]}]/.test(sign)) links.pop();
    else {
      const depth = last + (links[last] = (links[last] ?? 0) + 1);
      links.push(0);
      if (depth > deepest.depth) deepest = { depth, at };
    }
  }
  return deepest;
}
