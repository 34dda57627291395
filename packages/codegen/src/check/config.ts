import { diagnostic, type Diagnostic, quote, startOf } from "../diagnostics/diagnostic.js";
import { type Given, isFunction, isObject, textOf } from "../plan/known.js";
import { durationMs, logLevels } from "../plan/constants.js";
import {
  configFile,
  convexConfigFiles,
  foldersAround,
  isOutputFolder,
  maxPathSegment,
  usualOutput,
} from "../plan/paths.js";
import type { ConfigPlan } from "../plan/schema.js";
import {
  duration,
  each,
  isWhole,
  object,
  oneOf,
  type Problem,
  record,
  retry,
  type Rule,
  ruleOf,
  type Rules,
  whole,
} from "./rules.js";

/** The number of steps that the pool runs at once at most. */
const mostParallel = 200;

/** The pool counts in ms. */
const time: Rule = (name, given) => {
  const wrong = duration(name, given);
  const isTooShort = (durationMs(given.value) ?? 1) < 1;
  return isTooShort ? [...wrong, { name, given, hint: "write a time of 1 ms or more" }] : wrong;
};

const ofRate = object({
  fields: {
    limit: whole(1),
    per: time,
    burst: whole(1),
    count: oneOf("attempts", "works"),
  },
  needed: ["limit", "per"],
  hint: 'write a rate, such as { limit: 500, per: "1m" }',
});

const limitFields: Rules = {
  total: whole(1),
  perKey: whole(1),
  rate: ofRate,
  unit: each(
    (value) => typeof value === "string" && value !== "",
    'write what the rate counts, such as "tokens"',
  ),
  maxWaiting: whole(0, 1_000),
};
const ofLimit = object({ fields: limitFields, hint: "give it total, perKey or rate" });

/** Checks a limit as the pool does, which gets it with the first start. */
function checkLimit(path: string, at: Given): Problem[] {
  const [, name = ""] = path.split(/\.(.*)/s);
  const hintOfName = /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(name)
    ? name === "maxParallelism" && "choose another name: this one stands for the whole app"
    : 'name it with a letter, then letters, digits and "_", 64 in all';
  if (hintOfName !== false) return [{ name: path, given: at, hint: hintOfName }];
  const { value } = at;
  const has = (field: string) => !isObject(value) || value.fields.has(field);
  const isLimit = ["total", "perKey", "rate"].some(has) || (isObject(value) && !value.isWhole);
  const lacks = { name: path, given: at, hint: "give it total, perKey or rate" };
  const unit = isObject(value) && value.isWhole && !has("rate") && value.fields.get("unit");
  const counts = "give it the rate that counts this, or leave the unit out";
  return [
    ...(isLimit ? [] : [lacks]),
    ...(unit ? [{ name: `${path}.unit`, given: unit, hint: counts }] : []),
    ...ofLimit(path, at),
  ];
}

/** The pool reads all of them together. */
const mostLimits = 100;

const eachLimit = record(
  checkLimit,
  "write an object of limits, such as { tenant: { perKey: 3 }, exports: { total: 5 } }",
);

const checkLimits: Rule = (name, given) => {
  const { value } = given;
  const count = value !== undefined && isObject(value) ? value.fields.size : 0;
  const hint = `these are ${count}: an app may have ${mostLimits}`;
  return count > mostLimits ? [{ name, given, hint }] : eachLimit(name, given);
};

/** Its text is all that counts of a config, and a function would need the file around it. */
function whenOf(name: string, { value }: Given): Problem[] {
  const when = isObject(value) ? value.fields.get("when") : undefined;
  if (when === undefined || !isFunction(when.value)) return [];
  const hint = "give `when` to the `retry` of the workflow or the action: no code of a config runs";
  return [{ name: `${name}.when`, given: when, hint }];
}

const rules: Rules = {
  component: each(
    (value) => typeof value === "string" && /^[A-Za-z][A-Za-z0-9_]*$/.test(value),
    'write the name under which convex.config.ts mounts the component, such as "workflow"',
  ),
  maxParallelism: each(
    (value) => isWhole(value, 0, mostParallel),
    `write a whole number from 0 (paused) to ${mostParallel}`,
  ),
  logLevel: oneOf(...logLevels),
  retention: duration,
  retry: (name, given) => [...retry(name, given), ...whenOf(name, given)],
  limits: checkLimits,
  output: each(
    isOutputFolder,
    `write a folder under the functions folder, such as "generated/workflows": each name of letters, digits and _, ${maxPathSegment} characters at most, and none that Convex has another use for (_generated, _deps, _system, actions, node_modules)`,
  ),
};

/** Returns what is wrong with the values of a config, with the option that each problem is of. */
export function checkConfig({ given: options }: ConfigPlan) {
  return [...options].flatMap(([option, at]) =>
    (ruleOf(rules, option)?.(option, at) ?? []).map(({ name, given: { place, value }, hint }) => {
      const message = `the config has \`${name}: ${textOf(value)}\`, which cannot be`;
      return { option, problem: diagnostic("configValue", place, message, hint) };
    }),
  );
}

/** Returns the limits that say more of each key than their total lets one have. */
export function checkConfigEffects({ given: options }: ConfigPlan): Diagnostic[] {
  const limits = options.get("limits")?.value;
  if (limits === undefined || !isObject(limits)) return [];
  return [...limits.fields].flatMap(([name, { value }]) => {
    const fields = isObject(value) ? value.fields : undefined;
    const [total, perKey] = [fields?.get("total")?.value, fields?.get("perKey")];
    if (typeof total !== "number" || typeof perKey?.value !== "number" || perKey.value <= total)
      return [];
    const message = `\`limits.${name}.perKey: ${perKey.value}\` has no effect: its total is ${total}`;
    const hint = `write a perKey below ${total}, or raise the total`;
    return [diagnostic("noEffect", perKey.place, message, hint)];
  });
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
