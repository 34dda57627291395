import { readFileSync } from "node:fs";
import { Command } from "commander";
import * as z from "zod";
import { registerCheck } from "./check.js";
import { registerExplain } from "./explain.js";
import { registerGenerate } from "./generate.js";
import { registerGraph } from "./graph.js";
import { registerInit } from "./init.js";
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
      "\nExamples:\n  $ workflow-codegen                 compile convex/**/*.workflow.ts into convex/_workflows\n  $ workflow-codegen --dir backend   the same for another functions folder\n  $ workflow-codegen --watch         the same after every save\n  $ workflow-codegen init            make an app ready for workflows",
    );
  registerGenerate(program, terminal);
  registerInit(program, terminal);
  registerCheck(program, terminal);
  registerGraph(program, terminal);
  registerExplain(program, terminal);
  registerRun(program);
  return program;
}

function version(): string {
  const path = new URL("../../package.json", import.meta.url);
  return packageJson.parse(JSON.parse(readFileSync(path, "utf8"))).version;
}
