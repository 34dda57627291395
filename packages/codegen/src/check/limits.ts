import { diagnostic, type Diagnostic, quote } from "../diagnostics/diagnostic.js";
import { meant } from "../diagnostics/nearest.js";
import { stagesOf } from "../plan/flow.js";
import { isFunction, isObject } from "../plan/known.js";
import type { AppConfig, LimitName, WorkflowPlan } from "../plan/schema.js";
import { key, object, refused, sync, whole } from "./rules.js";

type Limits = NonNullable<AppConfig["limits"]>;

/** The pool looks at all of them when an action is to start. */
const mostOfAction = 8;

/**
 * Names of limits that the config does not have, and what is given for one that it does not take.
 * @param limits of the config
 */
export function checkLimitNames(
  { name, nodes, limitNames = [] }: WorkflowPlan,
  limits: AppConfig["limits"] = {},
): Diagnostic[] {
  const known = Object.keys(limits);
  const ofStages = stagesOf({ nodes }).map((each) => [each.label, each.limitNames ?? []] as const);
  const all = [[`workflow ${quote(name)}`, limitNames] as const, ...ofStages];
  return all.flatMap(([of, names]) => [
    ...tooMany(of, names, limitNames),
    ...names
      .filter((each) => known.includes(each.name))
      .flatMap((each) => misgiven(of, each, limits)),
    ...names
      .filter((each) => !known.includes(each.name))
      .map(({ name: limit, place, value }) => {
        const are =
          known.length === 0
            ? `add \`limits: { ${limit}: ${fitting(value)} }\` to stepwise.config.ts`
            : `its limits are ${known.join(", ")}`;
        const message = `${of} names the limit ${quote(limit)}, which the config does not have`;
        return diagnostic("optionValue", place, message, meant(limit, known, are));
      }),
  ]);
}

/** @param names of a stage, beside those of its workflow; or these alone */
function tooMany(of: string, names: readonly LimitName[], ofWorkflow: readonly LimitName[]) {
  const both = new Set([...ofWorkflow, ...names].map(({ name }) => name));
  const last = names.at(-1);
  if (last === undefined || both.size <= mostOfAction) return [];
  const beside = names.length < both.size ? ", with those of its workflow" : "";
  const message = `${of} names ${both.size} limits${beside}: an action may have ${mostOfAction}`;
  return [diagnostic("optionValue", last.place, message, "leave out those that let more through")];
}

/** Returns a limit that takes what is given for it. */
function fitting(given: LimitName["value"]): string {
  const budget = given !== undefined && isObject(given) ? given.fields : undefined;
  const isKeyed = budget?.has("key") ?? (given !== undefined && isFunction(given));
  if (budget === undefined) return isKeyed ? "{ perKey: 3 }" : "{ total: 5 }";
  const perKey = isKeyed ? "perKey: 3, " : "";
  return `{ ${perKey}rate: { limit: 40_000, per: "1m" }, unit: "tokens" }`;
}

const ofBudget = object({
  fields: { estimate: whole(1), key, spend: sync("({ output }) => output.used") },
  hint: "",
});

/** Returns what is wrong with what is given for a limit of the config: one thing at a time. */
function misgiven(of: string, given: LimitName, limits: Limits): Diagnostic[] {
  const { name, place, value, makesNumber = false } = given;
  const { perKey, unit } = limits[name]!;
  const keyed = perKey === undefined ? "" : "({ input }) => …";
  const spends = value !== undefined && isObject(value) && value.fields.has("spend");
  const fields = [
    "estimate: 2_000",
    ...(keyed === "" ? [] : [`key: ${keyed}`]),
    ...(spends ? ["spend: ({ output }) => …"] : []),
  ];
  const right = unit === undefined ? keyed || "true" : `{ ${fields.join(", ")} }`;
  const hint = `write \`limits: { ${name}: ${right} }\``;
  const wrong = (what: string) => [diagnostic("optionValue", place, `${of} ${what}`, hint)];
  const limit = `the limit ${quote(name)}`;
  const [budget, isKey] = [isObject(value) ? value : undefined, isFunction(value)];
  if (value !== undefined && value !== true && !isKey && budget === undefined)
    return [refused(of, { name: `limits.${name}`, given: { place, value }, hint })];
  if (budget !== undefined && unit === undefined) {
    const what = budget.fields.has("estimate") ? "an estimate" : "an object";
    return wrong(`gives ${what} for ${limit}, which has no unit`);
  }
  const [problem] = budget === undefined ? [] : ofBudget(`limits.${name}`, { place, value });
  if (problem !== undefined) return [refused(of, problem)];
  const has = (field: string) =>
    budget === undefined || budget.fields.has(field) || !budget.isWhole;
  if (unit !== undefined && value !== undefined && (budget === undefined || !has("estimate")))
    return wrong(`names ${limit} without an estimate of the ${unit} that it counts`);
  const isKeyless = value === true || !has("key");
  if (isKeyless && perKey !== undefined)
    return wrong(`names ${limit} without a key, which its perKey needs`);
  if (makesNumber) return wrong(`makes a number the key of ${limit}: a key is a text`);
  if (perKey === undefined && (isKey || budget?.fields.has("key") === true))
    return wrong(`gives a key for ${limit}, which has no perKey`);
  return [];
}
