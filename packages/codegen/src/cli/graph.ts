import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { Option, type Command } from "commander";
import { dot } from "../graph/dot.js";
import { mermaid } from "../graph/mermaid.js";
import { graphOf, type Graph } from "../graph/model.js";
import { compiledPlan } from "./compiled-plan.js";
import { UsageError } from "./functions-folder.js";
import { printTo, type Terminal } from "./terminal.js";

const formats: Readonly<Record<string, (graph: Graph) => string>> = {
  mermaid,
  dot,
  json: (graph) => `${JSON.stringify(graph, undefined, 2)}\n`,
};

interface GraphOptions {
  readonly dir?: string;
  readonly format: string;
  readonly out?: string;
}

export function registerGraph(program: Command, terminal: Terminal): void {
  program
    .command("graph")
    .description("draw the workflows: nodes, how they are run, and the children they start")
    .argument("[workflow]", "only this one (default: all)")
    .option(
      "--dir <folder>",
      'the functions folder (default: "functions" of convex.json, else convex)',
    )
    .addOption(
      new Option("--format <format>", "what to write it in")
        .choices(Object.keys(formats))
        .default("mermaid"),
    )
    .option("--out <file>", "write it there, in the place of stdout")
    .addHelpText(
      "after",
      "\nExamples:\n  $ workflow-codegen graph > workflows.mmd" +
        "\n  $ workflow-codegen graph ingestDocument --format dot | dot -Tsvg -o ingest.svg",
    )
    .action(async (workflow: string | undefined, options: GraphOptions) => {
      terminal.exitCode = await graph(workflow, options, terminal);
    });
}

async function graph(
  workflow: string | undefined,
  options: GraphOptions,
  terminal: Terminal,
): Promise<0 | 1> {
  const plan = await compiledPlan(options.dir, workflow, terminal);
  if (plan === undefined) return 1;
  const text = formats[options.format]?.(graphOf(plan, workflow)) ?? "";
  if (options.out === undefined) {
    terminal.stdout.write(text);
    return 0;
  }
  await writeFile(resolve(terminal.cwd, options.out), text).catch((error: Error) => {
    throw new UsageError(`${options.out} cannot be written: ${error.message}`);
  });
  printTo(terminal).out(`wrote ${options.out}`);
  return 0;
}
