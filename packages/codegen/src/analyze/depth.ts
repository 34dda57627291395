import { ts, type TypeScript } from "../ts-morph.js";
import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";

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
