import type { z } from "zod";
import { Node } from "../ts-morph.js";
import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { nearest } from "../diagnostics/nearest.js";
import { type Given, isObject, type Known, toJson } from "../plan/known.js";
import { configFile } from "../plan/paths.js";
import type { AppConfig, ConfigPlan } from "../plan/schema.js";
import { type DefinitionFile, Parser } from "./parser.js";
import { constantOf, unwrap, type Option, readOption } from "./functions.js";
import { knownValue } from "./known.js";
import { isImported } from "./modules.js";

type Json = z.core.util.JSONType;

/** The options of `defineConfig`, each with a value it may have. */
const examples: Readonly<Record<string, string>> = {
  component: '"workflow"',
  maxParallelism: "50",
  logLevel: '"INFO"',
  retention: '"30 days"',
  retry: "true",
  output: '"generated/workflows"',
};

const form =
  "write `export default defineConfig({ … })`, with `defineConfig` of @stepwise/workflow";

/** What the app's config says; what cannot be read is reported. `checkConfig` checks its values. */
export function readConfig(text: string): {
  config: ConfigPlan;
  diagnostics: readonly Diagnostic[];
} {
  const { file, errors } = new Parser().parse({ file: configFile, text });
  if (file === undefined) return { config: { values: {}, given: new Map() }, diagnostics: errors };
  const config = configOf(file);
  return { config, diagnostics: file.takeDiagnostics() };
}

function configOf(file: DefinitionFile): ConfigPlan {
  const values: Record<string, Json> = {};
  const given = new Map<string, Given>();
  for (const { name, nameNode, value } of optionsOf(file)) {
    const known = knownValue(value, file);
    if (!isSeen(known)) {
      const message = `the \`${name}\` of the config is computed`;
      const hint = `write its value out, as in \`${name}: ${examples[name]}\`: the compiler runs no code of the app`;
      file.report("unreadableConfig", value, message, hint);
      continue;
    }
    given.set(name, { place: file.placeOf(nameNode), value: known });
    const json = toJson(known);
    if (json !== undefined) values[name] = json;
  }
  // A value of another type is reported by `checkConfig`, and then nothing is made of it.
  return { values: values as AppConfig, given };
}

function isSeen(value: Known): boolean {
  if (!isObject(value)) return value !== undefined;
  return value.isWhole && [...value.fields.values()].every((field) => isSeen(field.value));
}

/** The options that there are; others, and what is no option, are reported. */
function optionsOf(file: DefinitionFile): Option[] {
  const object = objectOf(file);
  if (!Node.isObjectLiteralExpression(object)) return [];
  return object.getProperties().flatMap((property) => {
    const option = readOption(property);
    if (option === undefined) {
      const message = "the config holds something that is computed";
      const hint =
        "write every option as `name: value`, without spread, computed names or accessors";
      file.report("unreadableConfig", property, message, hint);
      return [];
    }
    const { name, nameNode, value } = option;
    // One that is `undefined` is not there.
    const isAbsent = Node.isIdentifier(value) && value.getText() === "undefined";
    if (Object.hasOwn(examples, name)) return isAbsent ? [] : [option];
    const names = Object.keys(examples);
    const near = nearest(name, names);
    const message = `\`${name}\` is no option of the config`;
    const hint =
      near === undefined ? `its options are ${names.join(", ")}` : `did you mean \`${near}\`?`;
    file.report("unknownConfig", nameNode, message, hint);
    return [];
  });
}

/** The argument of `defineConfig`; undefined, and reported, if that is no default export. */
function objectOf(file: DefinitionFile): Node | undefined {
  const exported = file.source.getExportAssignment((each) => !each.isExportEquals());
  const given = exported && unwrap(exported.getExpression());
  const call = Node.isIdentifier(given) ? (constantOf(given, file) ?? given) : given;
  const isConfig =
    Node.isCallExpression(call) && isImported(call.getExpression(), file.imports, "defineConfig");
  if (!isConfig) {
    const message =
      exported === undefined
        ? `${configFile} has no default export`
        : `the default export of ${configFile} is no call of \`defineConfig\``;
    file.report("unreadableConfig", given ?? firstOf(file), message, form);
    return undefined;
  }
  const [argument] = call.getArguments();
  const object = argument && unwrap(argument);
  if (Node.isObjectLiteralExpression(object)) return object;
  const message = "the config is not written out as an object";
  file.report("unreadableConfig", object ?? call, message, form);
  return undefined;
}

const firstOf = ({ source }: DefinitionFile): Node => source.getStatements()[0] ?? source;
