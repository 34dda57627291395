import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { mkdtemp, rm } from "../../../scripts/folders.mjs";
import { runProgram } from "../src/cli/program.js";
import { compile } from "../src/compile.js";
import { filesIn } from "./golden.js";

/**
 * What is called `locked…` cannot be read, as it is where others own it: those who run tests may
 * own everything.
 */
function guard(name: "readFileSync" | "readdirSync" | "watch"): void {
  const call = fs[name] as (...args: unknown[]) => never;
  vi.spyOn(fs, name).mockImplementation((...args: unknown[]) => {
    if (basename(String(args[0])).startsWith("locked"))
      throw Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
    return call(...args);
  });
}
beforeEach(() => {
  guard("readFileSync");
  guard("readdirSync");
  guard("watch");
  // What is imported by name follows.
  syncBuiltinESMExports();
  return () => {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  };
});

const define = (
  name: string,
  node = "send",
) => `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const ${name} = defineWorkflow({ input: z.object({}) }).step("${node}", { query: () => 1 });
`;

let app = "";
let functionsDir = "";
let printed = "";
beforeEach(async () => {
  app = await mkdtemp(join(tmpdir(), "stepwise-unreadable-"));
  functionsDir = join(app, "convex");
  await mkdir(functionsDir);
  await writeFile(join(functionsDir, "mail.workflow.ts"), define("mail"));
  printed = "";
  return () => rm(app, { recursive: true });
});

const terminal = (interrupted?: AbortSignal) => {
  const stream = { write: (text: string) => void (printed += text) };
  return { cwd: app, color: false, stdout: stream, stderr: stream, exitCode: 0, interrupted };
};

const put = (path: string, text: string) => writeFile(join(functionsDir, path), text);

test.each([
  {
    what: "a definition without rights",
    make: () => put("locked.workflow.ts", define("locked")),
    file: "locked.workflow.ts",
    why: "cannot be read: you have no right to (EACCES)",
  },
  {
    what: "a link to itself",
    make: () => symlink("loop.workflow.ts", join(functionsDir, "loop.workflow.ts")),
    file: "loop.workflow.ts",
    why: "cannot be read: it is a link that leads to itself (ELOOP)",
  },
  {
    what: "a link to nothing",
    make: () => symlink("nowhere.ts", join(functionsDir, "gone.workflow.ts")),
    file: "gone.workflow.ts",
    why: "cannot be read: ENOENT",
  },
  {
    what: "a folder without rights",
    make: () => mkdir(join(functionsDir, "locked")),
    file: "locked",
    why: "cannot be read: you have no right to (EACCES)",
  },
  {
    what: "a config that is a link to itself",
    make: () => symlink("stepwise.config.ts", join(functionsDir, "stepwise.config.ts")),
    file: "stepwise.config.ts",
    why: "leads to itself",
  },
  {
    what: "a module that a definition imports from",
    make: async () => {
      await symlink("schemas.ts", join(functionsDir, "schemas.ts"));
      const text = define("order").replace("z.object({})", "shape");
      await put("orders.workflow.ts", `import { shape } from "./schemas";\n${text}`);
    },
    file: "schemas.ts",
    why: "leads to itself",
  },
  {
    what: "a folder with the name of a definition",
    make: () => mkdir(join(functionsDir, "box.workflow.ts")),
    file: "box.workflow.ts",
    why: "it is a folder",
  },
  {
    what: "a pipe with the name of a definition",
    make: () => void execFileSync("mkfifo", [join(functionsDir, "pipe.workflow.ts")]),
    file: "pipe.workflow.ts",
    why: "it is not a file",
  },
  {
    what: "a socket with the name of a definition",
    make: () =>
      new Promise<void>(
        (done) => void createServer().listen(join(functionsDir, "s.workflow.ts"), done).unref(),
      ),
    file: "s.workflow.ts",
    why: "it is not a file",
  },
  {
    what: "a link to a folder without definitions",
    make: async () => {
      await mkdir(join(app, "empty"));
      await symlink("../empty", join(functionsDir, "up.workflow.ts"));
    },
    file: "up.workflow.ts",
    why: "it is a folder",
  },
  {
    what: "a config that is a pipe",
    make: () => void execFileSync("mkfifo", [join(functionsDir, "stepwise.config.ts")]),
    file: "stepwise.config.ts",
    why: "it is no file",
  },
])(
  "$what is one problem with its place, and the other files are checked",
  { tags: ["large"] },
  async (each) => {
    await put("wrong.workflow.ts", define("wrong", "class"));
    await each.make();
    const { diagnostics, files } = await compile({ functionsDir });
    expect(diagnostics.map(({ code }) => code).sort()).toEqual(["SW1004", "SW1906"]);
    const found = diagnostics.find(({ code }) => code === "SW1906");
    expect(found?.place).toMatchObject({ file: each.file, line: 1, column: 1 });
    expect(found?.message).toContain(`${each.file} cannot be read: `);
    expect(found?.message).toContain(each.why);
    expect(files).toEqual([]);
  },
);

test(
  "a plan that cannot be read is one problem, and nothing is written over it",
  { tags: ["large"] },
  async () => {
    await runProgram(terminal(), []);
    const plan = join(functionsDir, "_workflows/plan.json");
    await rm(plan);
    await symlink("plan.json", plan);
    printed = "";
    const out = terminal();
    await runProgram(out, []);
    expect(out.exitCode).toBe(1);
    expect(printed).toMatch(/convex\/_workflows\/plan\.json:1:1 error SW1904: .*leads to itself/);
  },
);

test.each([["generate"], ["check"], ["explain"], ["graph"]])(
  "%s says in one line what is wrong with a functions folder or convex.json that cannot be read",
  async (command) => {
    await symlink("circle", join(app, "circle"));
    await expect(runProgram(terminal(), [command, "--dir", "circle"])).rejects.toMatchObject({
      name: "Unreadable",
      message: expect.stringMatching(/circle cannot be read: it is a link that leads to itself/),
    });
    await symlink("convex.json", join(app, "convex.json"));
    await expect(runProgram(terminal(), [command])).rejects.toMatchObject({ name: "Unreadable" });
  },
);

test("an output folder that is a link to itself is refused", async () => {
  await symlink("_workflows", join(functionsDir, "_workflows"));
  const out = terminal();
  await runProgram(out, []);
  expect(out.exitCode).toBe(1);
  expect(printed).toMatch(/_workflows\/plan\.json cannot be read/);
});

test("--watch goes on when something cannot be read, and compiles again once it can", async () => {
  const interrupt = new AbortController();
  const ended = runProgram(terminal(interrupt.signal), ["--watch"]);
  const says = (text: RegExp) =>
    vi.waitFor(() => expect(printed).toMatch(text), { timeout: 300_000, interval: 5 });
  await says(/Watching convex/);
  await symlink("loop.workflow.ts", join(functionsDir, "loop.workflow.ts"));
  await says(/convex\/loop\.workflow\.ts:1:1 error SW1906/);
  await mkdir(join(functionsDir, "locked"));
  await says(/convex\/locked:1:1 error SW1906/);
  await rm(join(functionsDir, "loop.workflow.ts"));
  await rm(join(functionsDir, "locked"), { recursive: true });
  await says(/Compiles again\./);
  await put("mail.workflow.ts", define("mail", "post"));
  await says(/wrote convex\/_workflows\/mail\.ts\n1 workflow, 1 node/);
  expect(Object.keys(await filesIn(join(functionsDir, "_workflows"))).sort()).toContain("mail.ts");
  interrupt.abort();
  await ended;
});
