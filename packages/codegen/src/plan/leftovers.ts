import { generatedFunctions, completionName, stageIdentifier, stagesOf } from "./functions.js";
import type { Leftover, WorkflowPlan, WrittenPlan } from "./schema.js";

type WrittenNode = WrittenPlan["workflows"][number]["nodes"][number];

/**
 * The action stages that were there in an earlier plan and are not there now, by workflow, and the workflows that are gone: runs may
 * still be at them, or be called by their names.
 *
 * @param before the plan that was written last, with what it had left behind itself
 */
export function leftoversOf(
  before: WrittenPlan | undefined,
  workflows: readonly WorkflowPlan[],
): Leftover[] {
  if (before === undefined) return [];
  const then = new Map<string, Set<string>>();
  for (const { name, nodes } of before.workflows) then.set(name, new Set(actionsIn(nodes)));
  for (const { workflow, stages } of before.removed ?? [])
    then.set(workflow, new Set([...(then.get(workflow) ?? []), ...stages]));
  // Files whose names differ only in case are one file on macOS and Windows.
  const files = new Set(workflows.map(({ name }) => name.toLowerCase()));
  return [...then].sort(byName).flatMap(([name, actions]): Leftover[] => {
    const now = workflows.find((workflow) => workflow.name === name);
    if (now === undefined && files.has(name.toLowerCase())) return [];
    const kept = new Set(
      now &&
        stagesOf(now)
          .filter(isAction)
          .map((stage) => stage.name),
    );
    const stages = [...actions].filter((stage) => !kept.has(stage)).sort();
    return now !== undefined && stages.length === 0 ? [] : [{ workflow: name, stages }];
  });
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
 * The functions that stages leave behind, but for those whose name something else has taken meanwhile.
 *
 * @param workflow the one whose stages they were; undefined when it is gone too
 */
export function leftFunctions(
  workflow: WorkflowPlan | undefined,
  stages: readonly string[],
): LeftFunction[] {
  const taken = new Set(workflow && generatedFunctions(workflow).map(({ name }) => name));
  // What the copied input means by the name of a global must not be one of these.
  if (workflow?.input.kind === "copy") for (const name of workflow.input.globals) taken.add(name);
  const both = stages.flatMap((stage): LeftFunction[] => [
    { stage, name: stageIdentifier(stage), isCompletion: false },
    { stage, name: completionName(stage), isCompletion: true },
  ]);
  // `a.b` and `aB`, of different versions, had functions of one name.
  return both.filter(({ name }) => !taken.has(name) && taken.add(name));
}

/** What a stage is called now, by the workflow's `renamed`: its node, or one around it, may have been renamed. */
export function renamedTo(stage: string, renamed: unknown): string | undefined {
  if (typeof renamed !== "object" || renamed === null) return undefined;
  for (const [old, name] of Object.entries(renamed))
    if (typeof name === "string" && (stage === old || stage.startsWith(`${old}.`)))
      return name + stage.slice(old.length);
  return undefined;
}
