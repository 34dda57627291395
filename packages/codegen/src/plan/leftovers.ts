import { completionName, generatedFunctions, stageIdentifier, stagesOf } from "./functions.js";
import { renamedTo, renamingsIn } from "./renaming.js";
import type { Leftover, Undo, WorkflowPlan, WrittenPlan } from "./schema.js";
import { undoesOf } from "./undoes.js";

type WrittenNode = WrittenPlan["workflows"][number]["nodes"][number];

/** What earlier plans have of one workflow. */
interface Then {
  readonly actions: Set<string>;
  readonly undoes: Map<string, Undo>;
}

/**
 * The action stages and the compensations that were there in earlier plans and are not there now, by workflow, and the workflows that are
 * gone: runs may still be at them, be past them, or be called by their names.
 *
 * @param befores the plan that was written last, with what it had left behind itself; and others that may be deployed. Of a compensation
 *   that several have, the first has the say
 */
export function leftoversOf(
  befores: readonly WrittenPlan[],
  workflows: readonly WorkflowPlan[],
): Leftover[] {
  // Files whose names differ only in case are one file on macOS and Windows.
  const files = new Set(workflows.map(({ name }) => name.toLowerCase()));
  return [...thenIn(befores)].sort(byName).flatMap(([name, then]): Leftover[] => {
    const now = workflows.find((workflow) => workflow.name === name);
    if (now === undefined && files.has(name.toLowerCase())) return [];
    const kept = now === undefined ? [] : stagesOf(now);
    const actions = new Set(kept.filter(isAction).map((stage) => stage.name));
    const stages = [...then.actions].filter((stage) => !actions.has(stage)).sort();
    const undoes = undoesLeft(then, now);
    if (now !== undefined && stages.length + undoes.length === 0) return [];
    return [{ workflow: name, stages, ...(undoes.length === 0 ? {} : { undoes }) }];
  });
}

function thenIn(befores: readonly WrittenPlan[]): Map<string, Then> {
  const all = new Map<string, Then>();
  const add = (name: string, actions: readonly string[], undoes: readonly Undo[]) => {
    const then = all.get(name) ?? { actions: new Set(), undoes: new Map<string, Undo>() };
    all.set(name, then);
    for (const stage of actions) then.actions.add(stage);
    for (const undo of undoes) if (!then.undoes.has(undo.stage)) then.undoes.set(undo.stage, undo);
  };
  for (const before of befores) {
    for (const workflow of before.workflows)
      add(workflow.name, actionsIn(workflow.nodes), undoesOf(workflow, before.config?.retry));
    for (const { workflow, stages, undoes } of before.removed ?? [])
      add(workflow, stages, undoes ?? []);
  }
  return all;
}

/** The compensations that are gone, and are there under no other name; but for those whose functions something else has the names of. */
function undoesLeft({ undoes }: Then, now: WorkflowPlan | undefined): Undo[] {
  const names = new Set(now && stagesOf(now).map(({ name }) => name));
  const taken = new Set(now && generatedFunctions(now).map(({ name }) => name));
  const isHere = (stage: string) =>
    names.has(stage) || names.has(renamedTo(stage, now?.options["renamed"]) ?? stage);
  return [...undoes.values()]
    .filter(({ stage }) => !isHere(stage))
    .sort((a, b) => (a.stage < b.stage ? -1 : 1))
    .filter((undo) => {
      const needed = undoFunctions(undo);
      const isFree = needed.every((name) => !taken.has(name));
      if (isFree) for (const name of needed) taken.add(name);
      return isFree;
    })
    .map((undo) => knowingNames(undo, now?.options["renamed"]));
}

/**
 * A step that was under way when its node was renamed has its record under the new name, where a compensation of the old one must find
 * what it made.
 */
function knowingNames(undo: Undo, renamed: unknown): Undo {
  const { options } = undo;
  const known = Object.fromEntries(renamingsIn(options["renamed"]));
  const later = renamingsIn(renamed)
    .filter(([old]) => !Object.hasOwn(known, old))
    .map(([old, next]) => [renamedTo(old, renamed) ?? next, old]);
  if (later.length === 0) return undo;
  return { ...undo, options: { ...options, renamed: { ...known, ...Object.fromEntries(later) } } };
}

/** A plan without what it has left behind itself: whoever leaves that out now has dropped it. */
export function withoutLeft(plan: WrittenPlan): WrittenPlan {
  return { ...plan, removed: undefined, former: undefined };
}

/** Those of some leftovers that are not among others. */
export function leftOut(wanted: readonly Leftover[], among: readonly Leftover[]): Leftover[] {
  return wanted.flatMap(({ workflow, stages, undoes = [] }): Leftover[] => {
    const there = among.find((each) => each.workflow === workflow);
    if (there === undefined) return [{ workflow, stages, undoes }];
    const missing = stages.filter((stage) => !there.stages.includes(stage));
    const lost = undoes.filter(
      ({ stage }) => there.undoes?.some((each) => each.stage === stage) !== true,
    );
    return missing.length + lost.length === 0 ? [] : [{ workflow, stages: missing, undoes: lost }];
  });
}

/** The functions that a compensation is called by: none where a mutation of the user's is called directly. */
export function undoFunctions({ stage, kind, reference }: Undo): string[] {
  if (kind === "action") return [stageIdentifier(stage), completionName(stage)];
  return reference === undefined ? [stageIdentifier(stage)] : [];
}

const isAction = ({ kind }: { readonly kind: string }): boolean => kind === "action";

function actionsIn(nodes: readonly WrittenNode[]): string[] {
  return nodes.flatMap(({ stages, bodies = [] }) => [
    ...stages.filter(isAction).map(({ name }) => name),
    ...bodies.flatMap((body) => actionsIn(body.nodes)),
  ]);
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : a > b ? 1 : 0;

/** A function that a stage leaves behind. */
export interface LeftFunction {
  readonly stage: string;
  readonly name: string;
  /** Whether it is that which the action reports to, and not the action. */
  readonly isCompletion: boolean;
}

/**
 * The functions that action stages leave behind only to end the runs that are at them, or to send them on: those whose name something else
 * has taken meanwhile are left out, and so are compensations that are left behind whole.
 *
 * @param workflow the one whose stages they were; undefined when it is gone too
 */
export function leftFunctions(
  workflow: WorkflowPlan | undefined,
  { stages, undoes = [] }: Pick<Leftover, "stages" | "undoes">,
): LeftFunction[] {
  const taken = new Set(workflow && generatedFunctions(workflow).map(({ name }) => name));
  for (const name of undoes.flatMap(undoFunctions)) taken.add(name);
  // What the copied input means by the name of a global must not be one of these.
  if (workflow?.input.kind === "copy") for (const name of workflow.input.globals) taken.add(name);
  const both = stages.flatMap((stage): LeftFunction[] => [
    { stage, name: stageIdentifier(stage), isCompletion: false },
    { stage, name: completionName(stage), isCompletion: true },
  ]);
  // `a.b` and `aB`, of different versions, had functions of one name.
  return both.filter(({ name }) => !taken.has(name) && taken.add(name));
}
