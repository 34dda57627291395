import { readFileSync } from "node:fs";
import { Command } from "commander";
import * as z from "zod";
import { registerGenerate } from "./generate.js";
import { registerRun } from "./run.js";
import type { Terminal } from "./terminal.js";

const packageJson = z.object({ version: z.string() });

/** The commands of `workflow-codegen`. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command("workflow-codegen")
    .description(
      "Compiles Stepwise workflow definitions (*.workflow.ts) to ordinary Convex functions.",
    )
    .version(version())
    .showHelpAfterError("(run with --help for the commands and their options)")
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    })
    .addHelpText(
      "after",
      "\nExamples:\n  $ workflow-codegen                 compile convex/**/*.workflow.ts into convex/_workflows\n  $ workflow-codegen --dir backend   the same for another functions folder",
    );
  registerGenerate(program, terminal);
  registerRun(program);
  return program;
}

function version(): string {
  const path = new URL("../../package.json", import.meta.url);
  return packageJson.parse(JSON.parse(readFileSync(path, "utf8"))).version;
}
