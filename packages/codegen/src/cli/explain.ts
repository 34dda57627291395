import type { Command } from "commander";
import { explain } from "../explain/explain.js";
import { compiledPlan } from "./compiled-plan.js";
import { explainText } from "./explain-text.js";
import { printTo, type Terminal } from "./terminal.js";

interface ExplainOptions {
  readonly dir?: string;
  readonly json?: boolean;
}

export function registerExplain(program: Command, terminal: Terminal): void {
  program
    .command("explain")
    .description("what each node and each run costs, reads, and takes at worst")
    .argument("[workflow]", "only this one (default: all)")
    .option(
      "--dir <folder>",
      'the functions folder (default: "functions" of convex.json, else convex)',
    )
    .option("--json", "print it as JSON")
    .addHelpText(
      "after",
      "\nRoot executions are functions that are scheduled, called from outside, or called by an action, when nothing fails." +
        "\n\nExamples:\n  $ workflow-codegen explain ingestDocument\n  $ workflow-codegen explain --json",
    )
    .action(async (workflow: string | undefined, options: ExplainOptions) => {
      const plan = await compiledPlan(options.dir, workflow, terminal);
      terminal.exitCode = plan === undefined ? 1 : 0;
      if (plan === undefined) return;
      const explained = explain(plan, workflow);
      const print = printTo(terminal);
      if (options.json === true) print.out(JSON.stringify(explained, undefined, 2));
      else print.out(explained.map((each) => explainText(each, terminal.color)).join("\n\n"));
    });
}
