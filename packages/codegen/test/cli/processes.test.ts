import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, utimesSync, watch } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { rm } from "../../../../scripts/folders.mjs";
import { Compiler } from "../../src/compile.js";
import type { Diagnostic } from "../../src/diagnostics/diagnostic.js";
import { discover, type SourceText } from "../../src/discover/discover.js";
import { builtCommand, removeBuilt } from "../built.js";
import { randomOf } from "../fuzz/mutate.js";
import { filesIn, fixtures } from "../golden.js";
import { app, useApp } from "./command.js";

useApp();

/*
 * The command as processes of their own: what happens when they are killed, run side by side, or
 * run elsewhere.
 */

let main = "";
beforeAll(async () => {
  main = await builtCommand();
});
afterAll(() => removeBuilt(main));

async function save(folder: string, sources: readonly SourceText[]): Promise<void> {
  for (const { file, text } of sources) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await writeFile(join(folder, file), text);
  }
}

/** What must be written of sources, by path in the functions folder. */
async function expectedOf(
  sources: readonly SourceText[],
  config?: SourceText,
): Promise<Record<string, string>> {
  const read = (file: string) => (file === config?.file ? config.text : undefined);
  const { files } = await new Compiler({ once: true }).compileSources(sources, read);
  return Object.fromEntries(files.map(({ path, text }) => [path, text]));
}

/** What is in the output folder of the app, but for temporary files. */
const output = async (functionsDir = join(app(), "convex")) => {
  const files = await filesIn(join(functionsDir, "_workflows"));
  const kept = Object.entries(files).filter(([name]) => !name.endsWith(".tmp"));
  return Object.fromEntries(kept.map(([name, text]) => [`_workflows/${name}`, text]));
};

const temporaries = () =>
  readdirSync(join(app(), "convex/_workflows")).filter((name) => name.endsWith(".tmp"));

function generate(...args: string[]) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [main, ...args], {
    cwd: app(),
    encoding: "utf8",
  });
  return { stdout, stderr, status };
}

/** Small workflows, each in a file of its own. */
const small = (count: number, output: string): SourceText[] =>
  Array.from({ length: count }, (_, index) => ({
    file: `w${index}.workflow.ts`,
    text: `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const w${index} = defineWorkflow({ input: z.object({}) }).step("only", { query: () => "${output}" });
`,
  }));

/** A workflow with each kind of node that holds others, and its config. */
const WIDE_CONFIG: SourceText = {
  file: "stepwise.config.ts",
  text: `import { defineConfig } from "@stepwise/workflow";
export default defineConfig({ limits: { api: { total: 2 } } });
`,
};
const wide = (output: string): SourceText => ({
  file: "wide.workflow.ts",
  text: `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const wide = defineWorkflow({
  input: z.object({ ns: z.array(z.number()) }),
  collect: { key: () => "all", quiet: "1s", keep: "last" },
  onEnd: { mutation: async () => {} },
})
  .parallel("both", { branches: {
    "a.b": (b) => b.step("made", { action: async () => "${output}", limits: ["api"] }),
    rest: (b) => b.sleep("nap", "1s"),
  } })
  .each("all", { of: ({ input }) => input.ns, body: (b) => b.step("one", { query: (_ctx, { each }) => each.item }) })
  .race("won", { cases: { event: (b) => b.event("paid", { schema: z.string() }), late: (b) => b.sleep("week", "7d") } })
  .match("which", { of: "won", by: "case", cases: { event: (b) => b, late: (b) => b.end(() => "${output}") } })
  .step("last", { query: (_ctx, { all }) => all });
`,
});

