import type { Standing } from "../component/validators.js";
import { durationMs } from "../rules.js";
import type { WorkflowReference } from "./reference.js";
import { sensitivePaths } from "./secrets.js";
import { guarded } from "./tags.js";

/**
 * How the actions of a run with this input stand among those that wait; undefined if its workflow
 * says nothing. It is made once, and stored. @throws if it is not valid, or made of what is sensitive.
 */
export function standingOf(
  { name: workflow, definition }: Pick<WorkflowReference<never>, "name" | "definition">,
  input: unknown,
): Standing | undefined {
  const { priority, sensitive } = definition.options;
  if (priority === undefined) return undefined;
  const what = `The priority of workflow "${workflow}"`;
  const refuse = (path: string): never => {
    throw new Error(`${what} reads ${path}, which is sensitive: leave it out`);
  };
  const secret = new Set(sensitivePaths({ sensitive }));
  const scope = guarded({ input }, "", secret, refuse) as { input: never };
  const made = typeof priority === "function" ? priority(scope) : priority;
  return made === undefined ? undefined : { priorityMs: durationMs(made, what) };
}
