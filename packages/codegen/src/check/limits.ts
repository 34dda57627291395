import { diagnostic, type Diagnostic, quote } from "../diagnostics/diagnostic.js";
import { meant } from "../diagnostics/nearest.js";
import { stagesOf } from "../plan/flow.js";
import { textOf } from "../plan/known.js";
import type { AppConfig, LimitName, WorkflowPlan } from "../plan/schema.js";
import { isWhole } from "./options.js";

type Limits = NonNullable<AppConfig["limits"]>;

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
    ...names
      .filter((each) => known.includes(each.name))
      .flatMap((each) => misgiven(of, each, limits)),
    ...names
      .filter((each) => !known.includes(each.name))
      .map(({ name: limit, place }) => {
        const are =
          known.length === 0
            ? `add \`limits: { ${limit}: { total: 5 } }\` to it`
            : `its limits are ${known.join(", ")}`;
        const message = `${of} names the limit ${quote(limit)}, which the config does not have`;
        return diagnostic("optionValue", place, message, meant(limit, known, are));
      }),
  ]);
}

/** Returns what is wrong with what is given for a limit of the config: one thing at a time. */
function misgiven(of: string, given: LimitName, limits: Limits): Diagnostic[] {
  const { name, place, gives, estimate } = given;
  const { perKey, unit } = limits[name]!;
  const key = perKey === undefined ? "" : "({ input }) => …";
  const right =
    unit === undefined ? key || "true" : `{ estimate: 2_000${key === "" ? "" : `, key: ${key}`} }`;
  const wrong = (what: string, hint = `write \`limits: { ${name}: ${right} }\``) => [
    diagnostic("optionValue", place, `${of} ${what}`, hint),
  ];
  const limit = `the limit ${quote(name)}`;
  if (unit !== undefined && ((gives ?? "budget") !== "budget" || estimate === "missing"))
    return wrong(`names ${limit} without an estimate of the ${unit} that it counts`);
  if (gives === "budget" && unit === undefined)
    return wrong(`gives an estimate for ${limit}, which has no unit`);
  if (given.isKeyless === true && perKey !== undefined)
    return wrong(`names ${limit} without a key, which its perKey needs`);
  if (gives === "number") return wrong(`makes a number the key of ${limit}: a key is a text`);
  if (given.isKeyless !== true && gives !== undefined && perKey === undefined)
    return wrong(`gives a key for ${limit}, which has no perKey`);
  if (typeof estimate !== "object" || estimate.value === undefined || isWhole(estimate.value, 1))
    return [];
  const message = `gives \`estimate: ${textOf(estimate.value)}\` for ${limit}, which cannot be`;
  const hint = "write a whole number from 1";
  return [diagnostic("optionValue", estimate.place, `${of} ${message}`, hint)];
}
