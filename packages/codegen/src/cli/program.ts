import { Command } from "commander";
import { compilerVersion } from "../version.js";
import { registerCheck } from "./commands/check.js";
import { registerCompletion } from "./commands/completion.js";
import { registerExplain } from "./commands/explain.js";
import { registerGenerate } from "./commands/generate.js";
import { registerGraph } from "./commands/graph.js";
import { registerInit } from "./commands/init.js";
import { registerRun } from "./commands/run.js";
import { examples } from "./commands/shared.js";
import type { Terminal } from "./terminal.js";

/** The commands of `workflow-codegen`. What each does is loaded when it is asked for: some bring along libraries that take their time. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command("workflow-codegen")
    .description(
      "Compiles Stepwise workflow definitions (*.workflow.ts) to ordinary Convex functions.",
    )
    .version(compilerVersion())
    .showHelpAfterError("(run with --help for the commands and their options)")
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    })
    .addHelpText(
      "after",
      examples([
        "workflow-codegen                 compile convex/**/*.workflow.ts into convex/_workflows",
        "workflow-codegen --dir backend   the same for another functions folder",
        "workflow-codegen --watch         the same after every save",
        "workflow-codegen init            make an app ready for workflows",
      ]),
    );
  registerGenerate(program, terminal);
  registerInit(program, terminal);
  registerCheck(program, terminal);
  registerGraph(program, terminal);
  registerExplain(program, terminal);
  registerRun(program);
  registerCompletion(program, terminal);
  return program;
}
