import { diagnostic, type Diagnostic, quote } from "../diagnostics/diagnostic.js";
import { meant } from "../diagnostics/nearest.js";
import type { WorkflowPlan, WrittenPlan } from "../plan/schema.js";
import { storedIn } from "../plan/workflow-names.js";

/** Old names that are none, or that another workflow has or claims. */
export function checkRenamedFrom(
  workflows: readonly WorkflowPlan[],
  earlier: readonly WrittenPlan[],
): Diagnostic[] {
  const claims = new Map<string, WorkflowPlan>();
  const byName = new Map(workflows.map((workflow) => [workflow.name, workflow]));
  return workflows.flatMap((workflow) => {
    const { name, renamedFrom } = workflow;
    if (renamedFrom === undefined) return [];
    const { name: from, place } = renamedFrom;
    const report = (what: string, hint: string, other?: WorkflowPlan) => {
      const message = `\`renamedFrom\` of workflow ${quote(name)} is ${quote(from)}, which ${what}`;
      const related = other && { message: "the other one", place: other.place };
      return [
        diagnostic("unusableRenamedFrom", place, message, hint, ...(related ? [related] : [])),
      ];
    };
    if (from === name) return report("is its own name", "write the name that it had before");
    const other = claims.get(from);
    if (other !== undefined)
      return report(
        `${quote(other.name)} was called too`,
        "runs go on in one workflow: leave the option out of the other",
        other,
      );
    claims.set(from, workflow);
    const there = byName.get(from);
    if (there !== undefined && there.renamedFrom === undefined)
      return report(
        "is another workflow now",
        `delete the option if the rename is committed; else rename ${quote(from)}`,
        there,
      );
    const isKnown = (plan: WrittenPlan) =>
      storedIn(plan, from, byName) !== undefined ||
      plan.workflows.some(
        (each) => each.name === name && [each.storage, each.options["renamedFrom"]].includes(from),
      );
    if (earlier.length === 0 || earlier.some(isKnown)) return [];
    const names = new Set(earlier.flatMap((plan) => plan.workflows.map((each) => each.name)));
    const known = `the workflows that were generated are ${[...names].join(", ")}`;
    return report("was never generated", meant(from, names, known, quote));
  });
}
