import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";
import { textOf } from "../plan/known.js";
import type { ConfigPlan } from "../plan/schema.js";
import { checkRetry, duration, each, isWhole, type Rule } from "./options.js";

/** As many steps as the pool runs at once at most. */
const mostParallel = 200;

const rules: Readonly<Record<string, Rule>> = {
  component: each(
    (value) => typeof value === "string" && /^[A-Za-z][A-Za-z0-9_]*$/.test(value),
    'write the name under which convex.config.ts mounts the component, such as "workflow"',
  ),
  maxParallelism: each(
    (value) => isWhole(value, 0, mostParallel),
    `write a whole number from 0 (paused) to ${mostParallel}`,
  ),
  retention: duration,
  retry: checkRetry,
};

/** Options of the app's config whose values cannot be. */
export function checkConfig({ given: options }: ConfigPlan): Diagnostic[] {
  return [...options].flatMap(([option, at]) =>
    (rules[option]?.(option, at) ?? []).map(({ name, given: { place, value }, hint }) => {
      const message = `the config has \`${name}: ${textOf(value)}\`, which cannot be`;
      return diagnostic("configValue", place, message, { hint });
    }),
  );
}
