import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { ProjectPlan, WorkflowPlan, WrittenPlan } from "../plan/schema.js";
import { checkDuplicates, checkDuplicateWorkflows, checkNames, checkStored } from "./names.js";
import { checkOptions } from "./options.js";
import { checkTurns } from "./one.js";
import { checkRenamedFrom } from "./renamed-from.js";
import { checkRecursion, checkRenamings, checkStructure } from "./structure.js";

const rules = [
  checkNames,
  checkDuplicates,
  checkStored,
  checkStructure,
  checkOptions,
  checkRenamings,
];

/** Everything in the definitions together that would not work; see `checkWorkflow` for each one. */
export const check = (
  { workflows }: ProjectPlan,
  earlier: readonly WrittenPlan[],
): Diagnostic[] => [
  ...checkDuplicateWorkflows(workflows),
  ...checkRenamedFrom(workflows, earlier),
  ...checkRecursion(workflows),
  ...checkTurns(workflows),
];

/** Everything that can be read in one workflow and would not work, whatever others there are. */
export function checkWorkflow(workflow: WorkflowPlan): Diagnostic[] {
  return rules.flatMap((rule) => rule(workflow));
}
