import { SyntaxKind, Node } from "../ts-morph.js";
import { readConfig } from "../analyze/config.js";
import { configFile as file, outputOf, usualComponent } from "../plan/paths.js";
import { insert, parse, type Edit } from "./edit.js";

/** The name of the component that the app's config gives; undefined when it gives none that can be read. */
export function configuredName(text: string | undefined): string | undefined {
  const name = text === undefined ? undefined : readConfig(text).config.values.component;
  return typeof name === "string" ? name : undefined;
}

/** The folder that generated code stands in, by the app's config, relative to the functions folder. */
export const configuredOutput = (text: string | undefined): string =>
  outputOf(text === undefined ? undefined : readConfig(text).config.values);

/**
 * Has the app's config say under which name the component is mounted.
 *
 * @param text undefined when there is no such file yet
 * @returns undefined where there is nothing to say
 */
export function nameComponent(text: string | undefined, name: string): Edit | undefined {
  const what = `says that the component is mounted as "${name}"`;
  const option = `component: ${JSON.stringify(name)}`;
  if (text === undefined || text.trim() === "") {
    const fresh = `import { defineConfig } from "@stepwise/workflow";\n\nexport default defineConfig({ ${option} });\n`;
    return name === usualComponent ? undefined : { kind: "create", file, text: fresh, what };
  }
  const { config, diagnostics } = readConfig(text);
  const given = config.given.has("component") ? config.values.component : usualComponent;
  if (given === name)
    return name === usualComponent ? undefined : { kind: "keep", file, what: `${what} already` };
  const object = objectIn(text);
  if (diagnostics.length > 0 || object === undefined || config.given.has("component")) {
    const why = config.given.has("component")
      ? `it gives another name to the component than convex.config, which mounts it as "${name}"`
      : "it cannot be edited safely";
    return { kind: "refuse", file, what: `${why}: write \`${option}\` into it yourself` };
  }
  const rest = text.slice(object + 1);
  const [indent] = /^\s*\n[ \t]*/.exec(rest) ?? [""];
  const isEmpty = /^\s*\}/.test(rest);
  const added =
    indent === "" || isEmpty ? ` ${option}${isEmpty ? " " : ","}` : `${indent}${option},`;
  return { kind: "change", file, text: insert(text, [{ at: object + 1, text: added }]), what };
}

function objectIn(text: string): number | undefined {
  const calls = parse(text)?.getDescendantsOfKind(SyntaxKind.CallExpression) ?? [];
  for (const call of calls) {
    const [argument] = call.getArguments();
    if (
      /\bdefineConfig$/.test(call.getExpression().getText()) &&
      Node.isObjectLiteralExpression(argument)
    )
      return argument.getStart();
  }
  return undefined;
}
