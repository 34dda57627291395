import { cp, readFile, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mkdtemp, rm } from "../../../scripts/folders.mjs";
import { Compiler, compileSources, writeGenerated } from "../src/compile.js";
import { discover } from "../src/discover/discover.js";
import { mutate, randomOf } from "./fuzz/mutate.js";
import { fixtures } from "./golden.js";

let app = "";
const path = (file: string) => join(app, "convex", file);

beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "stepwise-cache-"));
  await writeFile(join(app, "package.json"), "{}");
  await cp(join(fixtures, "parents", "convex"), join(app, "convex"), { recursive: true });
});
afterEach(async () => await rm(app, { recursive: true }));

/**
 * What a process of its own does: compiles, writes, and remembers. Gives the files that it had to
 * parse.
 */
async function compileAnew(): Promise<readonly string[]> {
  const functionsDir = join(app, "convex");
  const compiler = new Compiler({ once: true });
  const { plan, files, output, diagnostics, ok, parsed } = await compiler.compile({
    functionsDir,
    drop: true,
  });
  const read = (file: string) => (file === "words.ts" ? words : undefined);
  const fresh = await new Compiler().compileSources(discover(functionsDir), read);
  expect({ files, diagnostics, ok }).toEqual({
    files: fresh.files,
    diagnostics: fresh.diagnostics,
    ok: fresh.ok,
  });
  expect(plan.workflows.map(({ name }) => name)).toEqual(
    fresh.plan.workflows.map(({ name }) => name),
  );
  if (ok) await writeGenerated(functionsDir, files, { folders: [output], force: true });
  compiler.remember(functionsDir);
  return parsed;
}

let words: string | undefined;
const edit = async (file: string, change: (text: string) => string) =>
  await writeFile(path(file), change(await readFile(path(file), "utf8")));

test(
  "a compilation parses what has changed since the one before it, and nothing else",
  { tags: ["large"] },
  async () => {
    words = undefined;
    expect((await compileAnew()).length).toBe(discover(join(app, "convex")).length);
    expect(await compileAnew()).toEqual([]);
    await edit("leaves.workflow.ts", (text) => `${text}\n// edited\n`);
    expect(await compileAnew()).toEqual(["leaves.workflow.ts"]);
    await edit("leaves.workflow.ts", (text) => text.replace('.step("check"', '.step("look"'));
    expect(await compileAnew()).toEqual(["leaves.workflow.ts"]);
    expect(await compileAnew()).toEqual([]);
  },
);

test("after one edit one file is parsed, and of the other workflows nothing but what is known of each is read", async () => {
  await compileAnew();
  await compileAnew();
  await edit("trees.workflow.ts", (text) => `${text}\n// edited\n`);
  const compiler = new Compiler({ once: true });
  const { parsed, ok } = await compiler.compile({ functionsDir: join(app, "convex") });
  expect({ parsed, ok }).toEqual({ parsed: ["trees.workflow.ts"], ok: true });
  expect(compiler.read.filter((key) => key.startsWith("plans "))).toEqual([]);
});

test("a config is read once, and what is wrong with it is told by each process", async () => {
  await writeFile(
    path("stepwise.config.ts"),
    'import { defineConfig } from "@stepwise/workflow"; export default defineConfig({ retry: 7, logLevel: "LOUD" });',
  );
  const told = async () => {
    const compiler = new Compiler({ once: true });
    const { diagnostics, sound } = await compiler.compile({ functionsDir: join(app, "convex") });
    compiler.remember(join(app, "convex"));
    return { codes: diagnostics.map(({ code }) => code), sound, read: compiler.read };
  };
  const { codes, sound } = await told();
  expect(codes).toEqual(["SW1603", "SW1603"]);
  expect(await told()).toMatchObject({ codes, sound, read: expect.arrayContaining(["config"]) });
});

test(
  "a workflow more or less has only those files parsed that name it",
  { tags: ["large"] },
  async () => {
    await compileAnew();
    await writeFile(
      path("another.workflow.ts"),
      `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const another = defineWorkflow({ input: z.object({}) }).step("only", { query: () => 1 });`,
    );
    expect(await compileAnew()).toEqual(["another.workflow.ts"]);
    await rm(path("another.workflow.ts"));
    expect(await compileAnew()).toEqual([]);
    await edit("leaves.workflow.ts", (text) => text.replaceAll("countWords", "countAll"));
    expect(await compileAnew()).toEqual(["leaves.workflow.ts", "trees.workflow.ts"]);
  },
);

test(
  "a file that a definition imports has it parsed again when it changes",
  { tags: ["large"] },
  async () => {
    await edit(
      "leaves.workflow.ts",
      (text) =>
        `import { words } from "./words";\n${text.replace('input.text.split(" ")', "words(input.text)")}`,
    );
    for (const version of [
      undefined,
      "export const words = (text: string) => [text];\n",
      '"use node";\nexport const words = (text: string) => [text];\n',
      undefined,
    ]) {
      words = version;
      if (version === undefined) await rm(path("words.ts"), { force: true });
      else await writeFile(path("words.ts"), version);
      expect(await compileAnew()).toContain("leaves.workflow.ts");
      expect(await compileAnew()).toEqual([]);
    }
  },
);

test("what was edited by hand, or is gone, is written again", { tags: ["large"] }, async () => {
  await compileAnew();
  await edit("_workflows/countWords.ts", (text) => `${text}// by hand\n`);
  await rm(path("_workflows/checkSpelling.ts"));
  expect(await compileAnew()).toEqual([]);
  const { files } = await compileSources(discover(join(app, "convex")));
  for (const { path: file, text } of files) expect(await readFile(path(file), "utf8")).toBe(text);
});

test(
  "a memory that is damaged, or of another compiler, is as good as none",
  { tags: ["large"] },
  async () => {
    await compileAnew();
    const folder = join(app, "node_modules/.cache/stepwise");
    const [name = ""] = (await readdir(folder)).filter((each) => each.startsWith("compiled"));
    const text = await readFile(join(folder, name), "utf8");
    const other = text.replace(/^\S+/, "0.0.1");
    for (const broken of ["", "{}", text.slice(0, -20), text.replace("countWords", "x"), other]) {
      await writeFile(join(folder, name), broken);
      expect((await compileAnew()).length).toBeGreaterThan(0);
      expect(await compileAnew()).toEqual([]);
    }
  },
);

test("after thirty random edits it is what a new compiler gives", { tags: ["large"] }, async () => {
  const random = randomOf(7);
  const sources = discover(join(app, "convex"));
  for (let round = 0; round < 30; round++) {
    const chosen = sources[Math.floor(random() * sources.length)];
    if (chosen === undefined) continue;
    await writeFile(path(chosen.file), mutate(chosen.text, random));
    await compileAnew();
  }
});
