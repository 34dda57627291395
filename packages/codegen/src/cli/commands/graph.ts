import { Option, type Command } from "commander";
import type { GraphOptions } from "../graph.js";
import type { Terminal } from "../terminal.js";
import { dirOption, examples } from "./shared.js";

export function registerGraph(program: Command, terminal: Terminal): void {
  program
    .command("graph")
    .description("draw the workflows: nodes, how they are run, and the children they start")
    .argument("[workflow]", "only this one (default: all)")
    .addOption(dirOption())
    .addOption(
      new Option("--format <format>", "what to write it in")
        .choices(["mermaid", "dot", "json"] satisfies GraphOptions["format"][])
        .default("mermaid"),
    )
    .option("--out <file>", "write it there, in the place of stdout")
    .addHelpText(
      "after",
      examples([
        "workflow-codegen graph > workflows.mmd",
        "workflow-codegen graph ingestDocument --format dot | dot -Tsvg -o ingest.svg",
      ]),
    )
    .action(async (workflow: string | undefined, options: GraphOptions) => {
      const { graph } = await import("../graph.js");
      terminal.exitCode = await graph(workflow, options, terminal);
    });
}
