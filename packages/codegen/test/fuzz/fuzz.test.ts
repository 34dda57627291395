import { cp, mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { mkdtemp, rm } from "../../../../scripts/folders.mjs";
import { Parser } from "../../src/analyze/parser.js";
import {
  compileSources,
  writeGenerated,
  type CompileResult,
  type GeneratedFile,
} from "../../src/compile.js";
import { formatDiagnostic } from "../../src/diagnostics/format.js";
import { discover, normalized, type SourceText } from "../../src/discover/discover.js";
import { readPlanFile } from "../../src/plan/read.js";
import { filesIn, fixtures, foldersIn } from "../golden.js";
import { scratchFolder, typeErrors, writeGeneratedTypes } from "../type-check.js";
import { mutate, randomOf } from "./mutate.js";

/** Others: `FUZZ_SEED=7001 npx vitest run fuzz.test`; `FUZZ_ROUNDS` says how many. */
const rounds = Number(process.env["FUZZ_ROUNDS"] ?? 1_000);
const firstSeed = Number(process.env["FUZZ_SEED"] ?? 1);

/** The golden folders, whose definitions all compile; those in `errors` do not. */
const features = (await foldersIn(fixtures)).filter((name) => name !== "errors");
const originals = features.map((feature) => ({
  feature,
  sources: discover(join(fixtures, feature, "convex")),
}));

/** A fixture with one of its definitions broken. */
function mutated(seed: number): { feature: string; sources: SourceText[] } {
  const random = randomOf(seed);
  const { feature = "", sources = [] } = originals[Math.floor(random() * originals.length)] ?? {};
  const chosen = Math.floor(random() * sources.length);
  const texts = sources.map(({ file, text }, index) => ({
    file,
    text: index === chosen ? normalized(mutate(text, random)) : text,
  }));
  return { feature, sources: texts };
}

/** What is wrong with the answer to a broken definition; undefined when nothing is. */
function faultOf(sources: readonly SourceText[], result: CompileResult): string | undefined {
  const texts = new Map(sources.map(({ file, text }) => [file, text.split("\n")]));
  for (const each of result.diagnostics) {
    const line = texts.get(each.place.file)?.[each.place.line - 1];
    if (line === undefined || each.place.column < 1 || each.place.column > line.length + 1)
      return `no place: ${JSON.stringify(each)}`;
    if (each.hint === undefined) return `no hint: ${each.message}`;
    const printed = formatDiagnostic(each, { color: false });
    if (!printed.startsWith(`${each.place.file}:`)) return `not printed with its place: ${printed}`;
  }
  if (result.ok === result.diagnostics.some(({ severity }) => severity === "error"))
    return "errors without an end, or an end without errors";
  const outputs = result.files.filter(({ path }) => path.endsWith(".ts"));
  const parser = new Parser();
  const errors = outputs.flatMap(({ path, text }) => parser.parse({ file: path, text }).errors);
  if (errors.length > 0) return `output that does not parse: ${JSON.stringify(errors[0])}`;
  for (const { path, text } of result.files) if (path.endsWith(".json")) readPlanFile(text, path);
  const stray = result.files.find(
    ({ path }) =>
      !/^_workflows\/(\.gitattributes|[A-Za-z]\w*\.ts|([A-Za-z]\w*\.)?plan\.json)$/.test(path),
  );
  return stray && `a file of a strange name: ${stray.path}`;
}

/**
 * How many apps have their types checked by one process: more would be quicker, and take more
 * memory.
 */
const batch = 500;

test(
  `${rounds} broken definitions each give a diagnostic with a place and a hint, or output that type-checks`,
  { tags: ["large"], timeout: Math.max(240_000, rounds * 200) },
  async () => {
    const root = await mkdtemp(join(tmpdir(), "stepwise-fuzz-"));
    const functionsDir = join(root, "app", "convex");
    await mkdir(functionsDir, { recursive: true });
    const apps = new TypeChecked();
    const answers = { compiled: 0, refused: 0 };
    for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
      const { feature, sources } = mutated(seed);
      try {
        const result = await compileSources(sources);
        expect(faultOf(sources, result)).toBeUndefined();
        if (result.ok) await writeGenerated(functionsDir, result.files);
        if (result.ok) await apps.add(String(seed), feature, sources, result.files);
        answers[result.ok ? "compiled" : "refused"]++;
      } catch (cause) {
        const texts = sources.map(({ text }) => text).join("\n----\n");
        throw new Error(`seed ${seed}:\n${texts}`, { cause });
      }
    }
    await apps.check();
    expect(apps.faults).toEqual([]);
    const written = Object.keys(await filesIn(root));
    expect(written.filter((path) => !path.startsWith("app/convex/_workflows/"))).toEqual([]);
    // All answers are there, so that no part of this is empty.
    expect(Math.min(answers.compiled, answers.refused)).toBeGreaterThan(rounds / 20);
    expect(apps.sound).toBeGreaterThan(rounds / 20);
    await rm(root, { recursive: true });
  },
);

/** Apps with their generated code, whose types are checked together. */
class TypeChecked {
  /**
   * Errors in generated files of apps whose own files have none, with the seed as the first folder.
   */
  readonly faults: string[] = [];
  /** How many apps had no errors of their own. */
  sound = 0;
  #names: string[] = [];
  readonly #scratch = scratchFolder(`fuzz-${firstSeed}`);

  async add(
    name: string,
    feature: string,
    sources: readonly SourceText[],
    files: readonly GeneratedFile[],
  ): Promise<void> {
    if (this.#names.length === 0) await rm(this.#scratch, { recursive: true, force: true });
    const folder = join(this.#scratch, name);
    await cp(join(fixtures, feature, "convex"), folder, { recursive: true });
    const texts = [...sources.map(({ file, text }) => ({ path: file, text })), ...files];
    for (const { path, text } of texts) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await writeGeneratedTypes(folder);
    this.#names.push(name);
    if (this.#names.length === batch) await this.check();
  }

  async check(): Promise<void> {
    if (this.#names.length === 0) return;
    const errors = await typeErrors(this.#scratch);
    const isGenerated = (file: string) => /^\d+\/_workflows\//.test(file);
    // What is wrong in a definition is shown there, by the editor; its generated code may then have
    // types that make no sense.
    const unsound = new Set(
      errors.filter(({ file }) => !isGenerated(file)).map(({ file }) => file.split("/")[0]),
    );
    for (const { file, message } of errors)
      if (!unsound.has(file.split("/")[0])) this.faults.push(file + message);
    this.sound += this.#names.filter((name) => !unsound.has(name)).length;
    this.#names = [];
  }
}
