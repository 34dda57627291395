import {
  attributesIn,
  isPlanFile,
  listFileIn,
  outputOf,
  planFileIn,
  usualComponent,
  workflowPlanIn,
} from "../plan/paths.js";
import type { ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { storedAs } from "../plan/workflow-names.js";
import { toWritten } from "../plan/write.js";
import {
  appPlanText,
  attributesFile,
  indexFile,
  listFile,
  sealed,
  workflowPlanText,
} from "./index-file.js";
import { removedWorkflowFile, workflowFile } from "./workflow-file.js";

export interface GeneratedFile {
  readonly path: string;
  /** If the file is there already, this reads it. */
  readonly text: string;
  /** If it is known that the file is there already: what the file system says of it. */
  readonly there?: { readonly hash: string; readonly stamp: string };
}

/** A file that is there already. @param read gives its text. */
export function fileThere(
  path: string,
  there: NonNullable<GeneratedFile["there"]>,
  read: () => string,
): GeneratedFile {
  return {
    path,
    there,
    get text() {
      return read();
    },
  };
}

/** The files that were emitted before, code and plans. */
export interface EmittedBefore {
  originOf(workflow: WorkflowPlan): string | undefined;
  /** @param make the text, if what is there is another by the time that it is asked for */
  get(path: string, origin: string, make: () => string): GeneratedFile | undefined;
  /** @param planned the workflow, if the file holds its plan and nothing else */
  set(file: GeneratedFile, origin: string, planned?: WorkflowPlan): void;
}

/** The files that hold the settings of the app. */
export const filesOfApp = (output: string): string[] => [`${output}/index.ts`, planFileIn(output)];

/** The files of a project whose plan has no errors, also of workflows that were removed. */
export function emit(plan: ProjectPlan, before?: EmittedBefore): GeneratedFile[] {
  const { removed = [], config } = plan;
  const app = config?.values ?? {};
  const output = outputOf(app);
  if (plan.workflows.length + removed.length === 0) return [];
  const files = new Map(plan.workflows.map((each) => [each.name, storedAs(each)]));
  const renamed = Object.fromEntries([...files].filter(([name, file]) => name !== file));
  const setting = { component: app.component ?? usualComponent, output, renamed };
  const stored = new Set(files.values());
  const tombstones = new Map(removed.map((each) => [each.workflow, each]));
  const written = toWritten(plan);
  const others: GeneratedFile[] = [
    { path: `${output}/index.ts`, text: indexFile(setting, app) },
    { path: listFileIn(output), text: listFile(files) },
    { path: attributesIn(output), text: attributesFile },
    { path: planFileIn(output), text: appPlanText(written) },
  ];
  for (const gone of removed.filter(({ workflow }) => !stored.has(workflow))) {
    const text = workflowPlanText(written, undefined, gone);
    others.push({ path: workflowPlanIn(output, gone.workflow), text });
    const code = removedWorkflowFile(gone, setting);
    others.push({ path: `${output}/${gone.workflow}.ts`, text: code });
  }
  const emitted = plan.workflows.flatMap((workflow, at) => {
    const file = storedAs(workflow);
    const gone = tombstones.get(file);
    const origin = before?.originOf(workflow);
    const madeOf = JSON.stringify([origin, gone, setting]);
    const planned = gone === undefined ? workflow : undefined;
    const unlessSame = (path: string, make: () => string): GeneratedFile => {
      const sealedText = () => sealed({ path, text: make() }).text;
      const same = origin === undefined ? undefined : before?.get(path, madeOf, sealedText);
      if (same !== undefined) return same;
      const made = { path, text: sealedText() };
      if (origin !== undefined) before?.set(made, madeOf, isPlanFile(path) ? planned : undefined);
      return made;
    };
    const planText = () => workflowPlanText(written, written.workflows[at], gone);
    const code = () => workflowFile(workflow, gone ?? { stages: [] }, setting);
    return [
      unlessSame(workflowPlanIn(output, file), planText),
      unlessSame(`${output}/${file}.ts`, code),
    ];
  });
  const ofApp = others.map((file) => sealed(file));
  for (const file of ofApp) before?.set(file, "");
  return [...ofApp, ...emitted];
}
