import type { AnyDefinition } from "../definition/definition.js";
import { oneOf } from "./one.js";
import type { WorkflowReference } from "./reference.js";
import { standingOf } from "./standing.js";
import { tagsOf } from "./tags.js";

/** Returns what a workflow computes once from the input of a top-level run, beside its permits. */
export const madeOf = (
  workflow: Pick<WorkflowReference<never>, "name" | "definition">,
  input: unknown,
) => ({
  tags: tagsOf(workflow, input),
  one: oneOf(workflow, input),
  standing: standingOf(workflow, input),
});

/** Says whether it makes anything. */
export const makesSomething = ({
  tags,
  one,
  priority,
  fairness,
}: AnyDefinition["options"]): boolean =>
  [tags, one, priority, fairness].some((option) => option !== undefined);
