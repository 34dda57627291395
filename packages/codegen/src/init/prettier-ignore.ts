import { posix } from "node:path";
import { insert, type Edit } from "./edit.js";

const file = ".prettierignore";

/**
 * Keeps Prettier out of generated code, which has its own layout.
 *
 * @param text undefined when there is no such file yet
 * @param folder the output folder, as it is written beside the file
 */
export function ignoreGenerated(text: string | undefined, folder: string): Edit {
  const what = "keeps Prettier out of generated code";
  if (text === undefined) return { kind: "create", file, text: `${folder}\n`, what };
  const isIgnored = text.split(/\r?\n/).some((line) => {
    const [, path] = /^\/?(?:\*\*\/)?(.*?)\/?$/.exec(line.trim()) ?? [];
    return path === folder || path === posix.basename(folder);
  });
  if (isIgnored) return { kind: "keep", file, what: "ignores generated code already" };
  const lead = text === "" || text.endsWith("\n") ? "" : "\n";
  const added = insert(text, [{ at: text.length, text: `${lead}${folder}\n` }]);
  return { kind: "change", file, text: added, what };
}
