import type { Command } from "commander";
import type { InitOptions } from "../init.js";
import type { Terminal } from "../terminal.js";
import { dirOption, examples } from "./shared.js";

export function registerInit(program: Command, terminal: Terminal): void {
  program
    .command("init")
    .description("make an app ready for workflows: the component, a first workflow, the scripts")
    .addOption(dirOption())
    .addHelpText(
      "after",
      examples(
        ["workflow-codegen init", "workflow-codegen init --dir backend/convex"],
        "What is there already stays as it is, so it may be run again at any time.",
      ),
    )
    .action(async (options: InitOptions) => {
      const { init } = await import("../init.js");
      terminal.exitCode = await init(options, terminal);
    });
}
