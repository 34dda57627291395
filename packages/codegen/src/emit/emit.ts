import { outputFolder } from "../plan/paths.js";
import type { ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { indexFile } from "./index-file.js";
import { planText } from "./plan-file.js";
import { sealed } from "./seal.js";
import { workflowFile } from "./workflow-file.js";

/** One file of `_workflows/`. */
export interface GeneratedFile {
  /** Relative to the functions folder, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** The texts of workflows that were emitted before; they depend on the plan and on which workflows there are, and on nothing else. */
const emitted = new WeakMap<WorkflowPlan, { readonly names: string; readonly text: string }>();

/** The files of a project whose plan has no errors: one per workflow, `index.ts`, `plan.json`. */
export function emit(plan: ProjectPlan): GeneratedFile[] {
  if (plan.workflows.length === 0) return [];
  const names = plan.workflows.map(({ name }) => name);
  return [
    { path: `${outputFolder}/index.ts`, text: indexFile(names) },
    { path: `${outputFolder}/plan.json`, text: planText(toWritten(plan)) },
    ...plan.workflows.map((workflow) => ({
      path: `${outputFolder}/${workflow.name}.ts`,
      text: workflowText(workflow, names),
    })),
  ].map((file) => sealed(file));
}

function workflowText(workflow: WorkflowPlan, workflowNames: readonly string[]): string {
  const names = workflowNames.join();
  const before = emitted.get(workflow);
  if (before?.names === names) return before.text;
  const text = workflowFile(workflow, workflowNames);
  emitted.set(workflow, { names, text });
  return text;
}
