/** @module-tag large */
import { spawnSync } from "node:child_process";
import { appendFile, cp, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { rm } from "../../../../scripts/folders.mjs";
import { compile, Compiler, driftOf, type GeneratedFile } from "../../src/compile.js";
import { writeGenerated } from "../../src/compile.js";
import { settledStamp } from "../../src/discover/stamp.js";
import { sealed } from "../../src/emit/index-file.js";
import { answerOf } from "../../src/cli/plans.js";
import { keepLastCompile, type LastCompile, unchangedSince } from "../../src/cache/last-compile.js";
import { builtCommand, removeBuilt } from "../built.js";
import { filesIn, fixtures } from "../golden.js";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

/** Writes what is imported or required to stderr, one module a line. */
const hook = `export async function resolve(specifier, context, next) {
  const resolved = await next(specifier, context);
  require("node:fs").writeSync(2, "imported " + resolved.url + "\\n");
  return resolved;
}
import { createRequire } from "node:module";
const require = createRequire("file:///");`;
const asModule = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
const register = asModule(
  `import Module, { register } from "node:module";
import { writeSync } from "node:fs";
register(${JSON.stringify(asModule(hook))});
const load = Module._load;
Module._load = function (request, ...rest) {
  writeSync(2, "imported " + request + "\\n");
  return load.call(this, request, ...rest);
};`,
);

let main = "";
beforeAll(async () => {
  main = await builtCommand();
});
beforeEach(async () => {
  await writeFile(join(app(), "package.json"), "{}");
  await cp(join(fixtures, "parents", "convex"), join(app(), "convex"), { recursive: true });
});
afterAll(() => removeBuilt(main));

function generate(...args: string[]) {
  const command = ["--import", register, main, ...args];
  const { stdout, stderr, status } = spawnSync(process.execPath, command, {
    cwd: app(),
    encoding: "utf8",
  });
  const imported: readonly string[] = stderr.match(/(?<=^imported ).*/gm) ?? [];
  return { stdout, stderr, status, imported };
}

/** Says whether TypeScript was loaded, by the module that does so. */
const parses = (imported: readonly string[]) =>
  imported.some((url) => url.endsWith("/dist/typescript.js"));

const upToDate = /^6 workflows, 9 nodes, in [\d.]+ m?s\. Everything is up to date\.\n$/;

test(
  "when nothing has changed neither TypeScript nor zod nor any other library is loaded",
  { tags: ["large"] },
  () => {
    const first = generate();
    expect(first.status).toBe(0);
    expect(parses(first.imported)).toBe(true);
    const loadsCommander = ({ imported }: typeof first) =>
      imported.some((url) => url.includes("/commander/"));
    expect(loadsCommander(first)).toBe(false);
    const second = generate();
    expect(second.stdout).toMatch(upToDate);
    expect(second.imported.length).toBeGreaterThan(3);
    expect(
      second.imported.filter((url) => !url.startsWith("node:") && !url.includes("/dist/")),
    ).toEqual([]);
    expect(parses(second.imported)).toBe(false);
    const named = generate("generate", "--dir", "convex").imported;
    expect(new Set(named)).toEqual(new Set(second.imported));
    expect(loadsCommander(generate("--force"))).toBe(true);
  },
);

test(
  "nor by check, which says what it says of an app that it compiles",
  { tags: ["large"] },
  async () => {
    expect(generate().status).toBe(0);
    const kept = [generate("check"), generate("check", "--json", "--dir", "convex")];
    for (const { imported } of kept)
      expect(
        imported.filter(
          (url) =>
            !/^node:|\/dist\//.test(url) ||
            /\/dist\/typescript\.js$|\/format\.js$|child_process/.test(url),
        ),
      ).toEqual([]);
    await rm(join(app(), "node_modules"), { recursive: true });
    const anew = [generate("check"), generate("check", "--json")];
    expect(parses(anew[0]?.imported ?? [])).toBe(true);
    const said = (runs: typeof kept) => runs.map(({ stdout, status }) => ({ stdout, status }));
    expect(said(kept)).toEqual(said(anew));
    expect(kept[0]).toMatchObject({ status: 0, stdout: expect.stringMatching(/up to date/) });
  },
);

test(
  "TypeScript is loaded only when something has to be parsed, and zod only for a plan that was not written here",
  { tags: ["large"] },
  async () => {
    let plansAreOurs = true;
    const loads = (...args: string[]) => {
      const { status, imported } = generate(...args);
      expect(status).toBe(0);
      expect(imported.some((url) => url.includes("/zod/"))).toBe(!plansAreOurs);
      return parses(imported);
    };
    expect(loads()).toBe(true);
    expect(loads("check")).toBe(false);
    await rm(join(app(), "convex/_workflows/analyse.ts"));
    expect(loads()).toBe(false);
    const leaves = join(app(), "convex/leaves.workflow.ts");
    await appendFile(leaves, "// edited\n");
    expect(loads("check")).toBe(true);
    expect(loads()).toBe(false);
    const plan = join(app(), "convex/_workflows/analyse.plan.json");
    await appendFile(plan, "\n");
    plansAreOurs = false;
    expect(loads("generate", "--force")).toBe(false);
  },
);

const leftOver = sealed({ path: "", text: "// Generated by workflow-codegen from elsewhere\n" });

/**
 * In this process: what has been compiled last if nothing has changed since, after which nothing is
 * out of date.
 */
async function unchanged(): Promise<LastCompile | undefined> {
  const last = unchangedSince(join(app(), "convex"));
  if (last === undefined) expect((await workflowCodegen()).code).toBe(0);
  return last;
}

test("whatever has changed, definitions or output, is seen", { tags: ["large"] }, async () => {
  expect(await unchanged()).toBeUndefined();
  const folder = join(app(), "convex");
  const expected = await filesIn(folder);
  const edits: [string, (path: string) => Promise<void>][] = [
    ["_workflows/analyse.ts", (path) => rm(path)],
    ["_workflows/plan.json", (path) => rm(path)],
    ["_workflows/analyse.plan.json", (path) => rm(path)],
    ["_workflows", (path) => rm(path, { recursive: true })],
    ["_workflows/left.ts", (path) => writeFile(path, leftOver.text)],
  ];
  for (const [path, edit] of edits) {
    expect(await unchanged()).toMatchObject({ workflows: 6, nodes: 9 });
    await edit(join(folder, path));
    expect(await unchanged(), path).toBeUndefined();
    expect(await filesIn(folder), path).toEqual(expected);
  }
  // A file of that name may hold a chain that begins elsewhere, so it is read, once.
  await writeFile(join(folder, "more.workflow.ts"), "// not a workflow yet\n");
  expect(await unchanged()).toBeUndefined();
  expect(await unchanged()).toBeDefined();
  await appendFile(join(folder, "leaves.workflow.ts"), "// edited\n");
  expect(await unchanged()).toBeUndefined();
});

test(
  "after a compilation with errors or warnings these are told again",
  { tags: ["large"] },
  async () => {
    await unchanged();
    const leaves = join(app(), "convex/leaves.workflow.ts");
    const text = await readFile(leaves, "utf8");
    await writeFile(leaves, text.replace('.step("check", {', '.step("check", { retry: true,'));
    for (const run of [1, 2]) expect((await workflowCodegen()).err, `${run}`).toContain("SW1212");
    expect(unchangedSince(join(app(), "convex"))?.diagnostics).toMatchObject([{ code: "SW1212" }]);
    generate();
    const { stderr, stdout, imported } = generate();
    expect(stderr).toContain("SW1212");
    expect(stdout).toMatch(upToDate);
    expect(parses(imported)).toBe(false);
    await writeFile(leaves, `${text} syntax error`);
    for (const run of [1, 2]) expect((await workflowCodegen()).code, `${run}`).toBe(1);
    expect(unchangedSince(join(app(), "convex"))).toBeUndefined();
  },
);

test("a warning of what was there before is not told again", async () => {
  await unchanged();
  await rm(join(app(), "node_modules"), { recursive: true });
  await rm(join(app(), "convex/_workflows/analyse.plan.json"));
  expect((await workflowCodegen()).err).toContain("SW1903");
  expect(unchangedSince(join(app(), "convex"))).toBeUndefined();
  expect((await workflowCodegen()).err).toBe("");
});

test("a cache that is broken or of another compiler is as good as none", async () => {
  await unchanged();
  const cache = join(app(), "node_modules/.cache/stepwise");
  const [record = ""] = (await readdir(cache)).filter((name) => name.startsWith("unchanged"));
  const text = await readFile(join(cache, record), "utf8");
  const other = text.replace(/^\S+/, "0.0.1");
  expect(other).not.toBe(text);
  for (const broken of ["", "{}", "null", '{"fingerprint":3}', other]) {
    await writeFile(join(cache, record), broken);
    expect(await unchanged(), broken).toBeUndefined();
    expect(await unchanged()).toBeDefined();
  }
});

test("a file that definitions import is looked into, and a change of it is seen", async () => {
  const leaves = join(app(), "convex/leaves.workflow.ts");
  const words = join(app(), "convex/words.ts");
  const text = await readFile(leaves, "utf8");
  const using = text.replace('input.text.split(" ")', "words(input.text)");
  await writeFile(leaves, `import { words } from "./words";\n${using}`);
  expect(await unchanged()).toBeUndefined();
  expect(await unchanged()).toMatchObject({ consulted: expect.arrayContaining(["words.ts"]) });
  await writeFile(words, '"use node";\nexport const words = (text: string) => text.split(" ");\n');
  const broken = await workflowCodegen();
  expect(broken.code).toBe(1);
  expect(broken.err).toContain("SW1502");
  await rm(words);
  expect(await unchanged()).toBeDefined();
  await writeFile(words, "export const words = (text: string) => [text];\n");
  expect(await unchanged()).toBeUndefined();
  expect(await unchanged()).toBeDefined();
  await writeFile(words, '"use node";\nexport const words = (text: string) => [text];\n');
  expect(unchangedSince(join(app(), "convex"))).toBeUndefined();
});

test("a definition that was saved while the compiler ran is compiled by the next run", async () => {
  const functionsDir = join(app(), "convex");
  const compiled = await compile({ functionsDir });
  const { files, sources, consulted } = compiled;
  const answer = answerOf(functionsDir, compiled);
  await appendFile(join(functionsDir, "leaves.workflow.ts"), "\n// saved meanwhile\n");
  await writeGenerated(functionsDir, files);
  keepLastCompile(functionsDir, { sources, consulted, outputs: files, branches: "" }, answer);
  expect(unchangedSince(functionsDir)).toBeUndefined();
  const now = await compile({ functionsDir });
  keepLastCompile(functionsDir, { ...now, outputs: files, branches: "" }, answer);
  expect(unchangedSince(functionsDir)).toMatchObject({ workflows: 6, nodes: 9 });
});

test("the output holds nothing of the cache, and an app that is no package gets none", async () => {
  await unchanged();
  const paths = Object.keys(await filesIn(join(app(), "convex")));
  expect(paths.filter((path) => /unchanged|cache/.test(path))).toEqual([]);
  await rm(join(app(), "package.json"));
  await rm(join(app(), "node_modules"), { recursive: true });
  await workflowCodegen();
  expect((await readdir(app())).sort()).toEqual(["convex"]);
});

/** As in a process that begins a minute later: what is there now has not changed for long. */
function aMinuteLater(): void {
  const value = performance.timeOrigin + performance.now() + 60_000;
  Object.defineProperty(performance, "timeOrigin", { value, configurable: true });
}
afterEach(() => void Reflect.deleteProperty(performance, "timeOrigin"));

const stamped = (last: LastCompile | undefined) =>
  Object.values(last?.files ?? {}).filter(([, stamp]) => stamp !== undefined).length;

test("a file that has not changed for long is not read, and one that has changed is", async () => {
  const leaves = join(app(), "convex/leaves.workflow.ts");
  // A whole second: of a fraction, `utimes` keeps what a double of seconds can say.
  const changedAt = 1_700_000_000;
  await utimes(leaves, changedAt, changedAt);
  await unchanged();
  expect(stamped(await unchanged())).toBe(0);
  aMinuteLater();
  expect(unchangedSince(join(app(), "convex"))).toBeDefined();
  expect(stamped(unchangedSince(join(app(), "convex")))).toBeGreaterThan(10);
  const text = await readFile(leaves, "utf8");
  await writeFile(leaves, text.replace("countWords", "countTexts"));
  await utimes(leaves, changedAt, changedAt);
  expect((await stat(leaves)).mtimeMs).toBe(changedAt * 1_000);
  expect(unchangedSince(join(app(), "convex"))).toBeUndefined();
  await writeFile(leaves, text);
  expect(unchangedSince(join(app(), "convex"))).toBeDefined();
});

test("after an edit no generated file of another workflow is read, unless it has changed", async () => {
  const functionsDir = join(app(), "convex");
  const leaves = join(functionsDir, "leaves.workflow.ts");
  const compiled = async () => {
    const compiler = new Compiler({ once: true });
    const { files } = await compiler.compile({ functionsDir });
    compiler.remember(functionsDir);
    return files;
  };
  const there = (files: readonly GeneratedFile[]) => files.filter((file) => file.there).length;
  await workflowCodegen();
  aMinuteLater();
  // What was written a moment ago is read once more.
  expect(there(await compiled())).toBe(0);
  await appendFile(leaves, "\n// edited\n");
  const files = await compiled();
  expect(there(files)).toBeGreaterThan(5);
  const known = files.find((file) => file.there)!;
  const path = join(functionsDir, known.path);
  expect(known.text).toBe(await readFile(path, "utf8"));
  expect(await driftOf(functionsDir, files)).toMatchObject({ edited: [], removed: [] });
  await appendFile(path, "// by hand\n");
  expect(known.text).not.toContain("by hand");
  expect((await driftOf(functionsDir, files)).edited).toEqual([known.path]);
  expect((await driftOf(functionsDir, await compiled())).edited).toEqual([known.path]);
});

test("what is changed while it is compiled is read again", async () => {
  await unchanged();
  expect(settledStamp(join(app(), "convex/leaves.workflow.ts"))).toBeUndefined();
  aMinuteLater();
  expect(settledStamp(join(app(), "convex/leaves.workflow.ts"))).toBeDefined();
});
