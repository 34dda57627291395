// Writes `src/component/_generated/component.ts` of the two components from their built functions,
// as `npx convex codegen` would if it did not need a deployment for it. Takes --check.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { format, resolveConfig } from "prettier";
import { keep, root } from "./committed.mjs";

/** A validator's exported JSON as a TypeScript type. */
function typeOf(validator) {
  switch (validator.type) {
    case "null":
    case "boolean":
    case "string":
    case "number":
    case "any":
      return validator.type;
    case "bigint":
      return "bigint";
    case "bytes":
      return "ArrayBuffer";
    case "id":
      return "string";
    case "literal":
      return JSON.stringify(validator.value);
    case "array":
      return `Array<${typeOf(validator.value)}>`;
    case "record":
      return `Record<${typeOf(validator.keys)}, ${typeOf(validator.values.fieldType)}>`;
    case "union":
      return validator.value.map(typeOf).join(" | ");
    case "object":
      return `{ ${Object.entries(validator.value)
        .map(([name, field]) => `${name}${field.optional ? "?" : ""}: ${typeOf(field.fieldType)}`)
        .join("; ")} }`;
    default:
      throw new Error(
        `A component function has a validator of an unknown type: ${JSON.stringify(validator)}`,
      );
  }
}

const header = `/* eslint-disable */
/**
 * Generated \`ComponentApi\` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run \`node scripts/component-api.mjs\`.
 * @module
 */
import type { FunctionReference } from "convex/server";

/**
 * A utility for referencing a Convex component's exposed API.
 *
 * Useful when expecting a parameter like \`components.myComponent\`.
 */
export type ComponentApi<Name extends string | undefined = string | undefined> = {`;

async function componentApi(folder) {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".js")).sort();
  const modules = [];
  for (const file of files) {
    const exported = await import(new URL(file, folder).href);
    const functions = Object.entries(exported)
      .filter(([, value]) => value?.isPublic === true)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, fn]) => {
        const type = fn.isQuery ? "query" : fn.isMutation ? "mutation" : "action";
        const args = typeOf(JSON.parse(fn.exportArgs()));
        return `${name}: FunctionReference<"${type}", "internal", ${args}, ${typeOf(JSON.parse(fn.exportReturns()))}, Name>`;
      });
    if (functions.length > 0)
      modules.push(`${file.replace(/\.js$/, "")}: { ${functions.join("; ")} }`);
  }
  return `${header} ${modules.join("; ")} };\n`;
}

for (const name of ["workpool", "workflow"]) {
  const target = `packages/${name}/src/component/_generated/component.ts`;
  const config = await resolveConfig(join(root, target));
  const built = pathToFileURL(join(root, `packages/${name}/dist/component/`));
  keep(target, await format(await componentApi(built), { ...config, parser: "typescript" }));
}
