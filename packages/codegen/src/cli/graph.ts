import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { dot, type Graph, graphOf, mermaid } from "../graph/graph.js";
import { compiledPlan } from "./plans.js";
import { UsageError } from "./functions-folder.js";
import { printTo, type Terminal } from "./terminal.js";

const formats = {
  mermaid,
  dot,
  json: (graph: Graph) => `${JSON.stringify(graph, undefined, 2)}\n`,
};

export async function graph(
  workflow: string | undefined,
  options: { readonly dir?: string; readonly format: keyof typeof formats; readonly out?: string },
  terminal: Terminal,
): Promise<0 | 1> {
  const plan = await compiledPlan(options.dir, workflow, terminal);
  if (plan === undefined) return 1;
  const text = formats[options.format](graphOf(plan, workflow));
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
