import type { ProjectPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { indexFile } from "./index-file.js";
import { planText } from "./plan-file.js";
import { workflowFile } from "./workflow-file.js";

/** One file of `_workflows/`. */
export interface GeneratedFile {
  /** Relative to the functions folder, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** The folder under the functions folder that holds what the compiler writes. */
export const outputFolder = "_workflows";

/** The files of a project whose plan has no errors: one per workflow, `index.ts`, `plan.json`. */
export function emit(plan: ProjectPlan): GeneratedFile[] {
  if (plan.workflows.length === 0) return [];
  const names = plan.workflows.map(({ name }) => name);
  return [
    { path: `${outputFolder}/index.ts`, text: indexFile(names) },
    { path: `${outputFolder}/plan.json`, text: planText(toWritten(plan)) },
    ...plan.workflows.map((workflow) => ({
      path: `${outputFolder}/${workflow.name}.ts`,
      text: workflowFile(workflow, names),
    })),
  ];
}
