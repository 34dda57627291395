import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";
import { textOf } from "../plan/known.js";
import { logLevels } from "../plan/log-levels.js";
import { isOutputFolder, maxPathSegment } from "../plan/paths.js";
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
  logLevel: each(
    (value) => logLevels.some((level) => level === value),
    `write one of ${logLevels.map((level) => `"${level}"`).join(", ")}`,
  ),
  retention: duration,
  retry: checkRetry,
  output: each(
    isOutputFolder,
    `write a folder under the functions folder, such as "generated/workflows": each name of letters, digits and _, ${maxPathSegment} characters at most, and none that Convex has another use for (_generated, _deps, _system, actions, node_modules)`,
  ),
};

/** Options of the app's config whose values cannot be. */
export function checkConfig({ given: options }: ConfigPlan): Diagnostic[] {
  return [...options].flatMap(([option, at]) =>
    (rules[option]?.(option, at) ?? []).map(({ name, given: { place, value }, hint }) => {
      const message = `the config has \`${name}: ${textOf(value)}\`, which cannot be`;
      return diagnostic("configValue", place, message, hint);
    }),
  );
}
