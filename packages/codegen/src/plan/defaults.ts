import type { ConfigPlan, WorkflowPlan } from "./schema.js";

/** Those that were made before: a watching compiler has most of them again and again, and knows them by their identity. */
const madeBefore = new WeakMap<
  WorkflowPlan,
  { readonly retry: string; readonly made: WorkflowPlan }
>();

/** The workflows with what the app's config says of those that say nothing themselves. */
export function withDefaults(
  workflows: readonly WorkflowPlan[],
  { values: { retry } }: ConfigPlan,
): readonly WorkflowPlan[] {
  if (retry === undefined) return workflows;
  const key = JSON.stringify(retry);
  return workflows.map((workflow) => {
    if (workflow.given.has("retry")) return workflow;
    const before = madeBefore.get(workflow);
    if (before?.retry === key) return before.made;
    const options = { ...workflow.options, retry };
    const made: WorkflowPlan = { ...workflow, options, inherited: { retry } };
    madeBefore.set(workflow, { retry: key, made });
    return made;
  });
}
