import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";
import type { NodePlan, ProjectPlan, StagePlan } from "../plan/schema.js";

type Value = NodePlan["options"][string];

/** What is wrong with a value, and what to write; undefined when nothing is. Values that are computed are checked when they are used. */
const rules: Readonly<Record<string, (value: Value) => string | undefined>> = {
  retry: badRetry,
  timeout: (value) =>
    isDuration(value)
      ? undefined
      : 'write a number of ms, or text such as "90s", "10m" or "3 days"',
  concurrency: (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= 1
      ? undefined
      : "write a whole number from 1",
};

/** Which stages an option is for; on a node without one it does nothing. */
const appliesTo: Readonly<Record<string, readonly StagePlan["kind"][]>> = {
  retry: ["action"],
  timeout: ["action", "children"],
  isolate: ["mutation", "query"],
};

/** Options whose values cannot be, and options that do nothing where they stand. */
export function checkOptions({ workflows }: ProjectPlan): Diagnostic[] {
  return workflows.flatMap(({ nodes }) =>
    nodes.flatMap((node) => [...checkValues(node), ...checkEffects(node)]),
  );
}

function checkValues(node: NodePlan): Diagnostic[] {
  return Object.entries(node.options).flatMap(([name, value]) => {
    const hint = rules[name]?.(value);
    const place = node.optionPlaces.get(name);
    if (hint === undefined || place === undefined) return [];
    const message = `${node.kind} ${JSON.stringify(node.name)} has \`${name}: ${JSON.stringify(value)}\`, which cannot be`;
    return [diagnostic("optionValue", place, message, { hint })];
  });
}

function checkEffects(node: NodePlan): Diagnostic[] {
  // Without stages the node could not be read, which has been reported.
  if (node.stages.length === 0) return [];
  return Object.entries(appliesTo).flatMap(([name, kinds]) => {
    const place = node.optionPlaces.get(name);
    if (place === undefined || node.stages.some(({ kind }) => kinds.includes(kind))) return [];
    const message = `\`${name}\` has no effect on ${node.kind} ${JSON.stringify(node.name)}`;
    return [
      diagnostic("noEffect", place, message, {
        hint: `it is for ${kinds.join(" and ")} only: remove it`,
      }),
    ];
  });
}

function badRetry(value: Value): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return "write true, or { maxAttempts, initialBackoffMs, base }";
  const { maxAttempts, ...numbers } = value;
  const isCount =
    typeof maxAttempts === "number" &&
    Number.isInteger(maxAttempts) &&
    maxAttempts >= 1 &&
    maxAttempts <= 1000;
  if (maxAttempts !== undefined && !isCount)
    return "`maxAttempts` is a whole number from 1 to 1000";
  const bad = Object.entries(numbers).find(
    ([, each]) => typeof each !== "number" || !Number.isFinite(each) || each < 0,
  );
  return bad === undefined ? undefined : `\`${bad[0]}\` is a number from 0`;
}

/** The texts that the language reads as durations. */
const durationText = /^\d+(\.\d+)?( ?)(ms|s|m|h|d|(second|minute|hour|day|week)s?)$/;

function isDuration(value: Value): boolean {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0;
  return typeof value === "string" && durationText.test(value);
}
