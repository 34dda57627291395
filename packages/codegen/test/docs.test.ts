import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { format } from "prettier";
import { expect, test } from "vitest";
import { codes } from "../src/diagnostics/codes.js";
import { fixtures } from "./golden.js";

const docs = new URL("../../../docs/", import.meta.url).pathname;

test("no code stands for two problems", () => {
  const all = Object.values(codes);
  expect(new Set(all.map(({ code }) => code)).size).toBe(all.length);
});

test.each(["ingestDocument.ts", "index.ts"])(
  "docs/generated-code.md shows %s as it is generated",
  async (name) => {
    const generated = await readFile(join(fixtures, "documents/expected/_workflows", name), "utf8");
    // In the page, code is laid out for this repository.
    const shown = await format(generated, { printWidth: 100, parser: "typescript" });
    const unsealed = shown
      .replace(/^\/\/ workflow-codegen \S+, content \w+$/m, "// workflow-codegen …, content …")
      .replace(/^ {2}plan: "\w+",$/m, '  plan: "…",');
    expect(await readFile(join(docs, "generated-code.md"), "utf8")).toContain(unsealed);
  },
);
