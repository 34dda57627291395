import { diagnostic, type Diagnostic, quote } from "../diagnostics/diagnostic.js";
import { meant } from "../diagnostics/nearest.js";
import { stagesOf } from "../plan/flow.js";
import type { AppConfig, WorkflowPlan } from "../plan/schema.js";

/**
 * Names of limits that the config does not have, or that need a key.
 * @param limits of the config
 */
export function checkLimitNames(
  { name, nodes, limitNames = [] }: WorkflowPlan,
  limits: AppConfig["limits"] = {},
): Diagnostic[] {
  const known = Object.keys(limits);
  const needsKey = (limit: string) =>
    Object.hasOwn(limits, limit) && limits[limit]!.perKey !== undefined;
  const ofStages = stagesOf({ nodes }).map((each) => [each.label, each.limitNames ?? []] as const);
  const all = [[`workflow ${quote(name)}`, limitNames] as const, ...ofStages];
  return all.flatMap(([of, names]) => [
    ...names
      .filter((each) => each.isKeyless === true && needsKey(each.name))
      .map(({ name: limit, place }) => {
        const message = `${of} names the limit ${quote(limit)} without a key, which its perKey needs`;
        const hint = `write \`limits: { ${limit}: ({ input }) => … }\``;
        return diagnostic("optionValue", place, message, hint);
      }),
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
