import { diagnostic, type Diagnostic, quote } from "../diagnostics/diagnostic.js";
import {
  durationMs,
  isTimeZone,
  MAX_ITERATIONS,
  MOST_ITEMS,
  parseTimeOfDay,
} from "../plan/constants.js";
import { allNodes } from "../plan/flow.js";
import { isFunction, isObject, isOther } from "../plan/known.js";
import type { Given, GivenOptions, Known } from "../plan/known.js";
import type { NodePlan, StagePlan, WorkflowPlan } from "../plan/schema.js";
import { stageKind } from "../plan/stage-kinds.js";
import {
  callable,
  duration,
  each,
  flag,
  key,
  number,
  object,
  oneOf,
  orFunction,
  type Problem,
  record,
  refused,
  retry,
  type Rule,
  ruleOf,
  type Rules,
  sync,
  text,
  whole,
} from "./rules.js";

const schema = each(isObject, "write a schema, such as `z.object({ … })`");
const handler = each(
  isFunction,
  "write a function, or a reference to one with `args`, such as `internal.mail.send`",
);
const matching = sync("(payload, { input }) => payload.id === input.id");

const isA = (value: Known, what: string): boolean => isOther(value) && value.is === what;

/** Something that is only known when it runs, or that `otherwise` is for. */
const orTime =
  (otherwise: Rule): Rule =>
  (name, given) =>
    isFunction(given.value) || isA(given.value, "a Date") ? [] : otherwise(name, given);

const localTime = object({
  fields: {
    at: each((value) => parseTimeOfDay(value) !== undefined, 'write hours and minutes, as "02:30"'),
    zone: each(isTimeZone, 'write a name of the IANA database, as "Europe/Berlin"'),
  },
  needed: ["at", "zone"],
  hint: 'write { at: "02:30", zone: "Europe/Berlin" }',
});

const limits =
  'a list of names, as ["exports"], or an object, as { tenant: ({ input }) => input.org }';

/** What is given for each of them is checked beside the config: see limits.ts. */
const checkLimits: Rule = (name, given) => {
  const { value } = given;
  if (value === undefined || isObject(value)) return [];
  if (!isA(value, "a list")) return [{ name, given, hint: `write ${limits}` }];
  const isEntry = (item: Known) => item === undefined || typeof item === "string" || isObject(item);
  return itemsOf(value).flatMap((item, at) =>
    isEntry(item)
      ? []
      : [{ name: `${name}[${at}]`, given: { ...given, value: item }, hint: `write ${limits}` }],
  );
};

const itemsOf = (value: Known): readonly Known[] => (isOther(value) && value.items) || [];

const ofReduce = each(isObject, "write { initial: 0, step: (total, output) => total + output }");
const stepOf = sync("(total, output) => total + output");

const concurrency = orFunction((name, given) =>
  given.value === Infinity ? [] : whole(1)(name, given),
);

/** What each option may be, as far as it is seen: those of nodes and workflows … */
const shared: Rules = { retry, timeout: duration, limits: checkLimits, sensitive: flag };

/** … those of several kinds of nodes … */
const rules: Rules = {
  ...shared,
  action: handler,
  mutation: handler,
  query: handler,
  args: sync("({ input }) => ({ id: input.id })"),
  recover: callable("(error) => null"),
  waitAtMost: duration,
  isolate: flag,
};

const gathering: Rules = {
  concurrency,
  tolerate: checkTolerate,
  reduce: (name, given) => {
    if (!isObject(given.value)) return ofReduce(name, given);
    // What lacks a part is told by itself.
    const step = given.value.fields.get("step");
    return step === undefined ? [] : stepOf(`${name}.step`, step);
  },
};

/** … and those of one kind, or that are something else there. */
const ofKind: Readonly<Record<string, Rules>> = {
  workflow: {
    input: schema,
    retention: duration,
    // Or paths of the input, which types check.
    sensitive: (name, given) => {
      const isPath = (item: Known) => item === undefined || typeof item === "string";
      const arePaths = isA(given.value, "a list") && itemsOf(given.value).every(isPath);
      return arePaths ? [] : flag(name, given);
    },
    tags: sync("({ input }) => ({ org: input.org })"),
    one: object({
      fields: { key, otherwise: oneOf("wait", "skip", "cancelOld", "newestWaits") },
      needed: ["key", "otherwise"],
      hint: 'write { key: ({ input }) => input.id, otherwise: "wait" }',
    }),
    fairness: object({
      fields: { key, weight: orFunction(number(0.001, 1_000)) },
      needed: ["key"],
      hint: "write { key: ({ input }) => input.id, weight: 3 }",
    }),
    priority: orFunction(duration),
    collect: checkCollect,
    renamedFrom: text,
  },
  parent: { children: sync("({ input }) => [child(workflow, input)]"), ...gathering },
  each: { of: sync("({ input }) => input.items"), ...gathering },
  parallel: gathering,
  race: {
    first: each((value) => value === "any", 'write "any", or leave it out'),
    compensateLosers: flag,
  },
  branch: { on: sync("({ input }) => input.kind") },
  match: { of: text, by: text },
  loop: {
    state: schema,
    initial: callable("({ input }) => ({ left: input.items })"),
    until: sync("({ loop }) => loop.state.done"),
    maxIterations: whole(1, MAX_ITERATIONS),
  },
  event: {
    schema,
    anyOf: record(schema, "write a schema for each event: { approved: z.string(), … }"),
    match: (name, given) => (isObject(given.value) ? record(matching, "") : matching)(name, given),
    timeout: orTime(duration),
  },
  // A negative sleep is none, but was not meant.
  sleep: {
    duration: orTime((name, given) => (isObject(given.value) ? localTime : duration)(name, given)),
  },
  child: { options: each(isObject, "write `{ recover: (error) => null }`, or leave it out") },
  end: { output: sync("({ input }) => ({ id: input.id })") },
};

