import { execFile } from "node:child_process";
import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { filesIn, fixtures, foldersIn } from "./golden.js";

const packageFolder = new URL("..", import.meta.url).pathname;
const root = join(packageFolder, "../..");
/** Inside the package, so that its imports are found. */
const scratch = join(packageFolder, "node_modules", ".types-test");

const features = (await foldersIn(fixtures)).filter((name) => name !== "errors");

/** What `npx convex codegen` writes, without its comments. */
function apiTypes(modules: readonly string[]): string {
  const name = (module: string) => module.replaceAll("/", "_");
  return `import type { ApiFromModules, FilterApi, FunctionReference } from "convex/server";
${modules.map((module) => `import type * as ${name(module)} from "../${module}.js";`).join("\n")}
declare const fullApi: ApiFromModules<{
${modules.map((module) => `  "${module}": typeof ${name(module)};`).join("\n")}
}>;
export declare const api: FilterApi<typeof fullApi, FunctionReference<any, "public">>;
export declare const internal: FilterApi<typeof fullApi, FunctionReference<any, "internal">>;
export declare const components: {
  workflow: import("@stepwise/workflow/_generated/component.js").ComponentApi<"workflow">;
};
`;
}

async function app(feature: string): Promise<void> {
  const folder = join(scratch, feature);
  await cp(join(fixtures, feature, "convex"), folder, { recursive: true });
  await cp(join(fixtures, feature, "expected"), folder, { recursive: true });
  const modules = Object.keys(await filesIn(folder))
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".workflow.ts"))
    .map((path) => path.replace(/\.ts$/, ""));
  await mkdir(join(folder, "_generated"));
  await writeFile(join(folder, "_generated/api.d.ts"), apiTypes(modules));
  await writeFile(
    join(folder, "_generated/dataModel.d.ts"),
    'export type { AnyDataModel as DataModel } from "convex/server";\n',
  );
}

test("generated files and what uses them have no type errors, and no types that depend on themselves", async () => {
  await rm(scratch, { recursive: true, force: true });
  for (const feature of features) await app(feature);
  const compilerOptions = {
    module: "esnext",
    moduleResolution: "bundler",
    types: [],
    exactOptionalPropertyTypes: false,
  };
  const config = { extends: join(root, "tsconfig.base.json"), compilerOptions, include: ["**/*"] };
  await writeFile(join(scratch, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(root, "node_modules/typescript/bin/tsc");
  const run = promisify(execFile)(process.execPath, [tsc, "-p", scratch], {
    cwd: dirname(scratch),
  });
  const output = await run.then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
  expect(output).toBe("");
}, 60_000);
