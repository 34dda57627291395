import { Command } from "commander";
import { compilerVersion } from "../version.js";
import { registerCheck } from "./commands/check.js";
import { registerExplain } from "./commands/explain.js";
import { registerGenerate } from "./commands/generate.js";
import { registerGraph } from "./commands/graph.js";
import { registerInit } from "./commands/init.js";
import { registerRun } from "./commands/run.js";
import { examples } from "./commands/shared.js";
import type { Terminal } from "./terminal.js";

/** Parses the words of a command line and does what they say; options may stand before the command too. */
export async function runProgram(terminal: Terminal, words: readonly string[]): Promise<void> {
  const program = createProgram(terminal).exitOverride();
  await program.parseAsync(commandFirst(program, words), { from: "user" });
}

/**
 * The words with the command before its options. Without this, commander gives the words of
 * `--dir backend check` to the default command, which has `--dir` too.
 */
function commandFirst(program: Command, words: readonly string[]): string[] {
  const valued = new Set(
    program.commands.flatMap(({ options }) =>
      options.flatMap(({ long, required }) => (required && long != null ? [long] : [])),
    ),
  );
  const at = words.findIndex(
    (word, index) => !word.startsWith("-") && !valued.has(words[index - 1] ?? ""),
  );
  const command = words[at];
  if (at <= 0 || !program.commands.some((each) => each.name() === command)) return [...words];
  return [command ?? "", ...words.slice(0, at), ...words.slice(at + 1)];
}

/** The commands of `workflow-codegen`. What each does is loaded when it is asked for: some bring along libraries that take their time. */
function createProgram(terminal: Terminal): Command {
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
  return program;
}