/** What options are for that not every node has; on another one they do nothing. */
const areFor = {
  retry: "actions",
  timeout: "actions, parents, loops and events",
  isolate: "mutations and queries",
  limits: "steps with an action",
  waitAtMost: "steps with an action",
} as const;

export const checkOptions = ({ name, given, nodes }: WorkflowPlan): Diagnostic[] => [
  ...checkValues({ label: `workflow ${quote(name)}`, kind: "workflow", given }),
  ...allNodes(nodes)
    .flatMap(ownersOf)
    .flatMap((owner) => [...checkValues(owner), ...checkEffects(owner)]),
];

type Owner = ReturnType<typeof ownersOf>[number];

/** Returns what has options of its own: a node, and each part that is an object inside it. */
function ownersOf(node: NodePlan) {
  const ofNode = new Set([...node.given.values()].map(placeKey));
  const isPart = ({ policy: { given } }: StagePlan) =>
    [...given.values()].every((option) => !ofNode.has(placeKey(option)));
  const parts = node.stages.filter(isPart);
  const stages = node.stages.filter((stage) => !parts.includes(stage));
  const label = node.isNamed ? `${node.kind} ${quote(node.path)}` : node.kind;
  return [
    { given: node.given, label, stages, kind: node.kind },
    ...parts.map((part) => {
      const { label, policy } = part;
      return { label, stages: [part], given: policy.given, kind: "part" };
    }),
  ];
}

const placeKey = ({ place: { line, column } }: Given): string => `${line}:${column}`;

interface Optioned {
  readonly label: string;
  readonly kind: string;
  readonly given: GivenOptions;
}

const checkValues = ({ label, kind, given }: Optioned): Diagnostic[] =>
  [...given].flatMap(([option, at]) => {
    const others = kind === "workflow" ? shared : rules;
    const rule = ruleOf(ofKind[kind], option) ?? ruleOf(others, option);
    return (rule?.(option, at) ?? []).map((problem) => refused(label, problem));
  });

function checkEffects({ label, stages, given, kind }: Owner): Diagnostic[] {
  // Without stages it could not be read, which has been reported.
  if (stages.length === 0) return [];
  const names = Object.keys(areFor) as (keyof typeof areFor)[];
  return names.flatMap((name) => {
    const { place, isUnsure = false } = given.get(name) ?? {};
    // Of a compensation it is told that `isolate` is no option at all.
    const isTold = name === "isolate" && stages.every(({ isAside }) => isAside);
    const isFor = kind === "step" || (name !== "limits" && name !== "waitAtMost");
    const hasEffect = isFor && stages.some(({ kind }) => stageKind(kind).options.includes(name));
    if (place === undefined || isUnsure || isTold || hasEffect) return [];
    const message = `\`${name}\` has no effect on ${label}`;
    const hint = `it is for ${areFor[name]} only: remove it`;
    return [diagnostic("noEffect", place, message, hint)];
  });
}

const ofCollect = object({
  fields: {
    key,
    quiet: duration,
    atMost: duration,
    size: whole(1, MOST_ITEMS),
    keep: oneOf("last", "first", "all"),
  },
  needed: ["key", "quiet", "keep"],
  hint: 'write { key: ({ input }) => input.id, quiet: "30s", keep: "last" }',
});

function checkCollect(name: string, given: Given): Problem[] {
  const wrong = ofCollect(name, given);
  const fieldOf = (field: string) =>
    isObject(given.value) ? given.value.fields.get(field) : undefined;
  const atMost = fieldOf("atMost");
  const [quietMs, atMostMs] = [fieldOf("quiet"), atMost].map((each) => durationMs(each?.value));
  if (atMost === undefined || atMostMs === undefined || atMostMs >= (quietMs ?? 0)) return wrong;
  const least = "write a time that is not less than quiet, or leave it out: it is 10 times quiet";
  return [...wrong, { name: `${name}.atMost`, given: atMost, hint: least }];
}

const forms = 'write "all", { failures: 3 } or { percentage: 10 }';
const ofTolerate = object({
  fields: { failures: whole(0), percentage: number(0, 100) },
  hint: forms,
});

function checkTolerate(name: string, given: Given): Problem[] {
  const { value } = given;
  if (value === "all") return [];
  const isForm = !isObject(value) || value.fields.size === 1 || !value.isWhole;
  return [...(isForm ? [] : [{ name, given, hint: forms }]), ...ofTolerate(name, given)];
}
