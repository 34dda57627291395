import { posix } from "node:path";
import { insert, type Edit } from "./edit.js";

export const firstWorkflowFile = "hello.workflow.ts";

const text = `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/** A first workflow: two steps, one after the other. Run \`npm run workflows\` after every change. */
export const hello = defineWorkflow({ input: z.object({ name: z.string() }) })
  .step("greeting", {
    // An action may call other services; it is tried again when it fails.
    action: async (_ctx, { input }) => \`Hello, \${input.name}!\`,
    retry: true,
  })
  .step("shouted", {
    // A query or mutation runs inside a transaction. It sees the outputs of the steps before it, by name.
    query: async (_ctx, { greeting }) => greeting.toUpperCase(),
  });
`;

export function firstWorkflow(existing: readonly string[]): Edit {
  const [first] = existing;
  if (first !== undefined) return { kind: "keep", file: first, what: "is a workflow already" };
  return { kind: "create", file: firstWorkflowFile, text, what: "a first workflow" };
}

/**
 * Keeps Prettier out of generated code, which has its own layout.
 *
 * @param text of `.prettierignore`; undefined if there is no such file yet
 * @param folder the output folder, as it is written beside the file
 */
export function ignoreGenerated(text: string | undefined, folder: string): Edit {
  const file = ".prettierignore";
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
