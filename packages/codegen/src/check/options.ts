import { diagnostic, type Diagnostic, quote } from "../diagnostics/diagnostic.js";
import {
  durationMs,
  isTimeZone,
  MAX_DURATION_MS,
  MOST_ITEMS,
  parseTimeOfDay,
} from "../plan/constants.js";
import { allNodes } from "../plan/flow.js";
import { asyncFunction, isObject, textOf } from "../plan/known.js";
import type { Given, GivenOptions, Known, KnownObject } from "../plan/known.js";
import type { NodePlan, StagePlan, WorkflowPlan } from "../plan/schema.js";
import { stageKind } from "../plan/stage-kinds.js";

/** What is wrong with a value: of which option, or field of one, and what to write. */
export interface Problem {
  readonly name: string;
  readonly given: Given;
  readonly hint: string;
}

/** Looks at an option as far as its value can be seen. A computed one is checked when used. */
export type Rule = (name: string, given: Given) => Problem[];

/** A rule for one value. @param hint what to write in its place. */
export const each =
  (isRight: (value: Known) => boolean, hint: string): Rule =>
  (name, given) =>
    given.value === undefined || isRight(given.value) ? [] : [{ name, given, hint }];

const someDuration = each(
  (value) => durationMs(value) !== undefined,
  'write a number of ms, or text such as "90s", "10m" or "3 days"',
);
const atMostYear = each(
  (value) => (durationMs(value) ?? 0) <= MAX_DURATION_MS,
  "a year is the longest: to wait longer, sleep in a loop, or start a new run with `runAt`",
);
export const duration: Rule = (name, given) => [
  ...someDuration(name, given),
  ...atMostYear(name, given),
];
const count = each((value) => isWhole(value, 1), "write a whole number from 1");
const fromZero = each(
  (value) => typeof value === "number" && Number.isFinite(value) && value >= 0,
  "write a number from 0",
);
const flag = each((value) => typeof value === "boolean", "write true or false");

const isAsync = (value: Known): boolean =>
  typeof value === "object" && !isObject(value) && value.is === asyncFunction;

const isList = (value: Known): boolean =>
  typeof value === "object" && !isObject(value) && value.is === "a list";

/** Refuses an async function for an option whose value is taken at once. */
const sync = each(
  (value) => !isAsync(value),
  "write a function that is not async: what has to be waited for is for a step before it",
);

const timeOfDay = each(
  (value) => parseTimeOfDay(value) !== undefined,
  'write hours and minutes, as "02:30"',
);
const timeZone = each(isTimeZone, 'write a name of the IANA database, as "Europe/Berlin"');

/** `{ at, zone }`: a time of day. */
const localTime = (name: string, { fields }: KnownObject): Problem[] =>
  [...fields].flatMap(([field, given]) => {
    if (field === "at") return timeOfDay(`${name}.at`, given);
    return field === "zone" ? timeZone(`${name}.zone`, given) : [];
  });

const rules: Readonly<Record<string, Rule>> = {
  input: each((value) => isObject(value), "write a schema: `input: z.object({ … })`"),
  retry: checkRetry,
  timeout: duration,
  waitAtMost: duration,
  retention: duration,
  isolate: flag,
  // Of a workflow it may be a list of paths, which their types check.
  sensitive: (name, given) => (isList(given.value) ? [] : flag(name, given)),
  // A function cannot be seen. A negative sleep is none, but was not meant.
  duration: (name, given) => {
    if (isObject(given.value)) return localTime(name, given.value);
    return typeof given.value === "object" ? [] : duration(name, given);
  },
  children: sync,
  on: sync,
  of: sync,
  until: sync,
  match: (name, given) =>
    isObject(given.value)
      ? [...given.value.fields].flatMap(([event, each]) => sync(`${name}.${event}`, each))
      : sync(name, given),
  reduce: (name, { value }) => {
    const step = isObject(value) ? value.fields.get("step") : undefined;
    return step === undefined ? [] : sync(`${name}.step`, step);
  },
  concurrency: (name, given) =>
    given.value === Infinity ? [] : (typeof given.value === "object" ? sync : count)(name, given),
  tolerate: checkTolerate,
  first: each((value) => value === "any", 'write "any", or leave it out'),
  compensateLosers: flag,
  one: (name, given) => checkOne(name, given),
  fairness: (name, given) => checkFairness(name, given),
  priority: (name, given) =>
    (typeof given.value === "object" && !isObject(given.value) ? sync : duration)(name, given),
  collect: checkCollect,
  maxIterations: each(
    (value) => isWhole(value, 1, 100_000),
    "write a whole number from 1 to 100000",
  ),
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
  ...checkValues(`workflow ${quote(name)}`, given),
  ...allNodes(nodes)
    .flatMap(ownersOf)
    .flatMap((owner) => [...checkValues(owner.label, owner.given), ...checkEffects(owner)]),
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
    { given: node.given, label, stages, isStep: node.kind === "step" },
    ...parts.map((part) => {
      const { label, policy } = part;
      return { label, stages: [part], given: policy.given, isStep: false };
    }),
  ];
}

