import type { Command } from "commander";
import type { GenerateOptions } from "../generate.js";
import type { Terminal } from "../terminal.js";
import { dirOption, examples } from "./shared.js";

export function registerGenerate(program: Command, terminal: Terminal): void {
  program
    .command("generate", { isDefault: true })
    .description("compile the workflows and write convex/_workflows (the default)")
    .addOption(dirOption())
    .option("--watch", "stay, and compile again whenever a definition is saved")
    .option("--force", "write over generated files that were edited by hand")
    .addHelpText(
      "after",
      examples([
        "workflow-codegen",
        "workflow-codegen generate --dir backend/convex",
        "workflow-codegen --watch         beside `npx convex dev`",
      ]),
    )
    .action(async (options: GenerateOptions) => {
      const { generate } = await import("../generate.js");
      terminal.exitCode = await generate(options, terminal);
    });
}
