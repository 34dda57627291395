import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { ProjectPlan } from "../plan/schema.js";
import { checkDuplicates } from "./duplicates.js";
import { checkNames } from "./names.js";
import { checkOptions } from "./options.js";
import { checkRenamings } from "./renamings.js";
import { checkStructure } from "./structure.js";

const rules: readonly ((plan: ProjectPlan) => Diagnostic[])[] = [
  checkNames,
  checkDuplicates,
  checkStructure,
  checkOptions,
  checkRenamings,
];

/** Everything that can be read in the definitions and would not work. */
export function check(plan: ProjectPlan): Diagnostic[] {
  return rules.flatMap((rule) => rule(plan));
}
