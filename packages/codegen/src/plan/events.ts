import { allNodes, stagesOf } from "./flow.js";
import { isObject } from "./known.js";
import type { NodePlan, ProjectPlan, WorkflowPlan } from "./schema.js";
import { stageKind, takesEvents } from "./stage-kinds.js";

export interface AwaitedEvents {
  readonly names: readonly string[];
  /** Whether there are no others: none of their names is computed. */
  readonly isWhole: boolean;
}

/** What a run of a workflow waits for; `below` adds the workflows that it starts, and so on. */
export function awaitedEvents(
  { workflows }: ProjectPlan,
  workflow: string,
  { below }: { readonly below: boolean },
): AwaitedEvents {
  const reached = below ? reachedFrom(workflow, workflows) : new Set([workflow]);
  const nodes = workflows
    .filter(({ name }) => reached.has(name))
    .flatMap((each) => allNodes(each.nodes))
    .filter(takesEvents);
  const named = nodes.map(namesOf);
  return {
    names: [...new Set(named.flatMap((names) => names ?? []))],
    isWhole: named.every((names) => names !== undefined),
  };
}

function namesOf({ name, given }: NodePlan): string[] | undefined {
  const anyOf = given.get("anyOf");
  if (anyOf === undefined) return [name];
  return isObject(anyOf.value) && anyOf.value.isWhole ? [...anyOf.value.fields.keys()] : undefined;
}

/** The workflow and those it may start. A child that cannot be seen may be any. */
function reachedFrom(workflow: string, workflows: readonly WorkflowPlan[]): Set<string> {
  const reached = new Set([workflow]);
  for (const name of reached) {
    const plans = workflows.filter((each) => each.name === name);
    for (const stage of plans.flatMap(stagesOf)) {
      if (stageKind(stage.kind).shape !== "fanOut") continue;
      for (const below of stage.workflows ?? workflows.map((each) => each.name)) reached.add(below);
    }
  }
  return reached;
}
