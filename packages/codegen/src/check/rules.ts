import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";
import { meant } from "../diagnostics/nearest.js";
import { durationMs, MAX_DURATION_MS } from "../plan/constants.js";
import { asyncFunction, isFunction, isObject, isOther, textOf } from "../plan/known.js";
import type { Given, Known } from "../plan/known.js";

/** What is wrong with a value: of which option, or field of one, and what to write. */
export interface Problem {
  readonly name: string;
  readonly given: Given;
  readonly hint: string;
}

/** Looks at an option as far as its value can be seen. A computed one is checked when used. */
export type Rule = (name: string, given: Given) => Problem[];

export type Rules = Readonly<Record<string, Rule>>;

/** A rule for one value. @param hint what to write in its place. */
export const each =
  (isRight: (value: Known) => boolean, hint: string): Rule =>
  (name, given) =>
    given.value === undefined || isRight(given.value) ? [] : [{ name, given, hint }];

/** Returns the rule of a name, which may be one that every object has. */
export const ruleOf = (rules: Rules | undefined, name: string): Rule | undefined =>
  rules !== undefined && Object.hasOwn(rules, name) ? rules[name] : undefined;

export function isWhole(value: Known, from: number, to = Number.POSITIVE_INFINITY): boolean {
  return Number.isSafeInteger(value) && Number(value) >= from && Number(value) <= to;
}

const isFrom = (value: Known, from: number, to: number): boolean =>
  typeof value === "number" && value >= from && value <= to;

export const whole = (from: number, to?: number): Rule =>
  each(
    (value) => isWhole(value, from, to),
    `write a whole number from ${from}${to === undefined ? "" : ` to ${to}`}`,
  );

export const number = (from: number, to: number): Rule =>
  each(
    (value) => isFrom(value, from, to),
    `write a number from ${from}${to === Number.MAX_VALUE ? "" : ` to ${to}`}`,
  );

export const oneOf = (...words: readonly string[]): Rule => {
  const quoted = words.map((word) => JSON.stringify(word));
  const is = (value: Known) => typeof value === "string" && words.includes(value);
  return each(is, `write ${listed(quoted, "or")}`);
};

export const flag = each((value) => typeof value === "boolean", "write true or false");
export const text = each((value) => typeof value === "string" && value !== "", "write a text");

const someDuration = each(
  (value) => durationMs(value) !== undefined,
  'write a number of ms, or text such as "90s", "10m" or "3 days"',
);
const atMostYear = each(
  (value) => (durationMs(value) ?? 0) <= MAX_DURATION_MS,
  "a year is the longest: to wait longer, sleep in a loop, or start a new run with `runAt`",
);
const noYears = each(
  (value) => typeof value !== "string" || !/^[\d.]+ ?(?:months?|years?)$/.test(value),
  'write months and years in days, such as "30 days": the longest is "365 days"',
);
export const duration: Rule = (name, given) => {
  const inYears = noYears(name, given);
  return inYears.length > 0 ? inYears : [...someDuration(name, given), ...atMostYear(name, given)];
};

const isAsync = (value: Known): boolean => isOther(value) && value.is === asyncFunction;

const notAsync = each(
  (value) => !isAsync(value),
  "write a function that is not async: what has to be waited for is for a step before it",
);

/** A function, such as `example`. */
export const callable = (example: string): Rule =>
  each(isFunction, `write a function: \`${example}\``);

/** A function whose value is taken at once, or something else. */
export const orFunction =
  (otherwise: Rule): Rule =>
  (name, given) =>
    (isFunction(given.value) ? notAsync : otherwise)(name, given);

/** A function whose value is taken at once. */
export const sync = (example: string): Rule => orFunction(callable(example));

interface Fielded {
  readonly fields: Rules;
  /** The fields that it cannot do without. Default: none. */
  readonly needed?: readonly string[];
  readonly hint: string;
}

/** An option that is an object of fields of its own. */
export const object =
  ({ fields, needed = [], hint }: Fielded): Rule =>
  (name, given) => {
    const { value } = given;
    if (value === undefined) return [];
    if (!isObject(value)) return [{ name, given, hint }];
    const names = Object.keys(fields);
    // What is misspelt is reported as that.
    const hasOthers = [...value.fields.keys()].some((field) => !names.includes(field));
    const isWhole = value.isWhole && !hasOthers;
    const lacks = isWhole && needed.some((field) => !value.fields.has(field));
    const wrong = [...value.fields].flatMap(([field, each]) => {
      const of = `${name}.${field}`;
      const rule = ruleOf(fields, field);
      if (rule !== undefined) return rule(of, each);
      const unknown = meant(field, names, `its fields are ${listed(names, "and")}`);
      return [{ name: of, given: each, hint: unknown }];
    });
    return lacks ? [{ name, given, hint }, ...wrong] : wrong;
  };

/** An object of which each field is of one kind. */
export const record =
  (rule: Rule, hint: string): Rule =>
  (name, given) => {
    const { value } = given;
    if (!isObject(value)) return value === undefined ? [] : [{ name, given, hint }];
    return [...value.fields].flatMap(([field, each]) => rule(`${name}.${field}`, each));
  };

function listed(names: readonly string[], last: "and" | "or"): string {
  const [only] = names;
  if (names.length === 1 && only !== undefined) return only;
  return `${names.slice(0, -1).join(", ")} ${last} ${names.at(-1)}`;
}

/** What makes a key. */
export const key = sync("key: ({ input }) => input.id");

const NO_LIMIT = Number.MAX_VALUE;

export const retry: Rule = (name, given) =>
  typeof given.value === "boolean" ? [] : ofRetry(name, given);

const ofRetry = object({
  fields: {
    maxAttempts: whole(1, 1000),
    initialBackoffMs: number(0, NO_LIMIT),
    base: number(0, NO_LIMIT),
    maxBackoffMs: number(0, NO_LIMIT),
    when: sync('(error) => error.kind === "thrown"'),
  },
  needed: ["maxAttempts"],
  hint: "write true, or an object with maxAttempts, such as { maxAttempts: 3 }",
});

/** Says what is wrong with an option of a node or a workflow. */
export function refused(of: string, { name, given: { place, value }, hint }: Problem): Diagnostic {
  const message = isAsync(value)
    ? `the \`${name}\` of ${of} is ${asyncFunction}, which cannot be`
    : `${of} has \`${name}: ${textOf(value)}\`, which cannot be`;
  return diagnostic("optionValue", place, message, hint);
}