test(
  "a process that is killed in the middle of writing leaves each file whole, old or new",
  { tags: ["large"] },
  async () => {
    const versions = [small(100, "first"), small(100, "second")];
    const texts = await Promise.all(versions.map((each) => expectedOf(each)));
    const folder = join(app(), "convex/_workflows");
    await mkdir(folder, { recursive: true });
    const random = randomOf(1);
    let halfway = 0;
    for (let round = 0; round < 6; round++) {
      await save(join(app(), "convex"), versions[round % 2] ?? []);
      const child = spawn(process.execPath, [main, "--dir", "convex"], { cwd: app() });
      const exited = once(child, "exit");
      const watcher = watch(folder, () => {
        watcher.close();
        setTimeout(() => child.kill("SIGKILL"), random() * 8);
      });
      await exited;
      watcher.close();
      const found = Object.entries(await output());
      const written = found.map(([path, text]) => {
        const version = texts.findIndex((expected) => expected[path] === text);
        expect(version, `round ${round}: ${path} is of neither version`).toBeGreaterThanOrEqual(0);
        return version;
      });
      if (found.length < 102 || new Set(written).size > 1) halfway++;
    }
    // Else nothing has been shown.
    expect(halfway).toBeGreaterThan(0);
    // The next one makes it right, and takes away what is old enough to belong to nobody.
    await writeFile(join(folder, ".workflow-codegen-00000000-0000-0000-0000-000000000000.tmp"), "");
    await writeFile(join(folder, ".mine.tmp"), "");
    for (const name of temporaries()) utimesSync(join(folder, name), 0, 0);
    await save(join(app(), "convex"), small(100, "third"));
    expect(generate().status).toBe(0);
    expect(await output()).toEqual(await expectedOf(small(100, "third")));
    expect(temporaries()).toEqual([".mine.tmp"]);
  },
);

test(
  "30 kills at random moments, of two processes at once, leave nothing that the next does not mend",
  { tags: ["large"] },
  async () => {
    const random = randomOf(2);
    const folder = join(app(), "convex");
    const start = () => {
      const child = spawn(process.execPath, [main], { cwd: app(), stdio: "ignore" });
      return { child, exited: once(child, "exit") };
    };
    const sourcesOf = (text: string) => [...small(5, text), wide(text)];
    await save(folder, [WIDE_CONFIG, ...sourcesOf("first")]);
    const began = performance.now();
    await start().exited;
    const tookMs = performance.now() - began;
    for (let round = 1; round <= 15; round++) {
      const sources = sourcesOf(`round ${round}`);
      await save(folder, sources);
      const both = [start(), start()];
      for (const { child } of both) setTimeout(() => child.kill("SIGKILL"), random() * tookMs);
      await Promise.all(both.map(({ exited }) => exited));
      if (round % 5 > 0) continue;
      expect(generate().status, `round ${round}`).toBe(0);
      expect(await output(), `round ${round}`).toEqual(await expectedOf(sources, WIDE_CONFIG));
    }
  },
);

test("several compilers at once write what one would", { tags: ["large"] }, async () => {
  const folder = join(app(), "convex");
  const sources = [...small(40, "only"), wide("only")];
  await save(folder, [WIDE_CONFIG, ...sources]);
  const ended = await Promise.all(
    [1, 2, 3].map(async () => {
      const child = spawn(process.execPath, [main], { cwd: app(), stdio: "ignore" });
      const [code] = (await once(child, "exit")) as [number | null];
      return code;
    }),
  );
  expect(ended).toEqual([0, 0, 0]);
  expect(await output()).toEqual(await expectedOf(sources, WIDE_CONFIG));
  expect(temporaries()).toEqual([]);
  expect(generate().stdout).toContain("Everything is up to date.");
});

test(
  "a compiler that was slow does not write over what a later one made of a later definition",
  { tags: ["large"] },
  async () => {
    const [older, newer] = [small(3, "older"), small(3, "newer")];
    const folder = join(app(), "convex");
    await save(folder, older);
    // It has read the definitions when it loads what analyses them; and that it gets only when the
    // other one has ended.
    const go = join(app(), "go");
    const hook = `import { existsSync, writeFileSync } from "node:fs";
export async function resolve(specifier, context, next) {
  if (specifier.endsWith("/file-reader.js")) {
    writeFileSync(${JSON.stringify(join(app(), "waiting"))}, "");
    while (!existsSync(${JSON.stringify(go)})) await new Promise((done) => setTimeout(done, 5));
  }
  return next(specifier, context);
}`;
    const asModule = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;
    const register = asModule(
      `import { register } from "node:module"; register(${JSON.stringify(asModule(hook))});`,
    );
    const slow = spawn(process.execPath, ["--import", register, main], { cwd: app() });
    const exited = once(slow, "exit");
    await vi.waitFor(() => expect(existsSync(join(app(), "waiting"))).toBe(true), 300_000);
    await save(folder, newer);
    expect(generate().status).toBe(0);
    await writeFile(go, "");
    expect(await exited).toEqual([0, null]);
    expect(await output()).toEqual(await expectedOf(newer));
  },
);

