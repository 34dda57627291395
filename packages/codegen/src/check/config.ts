import { diagnostic, type Diagnostic, quote, startOf } from "../diagnostics/diagnostic.js";
import { type Given, isObject, textOf } from "../plan/known.js";
import { logLevels } from "../plan/constants.js";
import {
  configFile,
  convexConfigFiles,
  foldersAround,
  isOutputFolder,
  maxPathSegment,
  usualOutput,
} from "../plan/paths.js";
import type { ConfigPlan } from "../plan/schema.js";
import { checkRetry, duration, each, isWhole, type Problem, type Rule } from "./options.js";

/** The number of steps that the pool runs at once at most. */
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
  limits: checkLimits,
  output: each(
    isOutputFolder,
    `write a folder under the functions folder, such as "generated/workflows": each name of letters, digits and _, ${maxPathSegment} characters at most, and none that Convex has another use for (_generated, _deps, _system, actions, node_modules)`,
  ),
};

const someOf = each((value) => isWhole(value, 1), "write a whole number from 1");
const someWait = each((value) => isWhole(value, 0, 1_000), "write a whole number from 0 to 1000");

const unitOf = each(
  (value) => typeof value === "string" && value !== "",
  'write what the rate counts, such as "tokens"',
);

const rateFields: Readonly<Record<string, Rule>> = {
  limit: someOf,
  per: duration,
  burst: someOf,
  count: each((value) => value === "attempts" || value === "works", 'write "attempts" or "works"'),
};

function checkRate(name: string, given: Given): Problem[] {
  const hint = 'write a rate, such as { limit: 500, per: "1m" }';
  const fields = isObject(given.value) ? given.value.fields : new Map<string, Given>();
  if (!fields.has("limit") || !fields.has("per")) return [{ name, given, hint }];
  return [...fields].flatMap(([field, value]) => {
    const of = `${name}.${field}`;
    const rule = Object.hasOwn(rateFields, field) ? rateFields[field] : undefined;
    const fieldsAre = `its fields are ${Object.keys(rateFields).join(", ")}`;
    return rule === undefined ? [{ name: of, given: value, hint: fieldsAre }] : rule(of, value);
  });
}

const fieldsAre = "its fields are total, perKey, rate, unit and maxWaiting";

/** Checks limits as the pool does, which gets them with the first start. */
function checkLimits(name: string, given: Given): Problem[] {
  const hint =
    "write an object of limits, such as { tenant: { perKey: 3 }, exports: { total: 5 } }";
  if (!isObject(given.value)) return [{ name, given, hint }];
  return [...given.value.fields].flatMap(([limit, at]): Problem[] => {
    const own = { name: `${name}.${limit}`, given: at };
    if (!/^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(limit))
      return [{ ...own, hint: 'name it with a letter, then letters, digits and "_", 64 in all' }];
    if (limit === "maxParallelism")
      return [{ ...own, hint: "choose another name: this one stands for the whole app" }];
    const fields = isObject(at.value) ? [...at.value.fields] : [];
    if (fields.every(([field]) => field === "maxWaiting" || field === "unit"))
      return [{ ...own, hint: "give it total, perKey or rate" }];
    return fields.flatMap(([field, number]) => {
      const of = `${own.name}.${field}`;
      if (field === "total" || field === "perKey") return someOf(of, number);
      if (field === "rate") return checkRate(of, number);
      if (field === "maxWaiting") return someWait(of, number);
      if (field === "unit") return unitOf(of, number);
      return [{ name: of, given: number, hint: fieldsAre }];
    });
  });
}

/** Returns what is wrong with the values of a config, with the option that each problem is of. */
export function checkConfig({ given: options }: ConfigPlan) {
  return [...options].flatMap(([option, at]) =>
    (rules[option]?.(option, at) ?? []).map(({ name, given: { place, value }, hint }) => {
      const message = `the config has \`${name}: ${textOf(value)}\`, which cannot be`;
      return { option, problem: diagnostic("configValue", place, message, hint) };
    }),
  );
}

export function checkOutputFolder(
  output: string,
  config: ConfigPlan | undefined,
  elsewhere: readonly string[],
  read: (file: string) => string | undefined,
): Diagnostic[] {
  const place = config?.given.get("output")?.place ?? startOf(configFile);
  const around = output === usualOutput ? [] : foldersAround(output);
  const components = around.filter((folder) => read(`${folder}/convex.config.ts`) !== undefined);
  return [
    ...elsewhere.map((folder) => {
      const message = `the output folder is ${quote(output)}, but generated code stands in ${quote(folder)}: runs in flight call its functions there`;
      const hint = `keep \`output: ${quote(folder)}\`; to move it, wait until no run is in flight, delete the folder ${quote(folder)}, and generate again`;
      return diagnostic("configValue", place, message, hint);
    }),
    ...components.map((folder) => {
      const message = `the output folder ${quote(output)} is in ${quote(folder)}, which is a component: its functions are none of the app`;
      const hint =
        "choose a folder outside of components: Convex deploys what is in one as part of it";
      return diagnostic("configValue", place, message, hint);
    }),
  ];
}

export interface ConvexConfig {
  readonly file: string;
  readonly text: string | undefined;
}

/** The app's own config; undefined if there is none and Convex has generated nothing either. */
export function convexConfig(read: (file: string) => string | undefined): ConvexConfig | undefined {
  const isThere = (file: string) => read(file) !== undefined;
  const file = convexConfigFiles.find(isThere);
  const isApp = file !== undefined || ["_generated/api.d.ts", "_generated/api.ts"].some(isThere);
  return isApp ? { file: file ?? convexConfigFiles[0], text: file && read(file) } : undefined;
}

/** Reports a config that is in a place, or has a name, of which nothing is read. */
export function misplacedConfig(read: (file: string) => string | undefined): Diagnostic[] {
  const places = [`../${configFile}`, "stepwise.config.js"];
  const file = places.find((each) => read(each) !== undefined);
  if (file === undefined) return [];
  const hint = `move it to ${configFile}, in the functions folder`;
  return [diagnostic("unreadableConfig", startOf(file), "this config has no effect here", hint)];
}
