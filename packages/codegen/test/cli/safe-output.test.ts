import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ProgressLines } from "../../src/cli/progress.js";
import { printTo } from "../../src/cli/terminal.js";
import { printable, printableJson } from "../../src/diagnostics/printable.js";
import { app, useApp, workflowCodegen } from "./command.js";

useApp();

/** C0, a way to clear the screen, DEL, C1, an override and an isolate of the writing direction. */
const evil = "\u0007\u001b[2J\u007f\u009b2J\u202e\u2066";
const raw = /(?![\t\n])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u;

const workflow = (step: string) => `import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const order = defineWorkflow({ input: z.object({}) })${step};
`;

async function write(file: string, text: string): Promise<void> {
  await mkdir(join(app(), "convex"), { recursive: true });
  await writeFile(join(app(), "convex", file), text);
}

test(
  "names, options and source lines never reach the terminal with their control characters",
  { tags: ["large"] },
  async () => {
    await write(`a${evil}.workflow.ts`, workflow(`.step("${evil}", { quer: async () => 1 })`));
    for (const args of [
      [],
      ["check"],
      ["graph"],
      ["check", "--json"],
      ["--json"],
      ["explain", "--json"],
    ]) {
      const { out, err } = await workflowCodegen(...args);
      expect(`${out}${err}`, args.join(" ")).not.toBe("");
      expect(out, args.join(" ")).not.toMatch(raw);
      expect(err, args.join(" ")).not.toMatch(raw);
    }
    for (const args of [["check", "--against", evil], [`--${evil}`], ["run", "--file", evil]]) {
      const printed: string[] = [];
      const { err } = printTo({
        cwd: app(),
        color: false,
        stdout: { write: () => {} },
        stderr: { write: (text) => printed.push(text) },
        exitCode: 0,
      });
      await workflowCodegen(...args).catch((error: Error) => err(error.message));
      expect(printed.join("")).not.toMatch(raw);
    }
  },
);

test("of escapes only the colors of this program are kept, and only where there are colors", () => {
  expect(printable("\u001b[31mred\u001b[39m \u001b[8mhidden", true)).toBe(
    "\u001b[31mred\u001b[39m \ufffd[8mhidden",
  );
  expect(printable("\u001b[31mred")).toBe("\ufffd[31mred");
  expect(printable("a\r\nb\tc 👩‍🚀 אב")).toBe("a\nb\tc 👩‍🚀 אב");
});

test("graphs have no control characters of the keys of cases, and no two become the same", async () => {
  const key = JSON.stringify(evil);
  const cases = `{ ${key}: (b) => b, ${JSON.stringify(`${evil}\u0008`)}: (b) => b.sleep("nap", 1) }`;
  await write("a.workflow.ts", workflow(`.branch("way", { on: () => ${key}, cases: ${cases} })`));
  for (const format of ["dot", "mermaid", "json"]) {
    const { out } = await workflowCodegen("graph", "--format", format);
    expect(out).toContain("way");
    expect(out, format).not.toMatch(raw);
  }
});

test("JSON is printed with escapes, and has the same meaning", () => {
  const text = printableJson({ [evil]: evil });
  expect(text).not.toMatch(raw);
  expect(JSON.parse(text)).toEqual({ [evil]: evil });
});

test("a message of many spaces is told at once", () => {
  const lines: string[] = [];
  const progress = new ProgressLines((line) => lines.push(line));
  const step = {
    stage: "a",
    kind: "action",
    state: "failed",
    attempt: 2,
    errors: [{ kind: "thrown", message: `a${" ".repeat(200_000)}b`, attempt: 1 }],
  };
  const run = { runId: "1", workflow: "order", state: "running", startedAt: 0, steps: [step] };
  const before = process.cpuUsage();
  progress.tell({ type: "progress", tree: { runs: [run], truncated: false } as never, seenAt: 1 });
  // Its time grew with the square of the number of spaces. Processor time is the same on a busy machine.
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
  expect(lines.join("")).toContain("failed");
});

test("a definition in a hidden file is told that it is hidden", async () => {
  await write(".hidden.workflow.ts", workflow('.step("one", { query: async () => 1 })'));
  const { err } = await workflowCodegen("check");
  expect(err).toContain(".hidden.workflow.ts begins with a dot");
  expect(err).toContain("such as hidden.workflow.ts");
  expect(err).not.toContain("does not end in .workflow.ts");
});
