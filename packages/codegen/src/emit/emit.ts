import { outputFolder } from "../plan/paths.js";
import type { ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { indexFile } from "./index-file.js";
import { removedWorkflowFile } from "./leftovers.js";
import { planText } from "./plan-file.js";
import { sealed } from "./seal.js";
import { workflowFile } from "./workflow-file.js";

/** One file of `_workflows/`. */
export interface GeneratedFile {
  /** Relative to the functions folder, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** The texts of workflows that were emitted before; they depend on the plan, on which workflows there are and on what is left behind. */
const emitted = new WeakMap<WorkflowPlan, { readonly names: string; readonly text: string }>();

/** The files of a project whose plan has no errors: one per workflow, also of those that are gone, `index.ts`, `plan.json`. */
export function emit(plan: ProjectPlan): GeneratedFile[] {
  const { removed = [] } = plan;
  if (plan.workflows.length + removed.length === 0) return [];
  const names = plan.workflows.map(({ name }) => name);
  const left = new Map(removed.map(({ workflow, stages }) => [workflow, stages]));
  return [
    { path: `${outputFolder}/index.ts`, text: indexFile(names) },
    { path: `${outputFolder}/plan.json`, text: planText(toWritten(plan)) },
    ...plan.workflows.map((workflow) => ({
      path: `${outputFolder}/${workflow.name}.ts`,
      text: workflowText(workflow, names, left.get(workflow.name) ?? []),
    })),
    ...removed
      .filter(({ workflow }) => !names.includes(workflow))
      .map((each) => ({
        path: `${outputFolder}/${each.workflow}.ts`,
        text: removedWorkflowFile(each),
      })),
  ].map(sealed);
}

function workflowText(
  workflow: WorkflowPlan,
  workflowNames: readonly string[],
  left: readonly string[],
): string {
  const names = [workflowNames.join(), ...left].join("\n");
  const before = emitted.get(workflow);
  if (before?.names === names) return before.text;
  const text = workflowFile(workflow, workflowNames, left);
  emitted.set(workflow, { names, text });
  return text;
}
