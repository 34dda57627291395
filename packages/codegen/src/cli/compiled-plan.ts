import { compile } from "../compile.js";
import { suggestion } from "../diagnostics/nearest.js";
import type { ProjectPlan } from "../plan/schema.js";
import { displayPath, functionsFolder, UsageError } from "./functions-folder.js";
import { noWorkflow, printDiagnostics } from "./report.js";
import { printTo, type Terminal } from "./terminal.js";

/**
 * The plan of an app, for commands that show it. Prints its errors; undefined if there are some.
 *
 * @param workflow one that must be in the plan
 * @throws UsageError if it is not, or there is no functions folder
 */
export async function compiledPlan(
  dir: string | undefined,
  workflow: string | undefined,
  terminal: Terminal,
): Promise<ProjectPlan | undefined> {
  const functionsDir = functionsFolder(terminal.cwd, dir);
  const folder = displayPath(terminal.cwd, functionsDir);
  const { plan, diagnostics, ok } = await compile({ functionsDir, drop: true });
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  printDiagnostics(errors, folder, terminal);
  if (!ok) return undefined;
  if (plan.workflows.length === 0) printTo(terminal).err(noWorkflow(folder));
  const names = plan.workflows.map(({ name }) => name);
  if (workflow === undefined || names.includes(workflow)) return plan;
  throw new UsageError(
    `There is no workflow ${JSON.stringify(workflow)}. ${suggestion(workflow, names, "workflows")}`,
  );
}
