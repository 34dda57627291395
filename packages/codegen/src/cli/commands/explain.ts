import type { Command } from "commander";
import type { ExplainOptions } from "../explain.js";
import type { Terminal } from "../terminal.js";
import { dirOption, examples } from "./shared.js";

export function registerExplain(program: Command, terminal: Terminal): void {
  program
    .command("explain")
    .description("what each node and each run costs, reads, and takes at worst")
    .argument("[workflow]", "only this one (default: all)")
    .addOption(dirOption())
    .option("--json", "print it as JSON")
    .addHelpText(
      "after",
      examples(
        ["workflow-codegen explain ingestDocument", "workflow-codegen explain --json"],
        "Root executions are functions that are scheduled, called from outside, or called by an action, when nothing fails.",
      ),
    )
    .action(async (workflow: string | undefined, options: ExplainOptions) => {
      const { explainPlan } = await import("../explain.js");
      terminal.exitCode = await explainPlan(workflow, options, terminal);
    });
}
