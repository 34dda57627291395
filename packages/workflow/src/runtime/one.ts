import type { One } from "../component/validators.js";
import { keyMade } from "./keys.js";
import type { WorkflowReference } from "./reference.js";
import { sensitivePaths } from "./sensitive.js";

/**
 * The key of a workflow's `one` for a run with this input, and what happens while it is taken;
 * undefined without a `one` or a key. @throws if the key is not valid, or reads a sensitive value.
 */
export function oneOf(
  workflow: Pick<WorkflowReference<never>, "name" | "definition">,
  input: unknown,
): One | undefined {
  const { one, sensitive } = workflow.definition.options;
  if (one === undefined) return undefined;
  const paths = sensitivePaths({ sensitive });
  const key = keyMade(workflow, { option: "one", key: one.key, sensitive: paths }, input);
  return key === undefined ? undefined : { key, otherwise: one.otherwise };
}
