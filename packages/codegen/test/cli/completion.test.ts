import { execFileSync } from "node:child_process";
import { chmod, cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { createProgram } from "../../src/cli/program.js";
import { scripts } from "../../src/cli/completion/scripts.js";
import { fixtures } from "../golden.js";
import { app, workflowCodegen } from "./command.js";

beforeEach(async () => {
  await cp(join(fixtures, "documents/expected"), join(app(), "convex"), { recursive: true });
});

/** What is offered for the last word, without what it means. */
async function offered(...words: string[]): Promise<string[]> {
  const { out } = await workflowCodegen("complete", "--", ...words);
  return out.split("\n").flatMap((line) => (line === "" ? [] : (line.split("\t")[0] ?? "")));
}

test("commands, and the options of the default one", async () => {
  expect(await offered("")).toEqual(
    expect.arrayContaining(["generate", "check", "init", "graph", "explain", "run", "completion"]),
  );
  expect(await offered("")).not.toContain("complete");
  expect(await offered("e")).toEqual(["explain"]);
  expect(await offered("--w")).toEqual(["--watch"]);
  expect(await offered("--watch", "--w")).toEqual([]);
});

test("options of the command, and what their values may be", async () => {
  expect(await offered("graph", "--")).toEqual(["--dir", "--format", "--out", "--help"]);
  expect(await offered("graph", "--format", "")).toEqual(["mermaid", "dot", "json"]);
  expect(await offered("graph", "--format", "d")).toEqual(["dot"]);
  expect(await offered("graph", "--dir", "con")).toEqual([":folders"]);
  expect(await offered("graph", "--out", "")).toEqual([":files"]);
  expect(await offered("check", "--against", "dep")).toEqual([":files"]);
  expect(await offered("completion", "")).toEqual(["bash", "zsh", "fish"]);
});

test("values that stand behind their option in one word", async () => {
  expect(await offered("graph", "--format=")).toEqual([
    "--format=mermaid",
    "--format=dot",
    "--format=json",
  ]);
  expect(await offered("graph", "--format=d")).toEqual(["--format=dot"]);
  expect(await offered("graph", "--dir=con")).toEqual([":folders"]);
  expect(await offered("graph", "--help=")).toEqual([]);
  expect(await offered("graph", "--nothing=x")).toEqual([]);
});

test("names of workflows, from the plan in the functions folder", async () => {
  const all = ["ingestDocument", "summarizeChapter"];
  for (const command of ["run", "graph", "explain"])
    expect(await offered(command, "")).toEqual(all);
  expect(await offered("run", "--skip-time", "s")).toEqual(["summarizeChapter"]);
  expect(await offered("run", "ingestDocument", "")).toContain("--input");
  await cp(join(fixtures, "placement/expected"), join(app(), "backend"), { recursive: true });
  expect(await offered("run", "--dir", "backend", "")).toEqual(["invoice", "sendMail"]);
  expect(await offered("run", "--dir=backend", "")).toEqual(["invoice", "sendMail"]);
  await writeFile(join(app(), "convex.json"), '{ "functions": "backend" }');
  expect(await offered("run", "")).toEqual(["invoice", "sendMail"]);
});

test("without a plan, or with one that is broken, there are no names and no errors", async () => {
  await writeFile(join(app(), "convex/_workflows/plan.json"), '{ "workflows": 3 }');
  expect(await workflowCodegen("complete", "--", "run", "ing")).toMatchObject({ code: 0, out: "" });
  expect(await offered("nothing", "such", "--nor", "")).not.toContain("run");
});

test.each(["zsh", "fish"] as const)(
  "completion %s prints the script of that shell",
  async (shell) => {
    expect(await workflowCodegen("completion", shell)).toEqual({
      code: 0,
      out: `${scripts[shell]}\n`,
      err: "",
    });
  },
);

/* The scripts for zsh and fish were tried in both by hand; here, where they may not be installed, is seen that the scripts keep to what the command answers. */
test.each([
  ["bash", "complete -F _workflow_codegen workflow-codegen"],
  ["zsh", "#compdef workflow-codegen"],
  ["zsh", "compdef _workflow_codegen workflow-codegen"],
  ["fish", "complete --command workflow-codegen --no-files --arguments"],
] as const)("the script for %s registers itself by: %s", (shell, line) => {
  expect(scripts[shell].split("\n").some((each) => each.trim().startsWith(line))).toBe(true);
});

test.each(Object.entries(scripts))(
  "the script for %s asks the command as it was typed, and has its own way for all that stands for something else",
  (_shell, script) => {
    expect(script).toMatch(/("?\$\{?(COMP_WORDS\[0\]|words\[1\]|command)\}?"?) complete -- /);
    expect(script).toContain("2>/dev/null");
    for (const answer of [":files", ":folders"]) expect(script).toContain(answer);
    // A tab stands before what a word means: bash drops it, zsh wants a colon, fish takes it as it is.
    expect(script.includes("\\t")).toBe(script !== scripts.fish);
  },
);

test("the script for bash completes words, files and folders", async () => {
  // The command stands in a folder of its own, as it would in node_modules/.bin; it answers what it is asked.
  const bin = join(app(), "bin");
  await mkdir(bin);
  await mkdir(join(app(), "a folder"));
  await writeFile(join(app(), "a file"), "");
  await writeFile(
    join(bin, "workflow-codegen"),
    `#!/bin/sh\ncase "$*" in\n"complete -- run gr") printf 'greet\\tworkflow\\ngrow\\tworkflow\\n';;\n"complete -- graph --format=d") echo --format=dot;;\n*--out*) echo :files;;\n*--dir*) echo :folders;;\nesac\n`,
  );
  await chmod(join(bin, "workflow-codegen"), 0o755);
  const { out: script } = await workflowCodegen("completion", "bash");
  const complete = (...words: string[]) => {
    const array = ["workflow-codegen", ...words].map((word) => `'${word}'`).join(" ");
    const ask = `COMP_WORDS=(${array}); COMP_CWORD=${words.length}; _workflow_codegen; printf '%s|' "\${COMPREPLY[@]}"`;
    const printed = execFileSync("bash", ["--norc", "-uc", `${script}\n${ask}`], {
      cwd: app(),
      env: { PATH: `${bin}:${process.env["PATH"]}` },
      encoding: "utf8",
    });
    return printed.split("|").slice(0, -1);
  };
  expect(complete("run", "gr")).toEqual(["greet", "grow"]);
  expect(complete("graph", "--out", "a").sort()).toEqual(["a file", "a folder"]);
  expect(complete("graph", "--dir", "a")).toEqual(["a folder"]);
  // As bash breaks words: only what follows the = is completed.
  expect(complete("graph", "--format", "=", "d")).toEqual(["dot"]);
  expect(complete("graph", "--format=d")).toEqual(["--format=dot"]);
  expect(complete("graph", "--dir", "=", "a")).toEqual(["a folder"]);
  expect(complete("graph", "--dir", "=").sort()).toEqual(["a folder", "bin", "convex"]);
});

test("every command says in its help what it is for, with examples", () => {
  const terminal = {
    cwd: "/",
    color: false,
    stdout: { write: () => true },
    stderr: { write: () => true },
    exitCode: 0,
  };
  const program = createProgram(terminal);
  for (const command of [program, ...program.commands]) {
    let help = "";
    command.configureOutput({ writeOut: (text) => (help += text) });
    command.outputHelp();
    expect(help, command.name()).toMatch(/Examples:\n {2}\$ \S/);
    expect(command.description(), command.name()).not.toBe("");
  }
});
