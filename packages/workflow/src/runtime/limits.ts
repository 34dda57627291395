import { isAmount, isPlain, isPromise, type LimitKeys, permitsFor } from "@stepwise/workpool/core";
import type { BudgetOption, LimitsOption } from "../definition/limits.js";
import { describeThrown } from "../errors/failure.js";
import type { Bound } from "./functions.js";
import { literalText } from "../rules.js";
import { copied } from "../values.js";
import { optionOf } from "./options.js";
import { onceForEach } from "./once.js";
import { placeOf } from "./place.js";
import type { Reads } from "./named.js";
import { readableScope, secretNames } from "./reads.js";
import { guardedInput, sensitivePaths } from "./sensitive.js";
import { shownProblem } from "./shown.js";

/** Gives some of the scope of a stage. */
type ScopeOf = (names: Reads) => Promise<never>;

/** Returns what an action stage says of limits, with the names that its keys are made of. */
const usesOf = onceForEach(({ definition, reads }: Bound, stage) => {
  const { policy } = placeOf(definition, stage);
  const own = reads.get(`${stage}.limits`) ?? [];
  return [
    { given: definition.options.limits, names: ["input"] },
    { given: policy.limits, names: own },
  ].flatMap(({ given, names }) =>
    given === undefined ? [] : [{ given, entries: entriesOf(given), names }],
  );
});

type KeyOf = (scope: never) => string | undefined;
type Given = true | KeyOf | BudgetOption<never> | undefined;

/** Returns how the key of a limit is made; undefined if it has none. */
const keyOf = (given: Given): KeyOf | undefined =>
  typeof given === "function" ? given : isBudget(given) ? given.key : undefined;

const isBudget = (given: Given): given is BudgetOption<never> =>
  typeof given === "object" && given !== null;

/* Types have checked it, as far as there are any. What is none would count for nothing. */

/** @throws if it is neither an object with keys nor a list of these and of names. */
function checkForm(what: string, given: unknown): void {
  const isName = (each: unknown) => Array.isArray(given) && typeof each === "string";
  for (const each of Array.isArray(given) ? given : [given])
    if (!isName(each) && !isPlain(each))
      throw new Error(
        `${what} cannot be: ${literalText(each)} is neither a name nor an object: write ["exports"] or { tenant: ({ input }) => input.org }`,
      );
}

/** @throws if the key or the spend is no function. */
function checkUse(what: string, name: string, given: Given): void {
  if (!isBudget(given)) return;
  for (const part of ["key", "spend"] as const)
    if (given[part] !== undefined && typeof given[part] !== "function")
      throw new Error(
        `${what} cannot be: the ${part} for the limit "${name}" is ${literalText(given[part])}, not a function`,
      );
}

/** A list has names, and objects with keys. */
function entriesOf(given: LimitsOption<never, never>): [string, Given][] {
  const of = (each: unknown): [string, Given][] =>
    typeof each === "string"
      ? [[each, true]]
      : Object.entries(Object(each) as Record<string, Given>);
  return Array.isArray(given) ? given.flatMap(of) : of(given);
}

/** Says whether the limits of a stage have keys, which are made of its scope. */
export function hasKeys(own: Bound, stage: string): boolean {
  const entries = usesOf(own, stage).flatMap((use) => use.entries);
  return entries.some(([, given]) => keyOf(given) !== undefined);
}

/** The limit, if the stage names it. */
export function limitOfStage(own: Bound, stage: string, limit: string | undefined) {
  const entries = usesOf(own, stage).flatMap((use) => use.entries);
  return entries.some(([name]) => name === limit) ? limit : undefined;
}

/**
 * Returns what a stage has used of limits that count a unit, as its output says; undefined if none
 * is told. If that cannot be made, the estimate stays.
 */
export function usedBy(own: Bound, stage: string, output: unknown) {
  const used: Record<string, number> = {};
  for (const [name, given] of usesOf(own, stage).flatMap((use) => use.entries)) {
    if (!isBudget(given) || given.spend === undefined) continue;
    // What it gave instead may be of an output that is not to be shown.
    let why = "it must give a number from 0";
    try {
      const amount: unknown = given.spend({ output });
      if (isAmount(amount)) {
        used[name] = amount;
        continue;
      }
      if (isPromise(amount)) why = "it must not be async";
    } catch (error) {
      why = shownProblem(own, stage, describeThrown(error)).message;
    }
    const what = optionOf(own, stage, `spend for the limit "${name}"`);
    console.error(`${what} failed, so the estimate stays: ${why}`);
  }
  return Object.keys(used).length === 0 ? undefined : used;
}

/** The scope, in which what is sensitive throws when it is read. */
function withoutSecrets(own: Bound, stage: string, scope: object, names: Reads): object {
  const hidden = secretNames(own, stage, names);
  if (hidden.size === 0) return scope;
  const what = optionOf(own, stage, "limits");
  const why = (path: string) =>
    `${what} read ${path}, which is sensitive: keys are shown, so leave it out`;
  const paths = sensitivePaths(own.definition.options);
  return new Proxy(scope, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof name !== "string" || !hidden.has(name)) return value;
      if (name !== "input") throw new Error(why(name));
      return guardedInput(value, paths, why).input;
    },
  });
}

/**
 * The names of the permits that an action stage needs; undefined if it has no limits. Those of the
 * step take the place of those of its workflow that have the same name.
 * @param scopeOf is called if there are keys. @throws if a name or a key is not valid.
 */
export async function permitsOf(own: Bound, stage: string, scopeOf?: ScopeOf) {
  const uses = usesOf(own, stage);
  if (uses.length === 0) return undefined;
  const what = optionOf(own, stage, "limits");
  const keys: Record<string, LimitKeys[string]> = {};
  for (const { given: all, entries, names } of uses) {
    checkForm(what, all);
    const isKeyed = entries.some(([, given]) => keyOf(given) !== undefined);
    const scope =
      isKeyed && scopeOf ? withoutSecrets(own, stage, await scopeOf(names), names) : undefined;
    for (const [name, given] of entries) {
      checkUse(what, name, given);
      const key = keyOf(given);
      const made = key?.(scope as never);
      // Without a key, the limit does not hold.
      const isOpen = key !== undefined && made === undefined;
      if (!isBudget(given)) keys[name] = key === undefined ? (given as true) : made;
      else
        keys[name] = isOpen ? undefined : { estimate: given.estimate, ...(key && { key: made! }) };
    }
  }
  try {
    return permitsFor(keys, own.limits);
  } catch (error) {
    throw new Error(`${what} cannot be: ${(error as Error).message}`, { cause: error });
  }
}

/** The same for the first stage of a run that is started with this input. */
export async function permitsAtStart(own: Bound, stage: string, input: unknown) {
  return await permitsOf(
    own,
    stage,
    async (names) => readableScope(own, stage, "limits", { input: copied(input) }, names) as never,
  );
}
