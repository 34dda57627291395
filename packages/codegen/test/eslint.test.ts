/** @module-tag large */
import { cp, mkdir, readdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { beforeAll, expect, test } from "vitest";
import { rm } from "../../../scripts/folders.mjs";
import { fixtures, foldersIn } from "./golden.js";
import { scratchFolder, writeGeneratedTypes, writeTsconfig } from "./type-check.js";

/*
 * Generated files stand in the middle of an app, whose linter goes over them as over all the rest.
 * The linter is that of `examples/order`, which has the TypeScript 6 besides that ESLint's parser
 * needs.
 */

const examples = fileURLToPath(new URL("../../../examples/", import.meta.url));
const order = join(examples, "order");
const resolve = createRequire(join(order, "package.json"));

/** As much of ESLint, and of what configures it, as is used here. */
interface Config {
  readonly plugins?: Readonly<
    Record<string, { readonly rules: Readonly<Record<string, unknown>> }>
  >;
}
interface Linter {
  lintFiles(patterns: readonly string[]): Promise<
    readonly {
      readonly filePath: string;
      readonly messages: readonly {
        readonly ruleId: string | null;
        readonly line: number;
        readonly message: string;
      }[];
    }[]
  >;
}
type LinterClass = new (options: {
  readonly cwd: string;
  readonly overrideConfigFile: true;
  readonly overrideConfig: readonly unknown[];
}) => Linter;

/**
 * The rules of the example, all other rules that Convex has, and the strictest of typescript-eslint
 * except those that ask for types, which take three times as long as all the rest.
 */
async function strictest(tsconfig: string): Promise<unknown[]> {
  const config = pathToFileURL(join(order, "eslint.config.js")).href;
  const { default: own } = (await import(config)) as { default: readonly Config[] };
  const { configs } = resolve("typescript-eslint") as {
    configs: Readonly<Record<string, readonly unknown[]>>;
  };
  const convex = own.map(({ plugins }) => plugins?.["@convex-dev"]).find((each) => each);
  const rules = Object.keys(convex?.rules ?? {}).map((rule) => `@convex-dev/${rule}`);
  expect(rules.length).toBeGreaterThan(8);
  return [
    ...own,
    ...(configs["strict"] ?? []),
    ...(configs["stylistic"] ?? []),
    {
      files: ["**/*.ts"],
      languageOptions: { parserOptions: { projectService: false, project: [tsconfig] } },
      rules: Object.fromEntries(rules.map((rule) => [rule, "error"])),
    },
  ];
}

/** What no generated file may be, for the linter to find. */
const bad = `import { internalMutation, internalQuery } from "./_generated/server";
export const bare = internalMutation(async (ctx) => {
  await ctx.db.insert("jobs", { at: process.env.AT });
});
export const whole = internalQuery({
  handler: async (ctx, { id }) => {
    const all = await ctx.db.query("jobs").filter((q) => q.eq(q.field("at"), 1)).collect();
    const one = await ctx.db.get(id as import("convex/values").GenericId<"jobs">);
    return one!;
  },
});
`;
const server = `import type { AnyDataModel, MutationBuilder, QueryBuilder } from "convex/server";
export declare const internalMutation: MutationBuilder<AnyDataModel, "internal">;
export declare const internalQuery: QueryBuilder<AnyDataModel, "internal">;
`;

/** What is found in each file, by its path. */
const found = new Map<string, string[]>();

beforeAll(async () => {
  const scratch = scratchFolder("eslint");
  await rm(scratch, { recursive: true, force: true });
  // Convex's rules tell an app by the package that it is in.
  const appIn = async (name: string, ...from: readonly string[]) => {
    const functionsDir = join(scratch, name, "convex");
    for (const folder of from) await cp(folder, functionsDir, { recursive: true });
    await mkdir(functionsDir, { recursive: true });
    await writeFile(join(scratch, name, "package.json"), '{ "type": "module" }');
    return functionsDir;
  };
  for (const feature of (await foldersIn(fixtures)).filter((name) => name !== "errors")) {
    const folder = join(fixtures, feature);
    await writeGeneratedTypes(
      await appIn(feature, join(folder, "convex"), join(folder, "expected")),
    );
  }
  for (const app of await readdir(examples))
    await appIn(`examples-${app}`, join(examples, app, "convex"));
  const functionsDir = await appIn("bad");
  await mkdir(join(functionsDir, "_generated"));
  await writeFile(join(functionsDir, "bad.ts"), bad);
  await writeFile(join(functionsDir, "_generated/server.d.ts"), server);
  const tsconfig = await writeTsconfig(scratch);
  const { ESLint } = resolve("eslint") as { ESLint: LinterClass };
  const overrideConfig = await strictest(tsconfig);
  const eslint = new ESLint({ cwd: scratch, overrideConfigFile: true, overrideConfig });
  const results = await eslint.lintFiles([
    "*/convex/_workflows/*.ts",
    "*/convex/generated/workflows/*.ts",
    "bad/convex/*.ts",
  ]);
  for (const { filePath, messages } of results)
    found.set(
      relative(scratch, filePath),
      messages.map(({ ruleId, line, message }) => `${ruleId ?? ""} ${line} ${message}`),
    );
});

test("generated files pass all rules of Convex for ESLint, and the strictest of typescript-eslint", () => {
  const generated = [...found].filter(([path]) => path !== "bad/convex/bad.ts");
  expect(generated.length).toBeGreaterThan(100);
  for (const app of ["examples-documents", "examples-order", "examples-agent"])
    expect(generated.some(([path]) => path.startsWith(`${app}/`))).toBe(true);
  expect(generated.filter(([, messages]) => messages.length > 0)).toEqual([]);
});

test("the linter finds what is wrong in a file that was not generated, by the rules that ask for types too", () => {
  const rules = found.get("bad/convex/bad.ts")?.map((message) => message.split(" ")[0]);
  expect(rules).toEqual(
    expect.arrayContaining([
      "@convex-dev/no-old-registered-function-syntax",
      "@convex-dev/no-process-env",
      "@convex-dev/require-args-validator",
      "@convex-dev/explicit-table-ids",
      "@convex-dev/no-filter-in-query",
      "@convex-dev/no-collect-in-query",
      "@typescript-eslint/no-unused-vars",
      "@typescript-eslint/no-non-null-assertion",
    ]),
  );
});
