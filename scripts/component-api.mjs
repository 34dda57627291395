// Writes `src/component/_generated/component.ts` of the two components from their built functions,
// as `npx convex codegen` would if it did not need a deployment for it. With --check it writes
// nothing, and fails where a file is out of date.
import { readFile, readdir, writeFile } from "node:fs/promises";
import { format, resolveConfig } from "prettier";

const check = process.argv.includes("--check");

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

let stale = 0;
for (const name of ["workpool", "workflow"]) {
  const root = new URL(`../packages/${name}/`, import.meta.url);
  const target = new URL("src/component/_generated/component.ts", root);
  const config = await resolveConfig(target);
  const text = await format(await componentApi(new URL("dist/component/", root)), {
    ...config,
    parser: "typescript",
  });
  const before = await readFile(target, "utf8").catch(() => "");
  if (before === text) continue;
  stale++;
  if (check)
    console.error(
      `packages/${name}/src/component/_generated/component.ts is out of date: run node scripts/component-api.mjs`,
    );
  else await writeFile(target, text);
}
process.exitCode = check && stale > 0 ? 1 : 0;
