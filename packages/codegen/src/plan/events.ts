import { allNodes } from "./flow.js";
import type { InputPlan, TakenEvent, WorkflowPlan } from "./schema.js";

/* The events that can be sent to the runs of a workflow, and the schemas copied for them. */

/** A schema whose types are found without the definition. */
export type SeenSchema = Exclude<InputPlan, { readonly kind: "definition" }>;

export const isSeen = (schema: InputPlan | undefined): schema is SeenSchema =>
  schema !== undefined && schema.kind !== "definition";

/** The events of all nodes in order; undefined if the names of some cannot be seen. */
export function eventsOf({ nodes }: Pick<WorkflowPlan, "nodes">): TakenEvent[] | undefined {
  const all = allNodes(nodes).map(({ events = [] }) => events);
  return all.every((each) => each !== "unseen") ? all.flat() : undefined;
}

/** The globals that copied schemas name: the generated file declares nothing under their names. */
export const copiedGlobals = (workflow: WorkflowPlan | undefined): string[] =>
  copiedSchemas(workflow).flatMap(({ globals }) => globals);

/** The consts that are copied beside schemas, where they would hide what has the same name. */
export const copiedConsts = (workflow: WorkflowPlan | undefined): string[] =>
  copiedSchemas(workflow).flatMap(({ consts }) => consts.map(({ name }) => name));

function copiedSchemas(workflow: WorkflowPlan | undefined) {
  if (workflow === undefined) return [];
  const events = eventsOf(workflow)?.map(({ schema }) => schema) ?? [];
  return [workflow.input, ...events].flatMap((each) => (each?.kind === "copy" ? [each] : []));
}
