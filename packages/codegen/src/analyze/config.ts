import { type Node, ts, type TypeScript } from "../typescript.js";
import { diagnostic, type Diagnostic, type Place } from "../diagnostics/diagnostic.js";
import { nearest } from "../diagnostics/nearest.js";
import { type Given, isObject } from "../plan/known.js";
import { configFile } from "../plan/paths.js";
import type { AppConfig, ConfigPlan } from "../plan/schema.js";
import { type DefinitionFile, Parser } from "./parser.js";
import { constantOf, unwrap } from "./functions.js";
import { objectOf as objectHeld } from "./known.js";
import { isImported } from "./modules.js";
import { tooDeep, unlessTooDeep } from "./depth.js";
import { usesOf } from "./scoping.js";
import { givenOptions, optionsIn, plannedValues, writeEach } from "./options.js";
import type { Options } from "./options.js";
import { reportUnknown } from "./told-options.js";

/** In the order in which the plan has them. */
const examples: Readonly<Record<string, string>> = {
  component: '"workflow"',
  maxParallelism: "50",
  logLevel: '"INFO"',
  retention: '"30 days"',
  retry: "true",
  limits: "{ tenant: { perKey: 3 }, exports: { total: 5 } }",
  output: '"generated/workflows"',
};

const all = Object.keys(examples);

const form =
  "write `export default defineConfig({ … })`, with `defineConfig` of @stepwise/workflow";

interface ReadConfig {
  readonly config: ConfigPlan;
  /** The options that may be other ones than the config has, because something cannot be read. */
  readonly unread: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Returns what the app's config says; what cannot be read is reported. `checkConfig` checks its
 * values.
 */
export function readConfig(text: string): ReadConfig {
  const { file, errors } = new Parser().parse({ file: configFile, text });
  const config = { values: {}, given: new Map() };
  const nothing = (diagnostics: readonly Diagnostic[]) => ({ config, unread: all, diagnostics });
  if (file === undefined) return nothing(errors);
  return unlessTooDeep(() => configOf(file)) ?? nothing([tooDeep({ file: configFile, text })]);
}

function configOf(file: DefinitionFile): ReadConfig {
  const options = optionsOf(file);
  const config = { values: {}, given: new Map() };
  if (options === undefined) return { config, unread: all, diagnostics: file.takeDiagnostics() };
  reportUnknown(options, all, "the config", file, { code: "unknownConfig" });
  const given = givenOptions(
    new Map([...options].filter(([name]) => Object.hasOwn(examples, name))),
    file,
  );
  const unseen = [...given].flatMap(([option, each]) => {
    return computedIn(option, each).map((part) => ({ option, ...part }));
  });
  // A value of another type is reported by `checkConfig`, and then nothing is made of it.
  const values = plannedValues(given, all) as AppConfig;
  const others = [...options.keys()].filter((name) => !given.has(name));
  // Another name may be a slip.
  const slips = others.map((name) => nearest(name, all) ?? name);
  const unread = options.rest ? all : [...slips, ...unseen.map(({ option }) => option)];
  const computed = unseen.map(({ option, path, place }) => {
    const example = path === option ? `, as in \`${option}: ${examples[option]}\`` : "";
    const hint = `write its value out${example}: the compiler runs no code of the app`;
    const message = `the \`${path}\` of the config is computed`;
    return diagnostic("unreadableConfig", place, message, hint);
  });
  return {
    config: { values, given },
    unread,
    diagnostics: [...file.takeDiagnostics(), ...computed],
  };
}

/** What cannot be seen of an option, each part by its path. */
function computedIn(path: string, { value, place }: Given): { path: string; place: Place }[] {
  if (!isObject(value)) return value === undefined ? [{ path, place }] : [];
  const inside = [...value.fields].flatMap(([name, each]) => computedIn(`${path}.${name}`, each));
  return value.isWhole ? inside : [{ path, place }, ...inside];
}

function optionsOf(file: DefinitionFile): Options | undefined {
  const object = objectOf(file);
  if (object === undefined) return undefined;
  const options = optionsIn(object, file);
  const message = "the config holds something that is computed";
  for (const each of options.rest ?? []) file.report("unreadableConfig", each, message, writeEach);
  return options;
}

/**
 * Returns what a file exports as its default: `export default made`, or `export { made as default
 * }`.
 */
function defaultExport({ source }: DefinitionFile): Node | undefined {
  for (const each of source.statements) {
    if (ts.isExportAssignment(each) && each.isExportEquals !== true) return each.expression;
    const { exportClause: names } = ts.isExportDeclaration(each) ? each : {};
    if (names === undefined || !ts.isNamedExports(names)) continue;
    const found = names.elements.find(({ name }) => name.text === "default");
    if (found !== undefined) return found.propertyName ?? found.name;
  }
  return undefined;
}

/** The argument of `defineConfig`; undefined, and reported, if that is no default export. */
function objectOf(file: DefinitionFile): TypeScript.ObjectLiteralExpression | undefined {
  const exported = defaultExport(file);
  const given = exported && unwrap(exported);
  // One with other uses may be changed there.
  const isHeld = given && ts.isIdentifier(given) && usesOf(given.text, file.source).length === 1;
  const call = isHeld ? (constantOf(given, file) ?? given) : given;
  const isConfig =
    call && ts.isCallExpression(call) && isImported(call.expression, file.imports, "defineConfig");
  const argument = isConfig ? call.arguments[0] : undefined;
  const written = argument && unwrap(argument);
  const object = written && objectHeld(written, file);
  if (object !== undefined) return object;
  const noCall =
    exported === undefined
      ? `${configFile} has no default export`
      : `the default export of ${configFile} is no call of \`defineConfig\``;
  const at = isConfig ? (written ?? call) : (given ?? file.source.statements[0]);
  const message = isConfig ? "the config is not written out as an object" : noCall;
  return file.report("unreadableConfig", at ?? file.source, message, form);
}
