import { compile } from "../compile.js";
import { nearest } from "../diagnostics/nearest.js";
import type { ProjectPlan } from "../plan/schema.js";
import { displayPath, functionsFolder, UsageError } from "./functions-folder.js";
import { noWorkflow, printDiagnostics } from "./generate-report.js";
import { printTo, type Terminal } from "./terminal.js";

/**
 * The plan of an app, for commands that show it. Its problems are printed; undefined when one is an error.
 *
 * @param workflow one that must be in the plan
 * @throws UsageError when it is not, or there is no functions folder
 */
export async function compiledPlan(
  dir: string | undefined,
  workflow: string | undefined,
  terminal: Terminal,
): Promise<ProjectPlan | undefined> {
  const functionsDir = await functionsFolder(terminal.cwd, dir);
  const { plan, diagnostics, ok } = await compile({ functionsDir, drop: true });
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  printDiagnostics({ diagnostics: errors }, displayPath(terminal.cwd, functionsDir), terminal);
  if (!ok) return undefined;
  if (plan.workflows.length === 0)
    printTo(terminal).err(noWorkflow(displayPath(terminal.cwd, functionsDir)));
  const names = plan.workflows.map(({ name }) => name);
  if (workflow === undefined || names.includes(workflow)) return plan;
  const near = nearest(workflow, names);
  const hint = near === undefined ? `There are: ${names.join(", ")}.` : `Did you mean "${near}"?`;
  throw new UsageError(`There is no workflow ${JSON.stringify(workflow)}. ${hint}`);
}
