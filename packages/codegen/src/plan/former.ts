import { isSameFolder, outputOf } from "./paths.js";
import type { Former, ProjectPlan, WrittenPlan } from "./schema.js";

/**
 * The folders that generated code stood in by earlier plans and stands in no more: functions in them are those that runs of that time are
 * at, and come back to. So what is in the output folder now is found there too.
 *
 * @param befores the plan that was written last, with the folders of before that; and others that may be deployed
 * @param output the folder that it stands in now
 * @param plan what has a file in it: workflows, and those that are gone
 */
export function formerOf(
  befores: readonly WrittenPlan[],
  output: string,
  plan: Omit<ProjectPlan, "former">,
): Former[] {
  const modules = new Set(modulesOf(plan));
  const all = new Map<string, Set<string>>();
  for (const { folder, workflows } of befores.flatMap(stoodIn)) {
    const there = all.get(folder) ?? new Set<string>();
    all.set(folder, there);
    for (const workflow of workflows) if (modules.has(workflow)) there.add(workflow);
  }
  return [...all]
    .filter(([folder, workflows]) => workflows.size > 0 && !isSameFolder(folder, output))
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, workflows]) => ({ folder, workflows: [...workflows].sort() }));
}

/** All folders that a plan knows of: its own, and those of before. */
export function stoodIn(plan: WrittenPlan): Former[] {
  return [{ folder: outputOf(plan.config), workflows: modulesOf(plan) }, ...(plan.former ?? [])];
}

const modulesOf = ({
  workflows,
  removed = [],
}: Pick<ProjectPlan | WrittenPlan, "workflows" | "removed">): string[] => [
  ...workflows.map(({ name }) => name),
  ...removed.map(({ workflow }) => workflow),
];

/** Those of some folders and workflows that are not among others. */
export function formerOut(wanted: readonly Former[], among: readonly Former[]): Former[] {
  return wanted.flatMap(({ folder, workflows }): Former[] => {
    const there = among.find((each) => each.folder === folder)?.workflows ?? [];
    const missing = workflows.filter((workflow) => !there.includes(workflow));
    return missing.length === 0 ? [] : [{ folder, workflows: missing }];
  });
}