const placeKey = ({ place: { line, column } }: Given): string => `${line}:${column}`;

function checkValues(of: string, options: GivenOptions): Diagnostic[] {
  return [...options].flatMap(([option, at]) => {
    // An option of an unknown name may be called as something that every object has.
    const rule = Object.hasOwn(rules, option) ? rules[option] : undefined;
    return (rule?.(option, at) ?? []).map(({ name, given: { place, value }, hint }) => {
      const message = isAsync(value)
        ? `the \`${name}\` of ${of} is ${asyncFunction}, which cannot be`
        : `${of} has \`${name}: ${textOf(value)}\`, which cannot be`;
      return diagnostic("optionValue", place, message, hint);
    });
  });
}

function checkEffects({ label, stages, given, isStep }: Owner): Diagnostic[] {
  // Without stages it could not be read, which has been reported.
  if (stages.length === 0) return [];
  const names = Object.keys(areFor) as (keyof typeof areFor)[];
  return names.flatMap((name) => {
    const { place, isUnsure = false } = given.get(name) ?? {};
    // Of a compensation it is told that `isolate` is no option at all.
    const isTold = name === "isolate" && stages.every(({ isAside }) => isAside);
    const isFor = isStep || (name !== "limits" && name !== "waitAtMost");
    const hasEffect = isFor && stages.some(({ kind }) => stageKind(kind).options.includes(name));
    if (place === undefined || isUnsure || isTold || hasEffect) return [];
    const message = `\`${name}\` has no effect on ${label}`;
    const hint = `it is for ${areFor[name]} only: remove it`;
    return [diagnostic("noEffect", place, message, hint)];
  });
}

export function isWhole(value: Known, from: number, to = Number.POSITIVE_INFINITY): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= from && value <= to;
}

const retryFields: Readonly<Record<string, Rule>> = {
  maxAttempts: each((value) => isWhole(value, 1, 1000), "write a whole number from 1 to 1000"),
  initialBackoffMs: fromZero,
  base: fromZero,
  maxBackoffMs: fromZero,
  when: sync,
};

export function checkRetry(name: string, given: Given): Problem[] {
  const { value } = given;
  if (value === undefined || typeof value === "boolean") return [];
  const needed = "write true, or an object with maxAttempts, such as { maxAttempts: 3 }";
  if (!isObject(value)) return [{ name, given, hint: needed }];
  const names = Object.keys(retryFields);
  const lacks = !value.fields.has("maxAttempts");
  const wrong = [...value.fields].flatMap(([field, each]) => {
    const unknown = {
      name: `${name}.${field}`,
      given: each,
      hint: `its fields are ${names.join(", ")}`,
    };
    return retryFields[field]?.(unknown.name, each) ?? [unknown];
  });
  return lacks && value.isWhole ? [{ name, given, hint: needed }, ...wrong] : wrong;
}

