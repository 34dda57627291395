import { outputOf, planFileIn, usualComponent } from "../plan/paths.js";
import type { Leftover, ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { forwardingFile } from "./forwarding.js";
import { indexFile } from "./index-file.js";
import { removedWorkflowFile } from "./leftovers.js";
import { planText } from "./plan-file.js";
import { sealed } from "./seal.js";
import type { Setting } from "./setting.js";
import { leftModule, undoesFile } from "./undoes.js";
import { workflowFile } from "./workflow-file.js";

const nothing: Pick<Leftover, "stages"> = { stages: [] };

/** One file of the output folder, or of one before it. */
export interface GeneratedFile {
  /** Relative to the functions folder, with `/`. */
  readonly path: string;
  readonly text: string;
}

/**
 * The texts of workflows that were emitted before; they depend on the plan, on which workflows there are, on what is left behind, on
 * the component's name and on the output folder.
 */
const emitted = new WeakMap<WorkflowPlan, { readonly names: string; readonly text: string }>();

/**
 * The files of a project whose plan has no errors: one per workflow, also of those that are gone, what undoes steps that are gone, what stands in
 * the place of files where they were before, `index.ts`, `plan.json`.
 */
export function emit(plan: ProjectPlan): GeneratedFile[] {
  const { removed = [], former = [], config } = plan;
  const app = config?.values ?? {};
  const output = outputOf(app);
  const setting = { component: app.component ?? usualComponent, output };
  if (plan.workflows.length + removed.length === 0) return [];
  const names = plan.workflows.map(({ name }) => name);
  const left = new Map(removed.map((each) => [each.workflow, each]));
  return [
    { path: `${output}/index.ts`, text: indexFile(names, setting, app) },
    { path: planFileIn(output), text: planText(toWritten(plan)) },
    ...former.flatMap(({ folder, workflows }) =>
      workflows.map((workflow) => ({
        path: `${folder}/${workflow}.ts`,
        text: forwardingFile(workflow, folder, setting),
      })),
    ),
    ...plan.workflows.map((workflow) => ({
      path: `${output}/${workflow.name}.ts`,
      text: workflowText(workflow, names, left.get(workflow.name) ?? nothing, setting),
    })),
    ...removed
      .filter(({ workflow }) => !names.includes(workflow))
      .map((each) => ({
        path: `${output}/${each.workflow}.ts`,
        text: removedWorkflowFile(each, setting),
      })),
    ...removed
      .filter(({ undoes }) => undoes !== undefined)
      .map((each) => ({
        path: `${output}/${leftModule(each.workflow)}.ts`,
        text: undoesFile(each, setting),
      })),
  ].map(sealed);
}

function workflowText(
  workflow: WorkflowPlan,
  workflowNames: readonly string[],
  left: Pick<Leftover, "stages" | "undoes">,
  setting: Setting,
): string {
  const names = [
    setting.component,
    setting.output,
    workflowNames.join(),
    JSON.stringify(left),
  ].join("\n");
  const before = emitted.get(workflow);
  if (before?.names === names) return before.text;
  const text = workflowFile(workflow, workflowNames, left, setting);
  emitted.set(workflow, { names, text });
  return text;
}
