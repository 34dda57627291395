import type { Command } from "commander";
import { nearest } from "../../diagnostics/nearest.js";
import { UsageError } from "../functions-folder.js";
import type { GenerateOptions } from "../generate.js";
import type { Terminal } from "../terminal.js";
import { dirOption, examples } from "./shared.js";

function unknownCommand(word: string, program: Command): string {
  const names = program
    .createHelp()
    .visibleCommands(program)
    .map((command) => command.name());
  const near = nearest(word, names);
  const hint = near === undefined ? `There are: ${names.join(", ")}.` : `Did you mean "${near}"?`;
  return `There is no command ${JSON.stringify(word)}. ${hint}`;
}

export function registerGenerate(program: Command, terminal: Terminal): void {
  program
    .command("generate", { isDefault: true })
    .description("compile the workflows and write convex/_workflows (the default)")
    .addOption(dirOption())
    .option("--watch", "stay, and compile again whenever a definition is saved")
    .option("--force", "write over generated files that were edited by hand or are damaged")
    .option(
      "--against <ref or plan>",
      "what is deployed, whose runs are left what they need: a git ref, or a plan (default: the main branch)",
    )
    .option("--json", "print problems and what was written as JSON, to stdout")
    .addHelpText(
      "after",
      examples([
        "workflow-codegen",
        "workflow-codegen generate --dir backend/convex",
        "workflow-codegen --watch         beside `npx convex dev`",
        "workflow-codegen --json          for tools: { ok, problems, written, removed, left, workflows, nodes }",
      ]),
    )
    // The first word is taken for an argument of the default command when no command has that name.
    .allowExcessArguments()
    .action(async (options: GenerateOptions, command: Command) => {
      const [word] = command.args;
      if (word !== undefined) throw new UsageError(unknownCommand(word, program));
      const { generate } = await import("../generate.js");
      terminal.exitCode = await generate(options, terminal);
    });
}
