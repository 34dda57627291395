import { stagesOf } from "../plan/functions.js";
import { outputOf, planFileIn, usualComponent } from "../plan/paths.js";
import type { Leftover, ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { toWritten } from "../plan/write.js";
import { forwardingFile } from "./forwarding.js";
import { indexFile } from "./index-file.js";
import { removedWorkflowFile } from "./leftovers.js";
import { planText } from "./plan-file.js";
import { sealed } from "./seal.js";
import { workflowFile } from "./workflow-file.js";

const nothing: Pick<Leftover, "stages"> = { stages: [] };

/** One file of the output folder, or of one before it. */
export interface GeneratedFile {
  /** Relative to the functions folder, with `/`. */
  readonly path: string;
  readonly text: string;
}

/** The files of workflows that were emitted before. */
export interface EmittedBefore {
  /** What a workflow was made of; undefined for one that is not known again. */
  originOf(workflow: WorkflowPlan): string | undefined;
  /** The file at a path, if it was made of the same. */
  get(path: string, origin: string): GeneratedFile | undefined;
  set(file: GeneratedFile, origin: string): void;
}

/**
 * The files of a project whose plan has no errors: one per workflow, also of those that are gone, what stands in
 * the place of files where they were before, `index.ts`, `plan.json`.
 */
export function emit(plan: ProjectPlan, before?: EmittedBefore): GeneratedFile[] {
  const { removed = [], former = [], config } = plan;
  const app = config?.values ?? {};
  const output = outputOf(app);
  const setting = { component: app.component ?? usualComponent, output };
  if (plan.workflows.length + removed.length === 0) return [];
  const names = plan.workflows.map(({ name }) => name);
  const left = new Map(removed.map((each) => [each.workflow, each]));
  const others: GeneratedFile[] = [
    { path: `${output}/index.ts`, text: indexFile(names, setting, app) },
    { path: planFileIn(output), text: planText(toWritten(plan)) },
    ...former.flatMap(({ folder, workflows }) =>
      workflows.map((workflow) => ({
        path: `${folder}/${workflow}.ts`,
        text: forwardingFile(workflow, folder, setting),
      })),
    ),
    ...removed
      .filter(({ workflow }) => !names.includes(workflow))
      .map((each) => ({
        path: `${output}/${each.workflow}.ts`,
        text: removedWorkflowFile(each, setting),
      })),
  ];
  const emitted = plan.workflows.map((workflow): GeneratedFile => {
    const path = `${output}/${workflow.name}.ts`;
    const gone = left.get(workflow.name) ?? nothing;
    const origin = before?.originOf(workflow);
    const madeOf = JSON.stringify([origin, startsAny(workflow) ? names : [], gone, setting]);
    const same = origin === undefined ? undefined : before?.get(path, madeOf);
    if (same !== undefined) return same;
    const file = sealed({ path, text: workflowFile(workflow, names, gone, setting) });
    if (origin !== undefined) before?.set(file, madeOf);
    return file;
  });
  return [...others.map(sealed), ...emitted];
}

/** Whether it may start children of any workflow, so that its file names them all. */
const startsAny = (workflow: WorkflowPlan): boolean =>
  stagesOf(workflow).some(({ kind, workflows }) => kind === "children" && workflows === undefined);
