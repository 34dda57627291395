import type { WorkflowPlan, WrittenPlan } from "./schema.js";
import type { Earlier } from "./storage-names.js";

/*
 * The runs of a workflow are stored under its first name, and its generated files have that name:
 * what runs in flight have scheduled stays where it is.
 */

interface Named {
  readonly name: string;
  readonly storage?: string | undefined;
}

export const storedAs = ({ name, storage = name }: Named): string => storage;

export const plansOf = ({ baseline, last }: Earlier): readonly WrittenPlan[] =>
  baseline === undefined ? last : [baseline, ...last];

/** macOS and Windows do not tell files apart by the case of their names. */
const fileOf = (storage: string): string => storage.toLowerCase();

/** The workflows, those that were renamed with the names that their runs are stored under. */
export function withStoredRuns(workflows: readonly WorkflowPlan[], earlier: Earlier) {
  const { baseline } = earlier;
  const plans = plansOf(earlier);
  const byName = new Map(workflows.map((workflow) => [workflow.name, workflow]));
  const given = new Map<WorkflowPlan, string>();
  const taken = new Set<string>();
  const give = (workflow: WorkflowPlan | undefined, storage: string) => {
    if (workflow === undefined || given.has(workflow) || taken.has(fileOf(storage))) return;
    given.set(workflow, storage);
    taken.add(fileOf(storage));
  };
  for (const plan of plans)
    for (const workflow of workflows) {
      const from = newlyFrom(workflow, plan);
      const old = from === undefined ? undefined : storedIn(plan, from, byName);
      if (old !== undefined) give(workflow, old);
    }
  const deployed = new Set(baseline?.workflows.map(storedAs));
  // What was written last knows renames that the definition does not tell any more.
  for (const plan of plans.toReversed())
    for (const before of plan.workflows) {
      const storage = storedAs(before);
      const isDefault = storage === before.name;
      if (isDefault || baseline === undefined || deployed.has(storage))
        give(byName.get(before.name), storage);
    }
  const others = new Set([...byName.keys()].map(fileOf));
  const known = plans.flatMap(({ workflows, removed = [] }) => [
    ...workflows.map((each) => ({ name: each.name, storage: storedAs(each) })),
    ...removed.map(({ workflow }) => ({ name: workflow, storage: workflow })),
  ]);
  for (const workflow of workflows) {
    const { name } = workflow;
    const isFree = (storage: string) =>
      !taken.has(fileOf(storage)) &&
      (storage === name || !others.has(fileOf(storage))) &&
      // Runs of another workflow may be stored there still.
      known.every((each) => each.name === name || each.storage !== storage);
    let storage = name;
    // With its ending, the name of a file has at most 64 characters.
    for (let again = 2; !given.has(workflow); again++) {
      if (isFree(storage)) give(workflow, storage);
      storage = name.slice(0, 58) + again;
    }
  }
  return workflows.map((workflow) => {
    const storage = given.get(workflow) ?? workflow.name;
    return storage === workflow.name ? workflow : { ...workflow, storage };
  });
}

/** The old name of a workflow, if a plan does not know the rename yet. */
function newlyFrom({ name, renamedFrom }: WorkflowPlan, { workflows }: WrittenPlan) {
  const from = renamedFrom?.name;
  if (from === undefined) return undefined;
  const before = workflows.find((each) => each.name === name);
  return before?.options["renamedFrom"] === from ? undefined : from;
}

/**
 * Returns what the runs of an earlier name are stored under; undefined if a plan knows no such
 * name.
 */
export function storedIn(
  { workflows, removed = [] }: WrittenPlan,
  from: string,
  now: { has(name: string): boolean },
): string | undefined {
  const old = workflows.find(({ name }) => name === from);
  if (old !== undefined) return storedAs(old);
  // It was gone before it was said that it has another name, or has had two since it was deployed.
  const isStored = workflows.some((each) => storedAs(each) === from && !now.has(each.name));
  return isStored || removed.some(({ workflow }) => workflow === from) ? from : undefined;
}