test(
  "definitions in the same files give the same bytes wherever and however they are compiled",
  { tags: ["large"] },
  async () => {
    const sources = discover(join(fixtures, "parents", "convex"));
    const expected = await expectedOf(sources);
    const shuffled = sources.toSorted(() => randomOf(sources.length)() - 0.5).toReversed();
    const onWindows = shuffled.map(({ file, text }) => ({
      file,
      text: `\ufeff${text.replaceAll("\n", "\r\n")}`,
    }));
    const machines = [
      { folder: join(app(), "here/convex"), cwd: join(app(), "here"), sources, env: {} },
      {
        folder: join(app(), "un autre endroit", "ç", "back end"),
        cwd: join(app(), "un autre endroit"),
        sources: onWindows,
        // Where "I" and "i" are letters of their own, and the day has begun already.
        env: { LC_ALL: "tr_TR.UTF-8", LANG: "tr_TR.UTF-8", TZ: "Pacific/Kiritimati" },
      },
      {
        folder: join(app(), "there/convex"),
        cwd: "/",
        sources: shuffled,
        env: { LC_ALL: "C", LANG: "C", TZ: "America/Los_Angeles", NO_COLOR: "1", CI: "1" },
      },
    ];
    for (const { folder, cwd, sources: texts, env } of machines) {
      await mkdir(cwd, { recursive: true });
      await save(folder, texts);
      const args = [main, "--dir", relative(cwd, folder)];
      const done = spawnSync(process.execPath, args, {
        cwd,
        env: { PATH: process.env["PATH"], ...env },
        encoding: "utf8",
      });
      expect(done.stderr).toBe("");
      expect(await output(folder), folder).toEqual(expected);
      // Deleted, it is made again.
      await rm(join(folder, "_workflows"), { recursive: true });
      spawnSync(process.execPath, args, { cwd });
      expect(await output(folder), folder).toEqual(expected);
    }
  },
);

test(
  "what cannot be written is said in a sentence, without a stack",
  { tags: ["large"] },
  async () => {
    const folder = join(app(), "convex");
    await save(folder, small(1, "only"));
    await writeFile(join(folder, "_workflows"), "mine");
    const blocked = generate();
    expect(blocked.status).toBe(1);
    expect(blocked.stderr).toMatch(
      /^cannot write generated code: .*_workflows is no folder; .*\n$/,
    );
    expect(readFileSync(join(folder, "_workflows"), "utf8")).toBe("mine");
    await rm(join(folder, "_workflows"));
    await symlink(join(app(), "nowhere"), join(folder, "_workflows"));
    expect(generate().stderr).toContain("_workflows is no folder");
    expect(existsSync(join(app(), "nowhere"))).toBe(false);
  },
);

test("output that nobody reads to its end is no error", { tags: ["large"] }, async () => {
  await save(join(app(), "convex"), small(20, "only"));
  for (const command of ["", "graph", "explain --json", "--help", "check --json"]) {
    const piped = `"${process.execPath}" "${main}" ${command} | true`;
    const { stderr } = spawnSync("bash", ["-c", piped], { cwd: app(), encoding: "utf8" });
    expect(stderr, command).toBe("");
  }
});

test.runIf(process.platform === "linux")(
  "output that cannot be written is said without a stack, and the exit code is 1",
  { tags: ["large"] },
  async () => {
    await save(join(app(), "convex"), small(1, "only"));
    for (const command of ["graph", "explain --json", "check --json"]) {
      const full = `"${process.execPath}" "${main}" ${command} > /dev/full`;
      const { status, stderr } = spawnSync("bash", ["-c", full], { cwd: app(), encoding: "utf8" });
      expect(stderr, command).toMatch(/^The output cannot be written: ENOSPC.*\n$/);
      expect(status, command).toBe(1);
    }
  },
);

