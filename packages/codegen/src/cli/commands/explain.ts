import type { Command } from "commander";
import type { ExplainOptions } from "../explain.js";
import type { Terminal } from "../terminal.js";
import { dirOption, examples } from "./shared.js";

export function registerExplain(program: Command, terminal: Terminal): void {
  program
    .command("explain")
    .description(
      "what each node and each run costs, reads, and takes at worst; or what a problem means",
    )
    .argument("[topic]", "a workflow (default: all), or the code of a problem")
    .addOption(dirOption())
    .option("--json", "print it as JSON")
    .addHelpText(
      "after",
      examples(
        [
          "workflow-codegen explain ingestDocument",
          "workflow-codegen explain --json",
          "workflow-codegen explain SW1206          the page of a problem",
        ],
        "Root executions are functions that are scheduled, called from outside, or called by an action, when nothing fails.",
      ),
    )
    .action(async (topic: string | undefined, options: ExplainOptions) => {
      const { explain } = await import("../explain.js");
      terminal.exitCode = await explain(topic, options, terminal);
    });
}
