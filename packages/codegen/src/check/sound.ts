import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { stagesOf } from "../plan/flow.js";
import type { ProjectPlan, WrittenPlan } from "../plan/schema.js";

/**
 * The plan of the workflows without errors, if only new ones have errors: the app's types are then
 * those of all others. Undefined if nothing may be written, because a run may need what is there.
 *
 * @param files the definition files. @param earlier the plans that may be deployed
 */
export function soundPart(
  plan: ProjectPlan,
  diagnostics: readonly Diagnostic[],
  files: readonly string[],
  earlier: readonly WrittenPlan[],
): ProjectPlan | undefined {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const broken = new Set(errors.map(({ place }) => place.file));
  if (![...broken].every((file) => files.includes(file))) return undefined;
  let sound = plan.workflows.filter(({ file }) => !broken.has(file));
  for (let before = Infinity; sound.length < before;) {
    before = sound.length;
    const names = new Set(sound.map(({ name }) => name));
    const isWhole = (name: string) => names.has(name);
    sound = sound.filter((each) =>
      stagesOf(each).every(({ workflows = [] }) => workflows.every(isWhole)),
    );
  }
  const names = new Set(sound.map(({ name }) => name));
  const areKept = earlier.every(({ workflows }) => workflows.every(({ name }) => names.has(name)));
  return sound.length > 0 && areKept ? { ...plan, workflows: sound } : undefined;
}
