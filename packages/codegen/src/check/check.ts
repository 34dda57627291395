import type { Diagnostic } from "../diagnostics/diagnostic.js";
import type { ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { checkConfig } from "./config.js";
import { checkDuplicates, checkDuplicateWorkflows } from "./duplicates.js";
import { checkNames } from "./names.js";
import { checkOptions } from "./options.js";
import { checkRecursion } from "./recursion.js";
import { checkRenamings } from "./renamings.js";
import { checkStructure } from "./structure.js";

/** The rules that each workflow is held to by itself. */
const rules: readonly ((plan: ProjectPlan) => Diagnostic[])[] = [
  checkNames,
  checkDuplicates,
  checkStructure,
  checkOptions,
  checkRenamings,
];

/** What was found in workflows before: a watching compiler has most of them again and again. */
const foundBefore = new WeakMap<WorkflowPlan, Diagnostic[]>();

/** Everything that can be read in the definitions and would not work. */
export function check({ config, workflows }: ProjectPlan): Diagnostic[] {
  return [
    ...(config === undefined ? [] : checkConfig(config)),
    ...checkDuplicateWorkflows(workflows),
    ...checkRecursion(workflows),
    ...workflows.flatMap(foundIn),
  ];
}

function foundIn(workflow: WorkflowPlan): Diagnostic[] {
  const before = foundBefore.get(workflow);
  if (before !== undefined) return before;
  const found = rules.flatMap((rule) => rule({ workflows: [workflow] }));
  foundBefore.set(workflow, found);
  return found;
}