test("started in a folder that is gone it says so, without a stack", () => {
  const gone = join(app(), "gone");
  const { status, stdout, stderr } = spawnSync(
    "sh",
    [
      "-c",
      'mkdir "$1" && cd "$1" && rmdir "$1" && exec "$2" "$3"',
      "sh",
      gone,
      process.execPath,
      main,
    ],
    { encoding: "utf8" },
  );
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toMatch(/^The folder in which workflow-codegen was started is not there any more/);
  expect(stderr.trim().split("\n")).toHaveLength(1);
});

/** Shapes of source that can be as deep as one likes, as people or tools write them. */
const shapes: Readonly<Record<string, (depth: number) => string>> = (() => {
  const around = (before: string, inside: string, after: string) => (depth: number) =>
    before.repeat(depth) + inside + after.repeat(depth);
  return {
    "chained calls": around("", "z.string()", ".min(1)"),
    "calls of what a call gives": around("", "f", "()"),
    "optional members": around("", "a", "?.b"),
    "elements of elements": around("", "a", "[0]"),
    "calls in arguments": around("f(", "1", ")"),
    lists: around("[", "1", "]"),
    objects: around("{ a: ", "1", "}"),
    "spread objects": around("{ ...", "a", "}"),
    schemas: around("z.object({ a: ", "z.string()", " })"),
    brackets: around("(", "1", ")"),
    templates: around("`${", "a", "}`"),
    choices: around("a ? b : ", "c", ""),
    "choices in brackets": around("(", "a", " ? b : c)"),
    sums: around("", "1", " + 1"),
    texts: around("", '"a"', ' + "b"'),
    alternatives: around("", "a", " ?? b"),
    negations: around("!", "a", ""),
    operators: around("typeof ", "a", ""),
    casts: around("", "1", " as number"),
    types: (depth) => `x as ${around("A<", "B", ">")(depth)}`,
    arrows: around("() => ", "1", ""),
    functions: around("() => { return ", "1", " }"),
    "else if": (depth) => `() => { ${"if (a) {} else ".repeat(depth)}{} }`,
    blocks: (depth) => `() => ${around("{", "", "}")(depth)}`,
    loops: (depth) => `() => { ${"for (;;) ".repeat(depth)}; }`,
    classes: around("class { a = ", "1", " }"),
  };
})();

test(
  "whatever is nested deeply, and whatever stack there is: one line at its place",
  { tags: ["large"] },
  async () => {
    const places = [
      (text: string) => `{ input: ${text} }).step("only", { query: () => 1 })`,
      (text: string) => `{ input: z.object({}) }).step("only", { query: () => ${text} })`,
      (text: string) =>
        `{ input: z.object({}) }).step("only", { timeout: ${text}, action: () => 1 })`,
    ];
    const sources = Object.values(shapes).flatMap((shape, at) =>
      places.map((place, where) => {
        const head = small(1, "x")[0]?.text.split("\n").slice(0, 2).join("\n");
        const text = `${head}\nexport const w${at}x${where} = defineWorkflow(${place(`\n${shape(1500)}\n`)};\n`;
        return { file: `w${at}x${where}.workflow.ts`, text };
      }),
    );
    await save(join(app(), "convex"), [...sources, ...small(1, "sound")]);
    const args = ["--stack-size=150", main, "--json"];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: app(), encoding: "utf8" });
    expect(stderr).toBe("");
    const { problems, written }: Json = JSON.parse(stdout);
    const told = problems.map(({ code, place }) => `${place.file}:${place.line} ${code}`);
    expect(told).toEqual(sources.map(({ file }) => `${file}:4 SW1901`).sort());
    expect(written).toContain("_workflows/w0.ts");
  },
);

interface Json {
  readonly problems: readonly Pick<Diagnostic, "code" | "place">[];
  readonly written: readonly string[];
}
