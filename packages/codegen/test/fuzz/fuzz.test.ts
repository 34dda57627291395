import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Parser } from "../../src/analyze/parser.js";
import { compileSources, writeGenerated, type CompileResult } from "../../src/compile.js";
import { formatDiagnostic } from "../../src/diagnostics/format.js";
import { discover, normalized, type SourceText } from "../../src/discover/discover.js";
import { readPlan } from "../../src/plan/read.js";
import { filesIn, fixtures } from "../golden.js";
import { mutate, randomOf } from "./mutate.js";

/** More of them, and others: `FUZZ_ROUNDS=5000 FUZZ_SEED=7 npx vitest run --root packages/codegen fuzz`. */
const rounds = Number(process.env["FUZZ_ROUNDS"] ?? 500);
const firstSeed = Number(process.env["FUZZ_SEED"] ?? 1);

/** Ms that one compilation may take on a busy machine; one takes some ten. */
const patienceMs = 5_000;

const originals = ["documents", "steps", "parents", "reads", "inputs", "names", "placement"].map(
  (name) => discover(join(fixtures, name, "convex")),
);

function mutated(seed: number): SourceText[] {
  const random = randomOf(seed);
  const sources = originals[Math.floor(random() * originals.length)] ?? [];
  const chosen = Math.floor(random() * sources.length);
  return sources.map(({ file, text }, index) => ({
    file,
    text: index === chosen ? normalized(mutate(text, random)) : text,
  }));
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
  const { errors } = new Parser().parse(outputs.map(({ path, text }) => ({ file: path, text })));
  if (errors.length > 0) return `output that does not parse: ${JSON.stringify(errors[0])}`;
  const plan = result.files.find(({ path }) => path.endsWith(".json"));
  if (plan !== undefined) readPlan(plan.text, plan.path);
  const stray = result.files.find(({ path }) => !/^_workflows\/[A-Za-z]\w*\.(ts|json)$/.test(path));
  return stray && `a file of a strange name: ${stray.path}`;
}

test(
  `${rounds} broken definitions each give a diagnostic with a place and a hint, or output that parses`,
  async () => {
    const root = await mkdtemp(join(tmpdir(), "stepwise-fuzz-"));
    const functionsDir = join(root, "app", "convex");
    await mkdir(functionsDir, { recursive: true });
    const answers = { compiled: 0, refused: 0 };
    for (let seed = firstSeed; seed < firstSeed + rounds; seed++) {
      const sources = mutated(seed);
      const started = performance.now();
      try {
        const result = await compileSources(sources);
        expect(faultOf(sources, result)).toBeUndefined();
        if (result.ok) await writeGenerated(functionsDir, result.files);
        answers[result.ok ? "compiled" : "refused"]++;
      } catch (cause) {
        const texts = sources.map(({ text }) => text).join("\n----\n");
        throw new Error(`seed ${seed}:\n${texts}`, { cause });
      }
      expect(performance.now() - started, `seed ${seed}`).toBeLessThan(patienceMs);
    }
    const written = Object.keys(await filesIn(root));
    expect(written.filter((path) => !path.startsWith("app/convex/_workflows/"))).toEqual([]);
    // Both answers are there, so that neither half of this is empty.
    expect(Math.min(answers.compiled, answers.refused)).toBeGreaterThan(rounds / 20);
    await rm(root, { recursive: true });
  },
  Math.max(60_000, rounds * 100),
);
