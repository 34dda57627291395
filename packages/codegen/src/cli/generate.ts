import type { Command } from "commander";
import pc from "picocolors";
import { compile, writeGenerated, type CompileResult, type Written } from "../compile.js";
import { formatDiagnostic } from "../diagnostics/format.js";
import { displayPath, functionsFolder } from "./functions-folder.js";
import { printTo, type Terminal } from "./terminal.js";

export function registerGenerate(program: Command, terminal: Terminal): void {
  program
    .command("generate", { isDefault: true })
    .description("compile the workflows and write convex/_workflows (the default)")
    .option(
      "--dir <folder>",
      'the functions folder (default: "functions" of convex.json, else convex)',
    )
    .addHelpText(
      "after",
      "\nExamples:\n  $ workflow-codegen\n  $ workflow-codegen generate --dir backend/convex",
    )
    .action(async (options: { dir?: string }) => {
      terminal.exitCode = await generate(options, terminal);
    });
}

/** Compiles and writes; gives the exit code. */
export async function generate(options: { dir?: string }, terminal: Terminal): Promise<0 | 1> {
  const started = performance.now();
  const print = printTo(terminal);
  const functionsDir = await functionsFolder(terminal.cwd, options.dir);
  const folder = displayPath(terminal.cwd, functionsDir);
  const result = await compile({ functionsDir });
  printDiagnostics(result, folder, terminal);
  if (!result.ok) return 1;
  const written = await writeGenerated(functionsDir, result.files);
  print.out(report(result, written, folder, performance.now() - started, terminal));
  return 0;
}

/** Prints all problems, and how many there are. */
export function printDiagnostics(
  { diagnostics }: CompileResult,
  folder: string,
  terminal: Terminal,
): void {
  if (diagnostics.length === 0) return;
  const print = printTo(terminal);
  const prefix = folder === "." ? "" : `${folder}/`;
  for (const diagnostic of diagnostics)
    print.err(`${formatDiagnostic(diagnostic, { color: terminal.color, prefix })}\n`);
  const errors = diagnostics.filter(({ severity }) => severity === "error").length;
  const warnings = diagnostics.length - errors;
  const counts = [
    ...(errors > 0 ? [plural(errors, "error")] : []),
    ...(warnings > 0 ? [plural(warnings, "warning")] : []),
  ];
  print.err(`${counts.join(", ")}.${errors > 0 ? " Nothing was written." : ""}`);
}

function report(
  result: CompileResult,
  written: Written,
  folder: string,
  elapsed: number,
  terminal: Terminal,
): string {
  const colors = pc.createColors(terminal.color);
  const path = (file: string) => (folder === "." ? file : `${folder}/${file}`);
  const { workflows } = result.plan;
  if (workflows.length === 0) {
    const removed = written.removed.map((file) => `${colors.red("removed")} ${path(file)}`);
    return [
      ...removed,
      `No workflow found: none of ${path("**/*.workflow.ts")} calls defineWorkflow().`,
    ].join("\n");
  }
  const nodes = workflows.reduce((count, workflow) => count + workflow.nodes.length, 0);
  const changes =
    written.written.length + written.removed.length === 0
      ? colors.dim(" Everything is up to date.")
      : "";
  return [
    ...written.written.map((file) => `${colors.green("wrote")} ${path(file)}`),
    ...written.removed.map((file) => `${colors.red("removed")} ${path(file)}`),
    `${plural(workflows.length, "workflow")}, ${plural(nodes, "node")}, in ${(elapsed / 1000).toFixed(1)} s.${changes}`,
  ].join("\n");
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
