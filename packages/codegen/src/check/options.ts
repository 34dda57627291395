import { diagnostic, type Diagnostic, type Place } from "../diagnostics/diagnostic.js";
import { durationMs } from "../plan/duration.js";
import { allNodes } from "../plan/flow.js";
import type { NodePlan, ProjectPlan, StagePlan } from "../plan/schema.js";

type Value = NodePlan["options"][string];

const duration = 'write a number of ms, or text such as "90s", "10m" or "3 days"';

/** The longest sleep, in ms. */
const yearMs = 365 * 86_400_000;

/** What is wrong with a value, and what to write; undefined when nothing is. Values that are computed are checked when they are used. */
const rules: Readonly<Record<string, (value: Value) => string | undefined>> = {
  retry: badRetry,
  timeout: (value) => (durationMs(value) === undefined ? duration : undefined),
  retention: (value) => (durationMs(value) === undefined ? duration : undefined),
  duration: badSleep,
  concurrency: (value) => (isWhole(value, 1) ? undefined : "write a whole number from 1"),
  tolerate: badTolerance,
  maxIterations: (value) =>
    isWhole(value, 1, 100_000) ? undefined : "write a whole number from 1 to 100000",
};

/** Which stages an option is for; on a node without one it does nothing. */
const appliesTo: Readonly<
  Record<string, { readonly kinds: readonly StagePlan["kind"][]; readonly are: string }>
> = {
  retry: { kinds: ["action"], are: "actions" },
  timeout: { kinds: ["action", "children", "event"], are: "actions, parents and events" },
  isolate: { kinds: ["mutation", "query"], are: "mutations and queries" },
};

/** Options whose values cannot be, and options that do nothing where they stand. */
export function checkOptions({ workflows }: ProjectPlan): Diagnostic[] {
  return workflows.flatMap((workflow) => [
    ...checkValues(`workflow ${JSON.stringify(workflow.name)}`, workflow),
    ...allNodes(workflow.nodes).flatMap((node) => ownersOf(node).flatMap(checkOwner)),
  ]);
}

interface HasOptions {
  readonly options: Readonly<Record<string, Value>>;
  readonly optionPlaces: ReadonlyMap<string, Place>;
}

/** What has options of its own: a node, and each part of it that is written as an object inside it. */
interface Owner extends HasOptions {
  readonly label: string;
  /** What is run as these options say. */
  readonly stages: readonly StagePlan[];
}

function ownersOf(node: NodePlan): Owner[] {
  const ofNode = new Set([...node.optionPlaces.values()].map(placeKey));
  const isPart = ({ policy: { places } }: StagePlan) =>
    [...places.values()].every((place) => !ofNode.has(placeKey(place)));
  const parts = node.stages.filter(isPart);
  const stages = node.stages.filter((stage) => !parts.includes(stage));
  const label = node.isNamed ? `${node.kind} ${JSON.stringify(node.path)}` : node.kind;
  return [
    { ...node, label, stages },
    ...parts.map((part) => ({
      label: part.label,
      stages: [part],
      options: part.policy.values,
      optionPlaces: part.policy.places,
    })),
  ];
}

const placeKey = ({ line, column }: Place): string => `${line}:${column}`;

const checkOwner = (owner: Owner): Diagnostic[] => [
  ...checkValues(owner.label, owner),
  ...checkEffects(owner),
];

function checkValues(of: string, { options, optionPlaces }: HasOptions): Diagnostic[] {
  return Object.entries(options).flatMap(([name, value]) => {
    const hint = rules[name]?.(value);
    const place = optionPlaces.get(name);
    if (hint === undefined || place === undefined) return [];
    const message = `${of} has \`${name}: ${JSON.stringify(value)}\`, which cannot be`;
    return [diagnostic("optionValue", place, message, { hint })];
  });
}

function checkEffects({ label, stages, optionPlaces }: Owner): Diagnostic[] {
  // Without stages it could not be read, which has been reported.
  if (stages.length === 0) return [];
  return Object.entries(appliesTo).flatMap(([name, { kinds, are }]) => {
    const place = optionPlaces.get(name);
    if (place === undefined || stages.some(({ kind }) => kinds.includes(kind))) return [];
    return [
      diagnostic("noEffect", place, `\`${name}\` has no effect on ${label}`, {
        hint: `it is for ${are} only: remove it`,
      }),
    ];
  });
}

function isWhole(value: Value, from: number, to = Number.POSITIVE_INFINITY): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= from && value <= to;
}

function badRetry(value: Value): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (!isObject(value)) return "write true, or { maxAttempts, initialBackoffMs, base }";
  const { maxAttempts, ...numbers } = value;
  if (maxAttempts !== undefined && !isWhole(maxAttempts, 1, 1000))
    return "`maxAttempts` is a whole number from 1 to 1000";
  const bad = Object.entries(numbers).find(
    ([, each]) => typeof each !== "number" || !Number.isFinite(each) || each < 0,
  );
  return bad === undefined ? undefined : `\`${bad[0]}\` is a number from 0`;
}

function badTolerance(value: Value): string | undefined {
  if (value === "all") return undefined;
  const forms = 'write "all", { failures: 3 } or { percentage: 10 }';
  if (!isObject(value)) return forms;
  const [[name, amount] = [], second] = Object.entries(value);
  if (second !== undefined || amount === undefined) return forms;
  if (name === "failures")
    return isWhole(amount, 0) ? undefined : "`failures` is a whole number from 0";
  if (name !== "percentage") return forms;
  const isShare = typeof amount === "number" && amount >= 0 && amount <= 100;
  return isShare ? undefined : "`percentage` is a number from 0 to 100";
}

/** A sleep of less than nothing is none, but it is not what was meant. */
function badSleep(value: Value): string | undefined {
  const ms = durationMs(value);
  if (ms === undefined) return duration;
  return ms > yearMs
    ? "a sleep takes a year at most: sleep in a loop, or start a new run with `runAt`"
    : undefined;
}

function isObject(value: Value): value is { [key: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