const oneFields: Readonly<Record<string, Rule>> = {
  key: (name, given) =>
    typeof given.value === "object" ? sync(name, given) : keyIsFunction(name, given),
  otherwise: each(
    (value) => ["wait", "skip", "cancelOld", "newestWaits"].includes(value as string),
    'write "wait", "skip", "cancelOld" or "newestWaits"',
  ),
};
const keyIsFunction = each(() => false, "write a function: `key: ({ input }) => input.id`");

const checkOne: Rule = (name, given) =>
  checkFields(name, given, {
    fields: oneFields,
    needed: Object.keys(oneFields),
    hint: 'write { key: ({ input }) => input.id, otherwise: "wait" }',
  });

const checkFairness: Rule = (name, given) =>
  checkFields(name, given, {
    fields: {
      key: oneFields["key"]!,
      weight: (field, each) => (typeof each.value === "object" ? sync : weight)(field, each),
    },
    needed: ["key"],
    hint: "write { key: ({ input }) => input.id, weight: 3 }",
  });
const weight = each(
  (value) => typeof value === "number" && value >= 0.001 && value <= 1_000,
  "write a number from 0.001 to 1000",
);

interface Fielded {
  readonly fields: Readonly<Record<string, Rule>>;
  readonly needed: readonly string[];
  readonly hint: string;
}

/** An option that is an object of fields of its own. */
function checkFields(name: string, given: Given, { fields, needed, hint }: Fielded): Problem[] {
  const { value } = given;
  if (value === undefined) return [];
  if (!isObject(value)) return [{ name, given, hint }];
  const lacks = value.isWhole && needed.some((field) => !value.fields.has(field));
  const known = listed(Object.keys(fields));
  const wrong = [...value.fields].flatMap(
    ([field, each]) =>
      fields[field]?.(`${name}.${field}`, each) ?? [
        { name: `${name}.${field}`, given: each, hint: `its fields are ${known}` },
      ],
  );
  return lacks ? [{ name, given, hint }, ...wrong] : wrong;
}

const listed = (names: readonly string[]): string =>
  `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;

const collectFields: Readonly<Record<string, Rule>> = {
  key: oneFields["key"]!,
  quiet: duration,
  atMost: duration,
  size: each(
    (value) => isWhole(value, 1, MOST_ITEMS),
    `write a whole number from 1 to ${MOST_ITEMS}`,
  ),
  keep: each(
    (value) => ["last", "first", "all"].includes(value as string),
    'write "last", "first" or "all"',
  ),
};

function checkCollect(name: string, given: Given): Problem[] {
  const needed = ["key", "quiet", "keep"];
  const hint = 'write { key: ({ input }) => input.id, quiet: "30s", keep: "last" }';
  const wrong = checkFields(name, given, { fields: collectFields, needed, hint });
  const fieldOf = (field: string) =>
    given.value !== undefined && isObject(given.value) ? given.value.fields.get(field) : undefined;
  const atMost = fieldOf("atMost");
  const [quietMs, atMostMs] = [fieldOf("quiet"), atMost].map((each) => durationMs(each?.value));
  if (atMost === undefined || atMostMs === undefined || atMostMs >= (quietMs ?? 0)) return wrong;
  const least = "write a time that is not less than quiet, or leave it out: it is 10 times quiet";
  return [...wrong, { name: `${name}.atMost`, given: atMost, hint: least }];
}

function checkTolerate(name: string, given: Given): Problem[] {
  const { value } = given;
  if (value === undefined || value === "all") return [];
  const forms = [{ name, given, hint: 'write "all", { failures: 3 } or { percentage: 10 }' }];
  if (!isObject(value)) return forms;
  const names = [...value.fields.keys()];
  const isForm = names.length === 1 || (names.length === 0 && !value.isWhole);
  const wrong = [...value.fields].flatMap(
    ([field, each]) => amounts[field]?.(`${name}.${field}`, each) ?? [],
  );
  return isForm && names.every((field) => field in amounts) ? wrong : [...forms, ...wrong];
}

const amounts: Readonly<Record<string, Rule>> = {
  failures: each((value) => isWhole(value, 0), "write a whole number from 0"),
  percentage: each(
    (value) => typeof value === "number" && value >= 0 && value <= 100,
    "write a number from 0 to 100",
  ),
};
