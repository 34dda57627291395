import { diagnostic, type Diagnostic, placeAt } from "../diagnostics/diagnostic.js";

/* Source that is nested too deeply for the stack that the process has, however large that is. */

/** The result; undefined if the stack overflows, as over source that is nested too deeply. */
export function unlessTooDeep<Made>(make: () => Made): Made | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError && error.message.includes("call stack")) return undefined;
    throw error;
  }
}

interface Text {
  readonly file: string;
  readonly text: string;
}

/** Says that one of the files is nested too deeply, at the place where that is deepest. */
export function tooDeep(...files: readonly Text[]): Diagnostic {
  let deepest = { file: "", text: "", depth: -1, at: 0 };
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

/** Texts and comments; the end of a block, and of a statement by it; what links parts. */
const signs =
  /"[^"\\\n]*(?:\\.[^"\\\n]*)*"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'|\/\/.*|\/\*[^]*?\*\/|}\s*(?!else\b)(?=[\w$@])|\b(?:as|await|const|else|let|new|satisfies|typeof|var|void|yield)\b|[^\s\w$]/g;

function depthOf(text: string): { readonly depth: number; readonly at: number } {
  /** How many links there are in each bracket, since the last part of a list began. */
  const links = [0];
  /** Says of each bracket whether a comma in it parts a list, and links nothing. */
  const lists = [false];
  let deepest = { depth: 0, at: 0 };
  for (const { 0: sign, index: at } of text.matchAll(signs)) {
    if (/^["'/]./.test(sign)) continue;
    if (/^[)\]}]/.test(sign) && links.length > 1) [links, lists].forEach((each) => each.pop());
    const last = links.length - 1;
    if (/^(?:const|let|var)$/.test(sign)) lists[last] = true;
    if (/^}.|;/s.test(sign)) lists[last] = false;
    if (/^}.|;/s.test(sign) || (sign === "," && lists[last] === true)) links[last] = 0;
    if (/^[)\]};]/.test(sign) || (sign === "," && lists[last] === true)) continue;
    const depth = last + (links[last] = (links[last] ?? 0) + 1);
    if (/[([{]/.test(sign)) {
      links.push(0);
      lists.push(holdsList(sign, text.slice(Math.max(0, at - 20), at).trimEnd()));
    }
    if (depth > deepest.depth) deepest = { depth, at };
  }
  return deepest;
}

/** Says whether a bracket opens a list, as of arguments; not if it groups, or opens a block. */
function holdsList(bracket: string, before: string): boolean {
  if (bracket === "(") return /(?:[\w$\])]|[^=]>)$/.test(before) && !/\breturn$/.test(before);
  return bracket === "[" || !/(?:[);{}]|=>|\b(?:do|else|finally|try))$/.test(before);
}
