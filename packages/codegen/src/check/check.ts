import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { checkConfig } from "./config.js";
import { checkDuplicates, checkDuplicateWorkflows, checkFunctions } from "./duplicates.js";
import { checkFunctionLengths, checkNames } from "./names.js";
import { checkOptions } from "./options.js";
import { checkRecursion, checkStructure } from "./structure.js";
import { checkRenamings } from "./renamings.js";

const rules: readonly ((workflow: WorkflowPlan) => Diagnostic[])[] = [
  checkNames,
  checkDuplicates,
  checkStructure,
  checkOptions,
  checkRenamings,
];

/** Everything in the definitions together that would not work; see `checkWorkflow` for each one. */
export function check({ config, workflows }: ProjectPlan): Diagnostic[] {
  return [
    ...(config === undefined ? [] : checkConfig(config)),
    ...checkDuplicateWorkflows(workflows),
    ...checkRecursion(workflows),
  ];
}

/** The same of what only follows from storage names: the names of functions. */
export const checkStored = (workflow: WorkflowPlan): Diagnostic[] => [
  ...checkFunctions(workflow),
  ...checkFunctionLengths(workflow),
];

/** Everything that can be read in one workflow and would not work, whatever others there are. */
export function checkWorkflow(workflow: WorkflowPlan): Diagnostic[] {
  return rules.flatMap((rule) => rule(workflow));
}
