import { renamedTo } from "../plan/renaming.js";
import type { Leftover } from "../plan/schema.js";
import { stagesIn } from "../plan/undoes.js";
import { quote, type Change, type WorkflowThen } from "./change.js";

/**
 * What becomes of what undoes a step when the step, its compensation or the workflow is gone: it is left behind for the runs that are past
 * the step, or they lose it.
 *
 * @param now undefined when the workflow is gone
 * @param left what the new version leaves behind of it
 */
export function compareUndoing(
  before: WorkflowThen,
  now: WorkflowThen | undefined,
  left: Leftover | undefined,
): Change[] {
  const names = new Set(now && stagesIn(now.nodes).map(({ name }) => name));
  const isThere = (stage: string) =>
    names.has(stage) || names.has(renamedTo(stage, now?.options["renamed"]) ?? stage);
  return stagesIn(before.nodes)
    .filter(({ name }) => name.endsWith(ending) && !isThere(name))
    .map(({ name }): Change => {
      const about = { workflow: before.name, node: name.slice(0, -ending.length) };
      const isLeft = left?.undoes?.some(({ stage }) => stage === name) === true;
      if (isLeft) {
        const message = `what undoes it is kept: runs that are past it are undone as before, until \`check --drop\``;
        return { ...about, compatibility: "safe", message };
      }
      const { why, hint } = reasonOf(before, name);
      const message = `runs that are past it lose what undoes it: ${why}`;
      return { ...about, compatibility: "loses", message, hint };
    });
}

const ending = ".compensate";

/** Why a compensation is not left behind, and what to do. */
function reasonOf(
  { compensations = [], file }: WorkflowThen,
  stage: string,
): { why: string; hint: string } {
  const source = compensations.find((each) => each.stage === stage);
  if (source === undefined) {
    return {
      why: "the plan that this is compared with does not hold its source",
      hint: "generate and deploy what is there now with this compiler first; then remove it",
    };
  }
  if ("open" in source) {
    return {
      why: `its compensate uses ${quote(source.open)} of ${file}, so that it cannot be written out again without that file`,
      hint: "first deploy a version in which the handler is exported from a module of its own, or is a function reference such as `internal.shop.refund`; then remove it",
    };
  }
  return {
    why: "it is not left behind",
    hint: "generate with the plan that is deployed: `workflow-codegen generate --against <plan.json>`",
  };
}
