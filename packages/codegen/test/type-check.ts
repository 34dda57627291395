import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { filesIn } from "./golden.js";

const packageFolder = new URL("..", import.meta.url).pathname;
const root = join(packageFolder, "../..");

/**
 * A folder for apps whose types are checked: inside the package, so that their imports are found.
 */
export const scratchFolder = (name: string): string =>
  join(packageFolder, "node_modules", ".cache", `stepwise-types-${name}`);

/** The components that an app may mount, by name, with the packages that they are of. */
const usualComponents = { workflow: "@stepwise/workflow", flows: "@stepwise/workflow" };

/** Gives an app what `npx convex codegen` writes, without its comments. */
export async function writeGeneratedTypes(
  functionsDir: string,
  components: Readonly<Record<string, string>> = usualComponents,
): Promise<void> {
  const modules = Object.keys(await filesIn(functionsDir))
    .filter((path) => /^[^.]+\.ts$/.test(path))
    .map((path) => path.replace(/\.ts$/, ""));
  await mkdir(join(functionsDir, "_generated"));
  await writeFile(join(functionsDir, "_generated/api.d.ts"), apiTypes(modules, components));
  await writeFile(
    join(functionsDir, "_generated/dataModel.d.ts"),
    'export type { AnyDataModel as DataModel } from "convex/server";\n',
  );
}

function apiTypes(
  modules: readonly string[],
  components: Readonly<Record<string, string>>,
): string {
  const name = (module: string) => module.replaceAll("/", "_");
  return `import type { ApiFromModules, FilterApi, FunctionReference } from "convex/server";
${modules.map((module) => `import type * as ${name(module)} from "../${module}.js";`).join("\n")}
declare const fullApi: ApiFromModules<{
${modules.map((module) => `  "${module}": typeof ${name(module)};`).join("\n")}
}>;
export declare const api: FilterApi<typeof fullApi, FunctionReference<any, "public">>;
export declare const internal: FilterApi<typeof fullApi, FunctionReference<any, "internal">>;
export declare const components: {
${Object.entries(components)
  .map(
    ([name, of]) => `  ${name}: import("${of}/_generated/component.js").ComponentApi<"${name}">;`,
  )
  .join("\n")}
};
`;
}

/**
 * Writes the settings by which all apps in a folder are one program, and gives their path.
 *
 * @param compilerOptions beyond those of `tsconfig.base.json`
 * @param include files and folders in it. Default: all
 */
export async function writeTsconfig(
  folder: string,
  compilerOptions: Readonly<Record<string, unknown>> = {},
  include: readonly string[] = ["**/*"],
): Promise<string> {
  const config = {
    extends: join(root, "tsconfig.base.json"),
    compilerOptions: {
      module: "esnext",
      moduleResolution: "bundler",
      types: [],
      exactOptionalPropertyTypes: false,
      allowJs: true,
      jsx: "preserve",
      ...compilerOptions,
    },
    include,
  };
  const path = join(folder, "tsconfig.json");
  await writeFile(path, JSON.stringify(config));
  return path;
}

/**
 * One error of a type check: the first line of it, and the file it is in, relative to the folder
 * that was checked.
 */
export interface TypeError {
  readonly file: string;
  readonly message: string;
}

/** The versions of TypeScript that this repository has. */
export const compilers = {
  "5.9": "scripts/typescript-5.9/node_modules/typescript",
  "6": "examples/order/node_modules/typescript",
  "7": "node_modules/typescript",
};

/**
 * Checks the types of all apps in a folder at once, as strictly as this repository does.
 *
 * @param compilerOptions beyond those of `tsconfig.base.json`
 * @param include files and folders in it. Default: all
 * @param version of TypeScript. Default: the newest
 */
export async function typeErrors(
  folder: string,
  compilerOptions?: Readonly<Record<string, unknown>>,
  include?: readonly string[],
  version: keyof typeof compilers = "7",
): Promise<TypeError[]> {
  await writeTsconfig(folder, compilerOptions, include);
  const tsc = join(root, compilers[version], "bin/tsc");
  // What checks at once makes the types that it shares more than once; tests run beside it.
  const threads = version === "7" ? ["--singleThreaded"] : [];
  const args = [tsc, "-p", folder, "--pretty", "false", ...threads];
  const run = promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 1 << 30 });
  const output = await run.then(
    () => "",
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  );
  // What follows a message on lines of its own begins with white space.
  return output.split("\n").flatMap((line): TypeError[] => {
    if (line === "" || line.startsWith(" ")) return [];
    const [, file, message] = /^(.*?)(\(\d+,\d+\): error .*)$/.exec(line) ?? ["", "", line];
    return [{ file: file ?? "", message: message ?? line }];
  });
}
