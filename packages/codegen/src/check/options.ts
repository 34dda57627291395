import { diagnostic, type Diagnostic, type Place } from "../diagnostics/diagnostic.js";
import { durationMs } from "../plan/duration.js";
import type { NodePlan, ProjectPlan, StagePlan } from "../plan/schema.js";

type Value = NodePlan["options"][string];

/** What is wrong with a value, and what to write; undefined when nothing is. Values that are computed are checked when they are used. */
const rules: Readonly<Record<string, (value: Value) => string | undefined>> = {
  retry: badRetry,
  timeout: (value) =>
    durationMs(value) !== undefined
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
  return workflows.flatMap((workflow) => [
    ...checkValues(`workflow ${JSON.stringify(workflow.name)}`, workflow),
    ...workflow.nodes.flatMap((node) => [
      ...checkValues(labelOf(node), node),
      ...checkStages(node),
      ...checkEffects(node),
    ]),
  ]);
}

interface HasOptions {
  readonly options: Readonly<Record<string, Value>>;
  readonly optionPlaces: ReadonlyMap<string, Place>;
}

function checkValues(of: string, { options, optionPlaces }: HasOptions): Diagnostic[] {
  return Object.entries(options).flatMap(([name, value]) => {
    const hint = rules[name]?.(value);
    const place = optionPlaces.get(name);
    if (hint === undefined || place === undefined) return [];
    const message = `${of} has \`${name}: ${JSON.stringify(value)}\`, which cannot be`;
    return [diagnostic("optionValue", place, message, { hint })];
  });
}

/** A stage has options of its own where it is written as an object inside its node: the finalize of a parent. */
function checkStages({ stages, optionPlaces }: NodePlan): Diagnostic[] {
  const ofNode = new Set([...optionPlaces.values()].map(placeKey));
  return stages.flatMap(({ label, policy }) => {
    const isOwn = [...policy.places.values()].every((place) => !ofNode.has(placeKey(place)));
    return isOwn ? checkValues(label, { options: policy.values, optionPlaces: policy.places }) : [];
  });
}

const placeKey = ({ line, column }: Place): string => `${line}:${column}`;

const labelOf = ({ kind, name }: NodePlan): string => `${kind} ${JSON.stringify(name)}`;

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
