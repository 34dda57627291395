import { type Diagnostic, isError } from "../diagnostics/diagnostic.js";
import { stagesOf } from "../plan/flow.js";
import type { ProjectPlan, WorkflowPlan, WrittenPlan } from "../plan/schema.js";
import { storedAs } from "../plan/workflow-names.js";

/**
 * The plan of the workflows without errors, if only new ones have errors: the app's types are then
 * those of all others. Undefined if nothing may be written, because a run may need what is there.
 *
 * @param broken has the workflows that are left out. @param found is about files, or the whole app
 * @param files the definition files. @param earlier the plans that may be deployed
 */
export function soundPart(
  plan: ProjectPlan,
  broken: ReadonlySet<WorkflowPlan>,
  found: readonly Diagnostic[],
  files: readonly string[],
  earlier: readonly WrittenPlan[],
): ProjectPlan | undefined {
  const brokenFiles = new Set(found.filter(isError).map(({ place }) => place.file));
  if (![...brokenFiles].every((file) => files.includes(file))) return undefined;
  let sound = plan.workflows.filter((each) => !broken.has(each) && !brokenFiles.has(each.file));
  for (let before = Infinity; sound.length < before;) {
    before = sound.length;
    const names = new Set(sound.map(({ name }) => name));
    const isWhole = (name: string) => names.has(name);
    sound = sound.filter((each) =>
      stagesOf(each).every(({ workflows = [] }) => workflows.every(isWhole)),
    );
  }
  const stored = new Set(sound.map(storedAs));
  const areKept = earlier.every(({ workflows }) =>
    workflows.every((each) => stored.has(storedAs(each))),
  );
  return sound.length > 0 && areKept ? { ...plan, workflows: sound } : undefined;
}
