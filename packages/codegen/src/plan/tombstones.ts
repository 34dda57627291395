import { digestOf, type StoredNode } from "./digest.js";
import { copiedGlobals } from "./events.js";
import { completionName, generatedFunctions } from "./flow.js";
import { stageIdentifier } from "./names.js";
import type { Tombstones, WorkflowPlan, WrittenPlan } from "./schema.js";
import { sortedBy } from "./sorted.js";
import type { Earlier } from "./storage-names.js";
import { storedAs } from "./workflow-names.js";
import { planHash } from "./write.js";

/** Returns what runs may still be at or have results of. Tombstones stay until they are dropped. */
export function tombstonesOf(
  { baseline, last: all, drops = false }: Earlier,
  workflows: readonly WorkflowPlan[],
): Tombstones[] {
  const last = drops ? [] : all;
  const byName = new Map(workflows.map((workflow) => [storedAs(workflow), workflow]));
  // Files whose names differ only in case are one file on macOS and Windows.
  const files = new Set(workflows.map((workflow) => storedAs(workflow).toLowerCase()));
  const gone = goneIn(plansBefore(last, baseline), keptFrom(last, baseline), byName);
  return sortedBy(gone, ([name]) => name).flatMap(([name, before]): Tombstones[] => {
    const now = byName.get(name);
    if (now === undefined && files.has(name.toLowerCase())) return [];
    const { actions = [], stored = [] } = now === undefined ? {} : digestOf(now);
    for (const stage of actions) before.stages.delete(stage);
    for (const node of stored) before.nodes.delete(node.name);
    const stages = [...before.stages].sort();
    const nodes = sortedBy(before.nodes.values(), ({ name }) => name);
    if (now !== undefined && stages.length + nodes.length === 0) return [];
    return [{ workflow: name, stages, ...(nodes.length === 0 ? {} : { nodes }) }];
  });
}

interface Gone {
  readonly stages: Set<string>;
  readonly nodes: Map<string, StoredNode>;
}

/** The plans whose runs may be in flight. */
const plansBefore = (last: readonly WrittenPlan[], baseline?: WrittenPlan) =>
  baseline === undefined ? last : [baseline];

/**
 * The tombstones that earlier plans have. Those of the baseline count that a branch has taken away,
 * as it had the action again: `--drop` takes others away for good.
 */
function keptFrom(last: readonly WrittenPlan[], baseline?: WrittenPlan): readonly Tombstones[] {
  const again = (baseline?.removed ?? []).flatMap((gone): Tombstones[] => {
    const back = last.flatMap(({ workflows }) =>
      workflows.filter((each) => storedAs(each) === gone.workflow).map(digestOf),
    );
    if (back.length === 0) return [];
    const actions = new Set(back.flatMap((each) => each.actions));
    const stored = new Set(back.flatMap((each) => each.stored.map(({ name }) => name)));
    const stages = gone.stages.filter((stage) => actions.has(stage));
    return [{ ...gone, stages, nodes: gone.nodes?.filter(({ name }) => stored.has(name)) }];
  });
  return [...again, ...last.flatMap(({ removed = [] }) => removed)];
}

/** Action stages and nodes of earlier plans by storage name, with what was gone from others. */
function goneIn(
  plans: readonly WrittenPlan[],
  kept: readonly Tombstones[],
  byName: ReadonlyMap<string, WorkflowPlan>,
): Map<string, Gone> {
  const all = new Map<string, Gone>();
  const add = (workflow: string, stages: readonly string[], nodes: readonly StoredNode[] = []) => {
    const gone = all.get(workflow) ?? { stages: new Set(), nodes: new Map() };
    for (const stage of stages) gone.stages.add(stage);
    for (const node of nodes) gone.nodes.set(node.name, node);
    all.set(workflow, gone);
  };
  for (const workflow of plans.flatMap(({ workflows }) => workflows)) {
    const now = byName.get(storedAs(workflow));
    // Nothing is gone from one that is the same.
    if (now === undefined || planHash(now) !== workflow.hash)
      add(storedAs(workflow), digestOf(workflow).actions, digestOf(workflow).stored);
  }
  for (const { workflow, stages, nodes } of kept) add(workflow, stages, nodes);
  return all;
}

/** Functions by name, with the stages of an earlier version that had them. */
export type FunctionsNeeded = ReadonlyMap<string, string>;

/** The functions that a workflow's tombstones have: runs may be at the stages that had them. */
export function neededByTombstones(
  { baseline, last: all, drops = false }: Earlier,
  workflow: WorkflowPlan,
): FunctionsNeeded {
  const last = drops ? [] : all;
  const [own, actions] = [storedAs(workflow), new Set(digestOf(workflow).actions)];
  const before = plansBefore(last, baseline)
    .flatMap(({ workflows }) => workflows)
    .filter((each) => storedAs(each) === own);
  const stages = [
    ...before.flatMap((each) => digestOf(each).actions),
    ...keptFrom(last, baseline).flatMap((each) => (each.workflow === own ? each.stages : [])),
  ].filter((stage) => !actions.has(stage));
  const both = stages.flatMap((stage) =>
    [stageIdentifier(stage), completionName(stage)].map((name) => [name, stage] as const),
  );
  return new Map(both);
}

/** Returns which functions the tombstones of other stages need, each with that stage. */
export function takenFrom(
  needed: FunctionsNeeded,
  functions: ReturnType<typeof generatedFunctions>,
) {
  return functions.flatMap((each) => {
    const before = needed.get(each.name);
    return before === undefined || before === each.stage.name ? [] : [{ ...each, before }];
  });
}

export function withoutThose(wanted: readonly Tombstones[], among: readonly Tombstones[]) {
  return wanted.flatMap((each): Tombstones[] => {
    const there = among.find(({ workflow }) => workflow === each.workflow);
    if (there === undefined) return [each];
    const stages = each.stages.filter((stage) => !there.stages.includes(stage));
    const nodes = each.nodes?.filter(
      ({ name }) => !there.nodes?.some((other) => other.name === name),
    );
    return stages.length + (nodes?.length ?? 0) === 0 ? [] : [{ ...each, stages, nodes }];
  });
}

export type TombstoneFunction = ReturnType<typeof tombstoneFunctions>[number];

/** Functions that only end or redirect runs at removed actions, unless their names are taken. */
export function tombstoneFunctions(
  workflow: WorkflowPlan | undefined,
  { stages }: Pick<Tombstones, "stages">,
) {
  if (stages.length === 0) return [];
  const taken = new Set(workflow && generatedFunctions(workflow).map(({ name }) => name));
  // What a copied schema means by the name of a global must not be one of these.
  for (const name of copiedGlobals(workflow)) taken.add(name);
  const both = stages.flatMap((stage) => [
    { stage, name: stageIdentifier(stage), isCompletion: false },
    // What the action reports to.
    { stage, name: completionName(stage), isCompletion: true },
  ]);
  // `a.b` and `aB`, of different versions, had functions of one name.
  return both.filter(({ name }) => !taken.has(name) && taken.add(name));
}
