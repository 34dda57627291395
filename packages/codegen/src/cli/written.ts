import type { CompileResult, Written } from "../compile.js";
import { digestOf } from "../plan/digest.js";
import type { ProjectPlan } from "../plan/schema.js";
import { countsText, plural } from "./counts.js";
import { inFolder } from "./functions-folder.js";
import { noWorkflow, tombstoneNames } from "./report.js";
import { printTo, type Terminal } from "./terminal.js";

export function report(
  { plan, ok }: CompileResult,
  { written, removed }: Written,
  folder: string,
  elapsedMs: number,
  terminal: Terminal,
): string {
  const { colors } = printTo(terminal);
  const named = (files: readonly string[], verb: string) =>
    some(files.map((file) => inFolder(folder, file))).map((file) => `${verb} ${file}`);
  const lines = [
    ...named(written, colors.green("wrote")),
    ...named(removed, colors.red("removed")),
  ];
  const tombstones = tombstoneNames(plan.removed ?? []);
  if (lines.length > 0 && tombstones.length > 0)
    lines.push(colors.dim(`kept for runs in flight: ${tombstones.join(", ")} (see check --drop)`));
  if (plan.workflows.length === 0) return [...lines, noWorkflow(folder)].join("\n");
  const changes = lines.length === 0 && ok ? colors.dim(" Everything is up to date.") : "";
  return [...lines, `${countsText(counted(plan), elapsedMs)}${changes}`].join("\n");
}

/** How many files are named; of more, the rest is counted. */
const mostNamed = 20;

function some(files: readonly string[]): readonly string[] {
  if (files.length <= mostNamed) return files;
  const others = files.length - mostNamed + 1;
  return [...files.slice(0, mostNamed - 1), `… and ${plural(others, "other file")}`];
}

export function counted({ workflows }: ProjectPlan): { workflows: number; nodes: number } {
  const nodes = workflows.reduce((count, workflow) => count + digestOf(workflow).nodes, 0);
  return { workflows: workflows.length, nodes };
}
