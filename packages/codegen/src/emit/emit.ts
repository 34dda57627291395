import { outputFolder, usualComponent } from "../plan/paths.js";
import type { Leftover, ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { indexFile } from "./index-file.js";
import { removedWorkflowFile } from "./leftovers.js";
import { planText } from "./plan-file.js";
import { sealed } from "./seal.js";
import { leftModule, undoesFile } from "./undoes.js";
import { workflowFile } from "./workflow-file.js";

const nothing: Pick<Leftover, "stages"> = { stages: [] };

/** One file of `_workflows/`. */
export interface GeneratedFile {
  /** Relative to the functions folder, with `/`. */
  readonly path: string;
  readonly text: string;
}

/**
 * The texts of workflows that were emitted before; they depend on the plan, on which workflows there are, on what is left behind and on
 * the component's name.
 */
const emitted = new WeakMap<WorkflowPlan, { readonly names: string; readonly text: string }>();

/** The files of a project whose plan has no errors: one per workflow, also of those that are gone, what undoes steps that are gone, `index.ts`, `plan.json`. */
export function emit(plan: ProjectPlan): GeneratedFile[] {
  const { removed = [], config } = plan;
  const app = config?.values ?? {};
  const component = app.component ?? usualComponent;
  if (plan.workflows.length + removed.length === 0) return [];
  const names = plan.workflows.map(({ name }) => name);
  const left = new Map(removed.map((each) => [each.workflow, each]));
  return [
    { path: `${outputFolder}/index.ts`, text: indexFile(names, component, app) },
    { path: `${outputFolder}/plan.json`, text: planText(toWritten(plan)) },
    ...plan.workflows.map((workflow) => ({
      path: `${outputFolder}/${workflow.name}.ts`,
      text: workflowText(workflow, names, left.get(workflow.name) ?? nothing, component),
    })),
    ...removed
      .filter(({ workflow }) => !names.includes(workflow))
      .map((each) => ({
        path: `${outputFolder}/${each.workflow}.ts`,
        text: removedWorkflowFile(each, component),
      })),
    ...removed
      .filter(({ undoes }) => undoes !== undefined)
      .map((each) => ({
        path: `${outputFolder}/${leftModule(each.workflow)}.ts`,
        text: undoesFile(each),
      })),
  ].map(sealed);
}

function workflowText(
  workflow: WorkflowPlan,
  workflowNames: readonly string[],
  left: Pick<Leftover, "stages" | "undoes">,
  component: string,
): string {
  const names = [component, workflowNames.join(), JSON.stringify(left)].join("\n");
  const before = emitted.get(workflow);
  if (before?.names === names) return before.text;
  const text = workflowFile(workflow, workflowNames, left, component);
  emitted.set(workflow, { names, text });
  return text;
}
