import type { ConfigPlan, WorkflowPlan } from "./schema.js";

/** A workflow with what the app's config says of those that say nothing themselves. */
export function withDefaults(
  workflow: WorkflowPlan,
  { values: { retry } }: Pick<ConfigPlan, "values">,
): WorkflowPlan {
  if (retry === undefined || workflow.given.has("retry")) return workflow;
  return { ...workflow, options: { ...workflow.options, retry }, inherited: { retry } };
}
