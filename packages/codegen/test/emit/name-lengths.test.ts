import { expect, test } from "vitest";
import { compileSources } from "../../src/compile.js";
import { isFormatted } from "../prettier.js";

/**
 * Every kind of stage, with names of one length: each line of generated code breaks somewhere among
 * them.
 */
function source(length: number): string {
  const name = (prefix: string) =>
    prefix.padEnd(length, "abcdefghij").slice(0, Math.max(length, 1));
  return `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
export const ${name("u")} = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });
export const ${name("v")} = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });
export const ${name("w")} = defineWorkflow({ input: z.object({}) })
  .step("${name("a")}", { action: (ctx, { input }) => input })
  .step("${name("b")}", { action: internal.x.y, args: ({ ${name("a")} }) => ({ ${name("a")} }) })
  .step("${name("c")}", { mutation: internal.x.y, args: ({ ${name("a")}, ${name("b")} }) => [${name("a")}, ${name("b")}] })
  .step("${name("d")}", { query: (ctx, { ${name("a")}, ${name("b")}, ${name("c")} }) => 1 })
  .parent("${name("e")}", { children: ({ input, ${name("a")} }) => [child(${name("v")}, {})] })
  .parent("${name("f")}", {
    query: () => 1,
    children: ({ output }) => [child(${name("u")}, {}), child(${name("v")}, {})],
    finalize: { mutation: (ctx, { children }) => children },
  })
  .finalize({ action: (ctx, { ${name("f")} }) => ${name("f")} });
`;
}

test(
  "generated code is laid out as Prettier would, however long names are",
  { tags: ["large"] },
  async () => {
    for (let length = 1; length <= 55; length++) {
      const { files, diagnostics } = await compileSources([
        { file: "example.workflow.ts", text: source(length) },
      ]);
      expect(diagnostics).toEqual([]);
      for (const { path, text } of files)
        expect(await isFormatted(text, path), `length ${length}: ${text}`).toBe(true);
    }
  },
);
