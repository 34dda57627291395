import { join } from "node:path";
import { expect, test } from "vitest";
import { Compiler, compileSources } from "../src/compile.js";
import { discover, type SourceText } from "../src/discover/discover.js";
import { emit } from "../src/emit/emit.js";
import { mutate, randomOf } from "./fuzz/mutate.js";
import { fixtures } from "./golden.js";

const sources = discover(join(fixtures, "parents", "convex"));
const another = {
  file: "another.workflow.ts",
  text: `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const another = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });`,
};

const edited = (file: string, from: string, to: string): SourceText[] =>
  sources.map((source) =>
    source.file === file ? { file, text: source.text.replaceAll(from, to) } : source,
  );

/** Compiles by one compiler throughout, and expects of each what a fresh one gives. */
async function inTurn(versions: readonly (readonly SourceText[])[]): Promise<void> {
  const compiler = new Compiler();
  for (const [index, version] of versions.entries()) {
    const { files, diagnostics, ok } = await compiler.compileSources(version);
    const fresh = await compileSources(version);
    expect({ files, diagnostics, ok }, `version ${index}`).toEqual({
      files: fresh.files,
      diagnostics: fresh.diagnostics,
      ok: fresh.ok,
    });
  }
}

test(
  "a compiler that is used again gives what a new one would, whatever changed",
  { tags: ["large"] },
  async () => {
    await inTurn([
      sources,
      sources,
      // What "anything" may start, and the index, depend on which workflows there are.
      [...sources, another],
      sources,
      edited("leaves.workflow.ts", "countWords", "countAll"),
      edited("leaves.workflow.ts", "checkSpelling", "spelling"),
      edited("leaves.workflow.ts", "export const", "const"),
      edited("leaves.workflow.ts", ");", ")"),
      edited("leaves.workflow.ts", "z.object(", "z.object"),
      sources,
      sources.slice(0, 1),
      sources.slice(1),
      [],
      sources.toReversed(),
      edited("trees.workflow.ts", '"pages"', '"sheets"'),
      edited("trees.workflow.ts", "concurrency: 4", "concurrency: 0"),
      sources,
    ]);
  },
);

test("what a file hands on is looked up again when that file has changed", async () => {
  const compiler = new Compiler();
  const [leaves] = sources.filter(({ file }) => file === "leaves.workflow.ts");
  const user = {
    file: "user.workflow.ts",
    text: `import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { one } from "./barrel";
export const user = defineWorkflow({ input: z.object({}) }).parent("p", { children: () => [child(one, {})] });`,
  };
  const startedBy = async (barrel: string | undefined) => {
    const { plan } = await compiler.compileSources([leaves!, user], (file) =>
      file === "barrel.ts" ? barrel : undefined,
    );
    return plan.workflows.find(({ name }) => name === "user")?.nodes[0]?.stages[0]?.workflows;
  };
  expect(await startedBy('export { countWords as one } from "./leaves.workflow";')).toEqual([
    "countWords",
  ]);
  expect(await startedBy('export { checkSpelling as one } from "./leaves.workflow";')).toEqual([
    "checkSpelling",
  ]);
  // It may then be any.
  expect(await startedBy(undefined)).toBeUndefined();
});

test("what a file imports is looked up again when the file has moved as it is", async () => {
  const user = {
    file: "user.workflow.ts",
    text: `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { input } from "./schemas";
export const user = defineWorkflow({ input }).step("a", { query: () => 1 });`,
  };
  const schemas = 'import { id } from "./ids"; export const input = z.object({ id });';
  const ids = "export const id = z.string();";
  const compiler = new Compiler();
  for (const folder of ["schemas/index.ts", "schemas.ts", "schemas/index.ts"]) {
    const files = new Map([
      [folder, schemas],
      [folder.replace(/schemas(?=\.)|index/, "ids"), ids],
    ]);
    const read = (file: string) => files.get(file);
    const { plan } = await compiler.compileSources([user], read);
    const fresh = await new Compiler().compileSources([user], read);
    expect(plan.workflows[0]?.input).toEqual(fresh.plan.workflows[0]?.input);
  }
});

test("the same after a hundred random edits", { tags: ["large"] }, async () => {
  const random = randomOf(1);
  const versions = Array.from({ length: 100 }, () => {
    const chosen = Math.floor(random() * sources.length);
    return sources.map(({ file, text }, index) => ({
      file,
      text: index === chosen ? mutate(text, random) : text,
    }));
  });
  await inTurn(versions);
});

test("a parent of any workflow stays as it is when there are other workflows beside it", async () => {
  const { plan } = await compileSources(sources);
  const text = (workflows: typeof plan.workflows) =>
    emit({ workflows }).find(({ path }) => path.endsWith("/anything.ts"))?.text;
  const all = text(plan.workflows);
  expect(all).toContain('from "./workflows"');
  expect(text(plan.workflows.filter(({ name }) => name === "anything"))).toBe(all);
});
