import { fairFor } from "@stepwise/workpool/core";
import type { Standing } from "../component/validators.js";
import { durationMs } from "../rules.js";
import { keyMade } from "./keys.js";
import type { WorkflowReference } from "./reference.js";
import { guardedInput, sensitivePaths } from "./sensitive.js";

/**
 * Returns how the actions of a run with this input stand among those that wait; undefined if its
 * workflow says nothing. It is made once, and stored. @throws if it is not valid, or made of what
 * is sensitive.
 */
export function standingOf(
  workflow: Pick<WorkflowReference<never>, "name" | "definition">,
  input: unknown,
): Standing | undefined {
  const { priority, fairness, sensitive } = workflow.definition.options;
  if (priority === undefined && fairness === undefined) return undefined;
  const paths = sensitivePaths({ sensitive });
  const made = <Value>(
    what: string,
    option: Value | ((scope: { input: never }) => Value),
  ): Value => {
    if (typeof option !== "function") return option;
    const why = (path: string) => `${what} reads ${path}, which is sensitive: leave it out`;
    return (option as (scope: { input: never }) => Value)(guardedInput(input, paths, why));
  };
  const standing: Standing = {};
  const ofPriority = `The priority of workflow "${workflow.name}"`;
  const by = made(ofPriority, priority);
  if (by !== undefined) standing.priorityMs = durationMs(by, ofPriority);
  const key =
    fairness &&
    keyMade(workflow, { option: "fairness", key: fairness.key, sensitive: paths }, input);
  if (fairness !== undefined && key !== undefined) {
    const what = `The weight of the fairness of workflow "${workflow.name}"`;
    const weight = made(what, fairness.weight);
    // Without a weight it is 1, but a function has to give one.
    if (typeof fairness.weight === "function" && weight === undefined)
      throw new Error(`${what} is undefined: it must be a number`);
    standing.fairness = fairFor({ key, weight });
  }
  return Object.keys(standing).length === 0 ? undefined : standing;
}
