import { readText } from "../discover/discover.js";
import type { Edit } from "./app-files.js";

/* What `convex dev` writes, for the time before its first run: it replaces all of these files. */

const header = (what: string): string => `/* eslint-disable */
/**
 * ${what}
 *
 * A first version, by \`workflow-codegen init\`. \`npx convex dev\` replaces it.
 * @module
 */

`;

const api = `import { anyApi, componentsGeneric } from "convex/server";

export const api = anyApi;
export const internal = anyApi;

export const components = componentsGeneric();
`;

const apiTypes = (
  component: string,
): string => `// The types of your functions come with \`npx convex dev\`.
export declare const api: any;
export declare const internal: any;

export declare const components: {
  ${component}: import("@stepwise/workflow/_generated/component.js").ComponentApi<"${component}">;
  [name: string]: any;
};
`;

const kinds = ["query", "mutation", "action"].flatMap((kind) => [
  { name: kind, kind, visibility: "public" },
  { name: `internal${capital(kind)}`, kind, visibility: "internal" },
]);

const server = `import {
${kinds.map(({ name }) => `  ${name}Generic,\n`).join("")}  httpActionGeneric,
} from "convex/server";

${kinds.map(({ name }) => `export const ${name} = ${name}Generic;\n`).join("")}export const httpAction = httpActionGeneric;

export const env = process.env;
`;

const serverTypes = `import type {
  ActionBuilder,
  GenericActionCtx,
  GenericDatabaseReader,
  GenericDatabaseWriter,
  GenericMutationCtx,
  GenericQueryCtx,
  HttpActionBuilder,
  MutationBuilder,
  QueryBuilder,
} from "convex/server";
import type { DataModel } from "./dataModel.js";

${kinds
  .map(
    ({ name, kind, visibility }) =>
      `export declare const ${name}: ${capital(kind)}Builder<DataModel, "${visibility}">;\n`,
  )
  .join("")}export declare const httpAction: HttpActionBuilder;

export declare const env: Readonly<Record<string, string | undefined>>;

export type QueryCtx = GenericQueryCtx<DataModel>;
export type MutationCtx = GenericMutationCtx<DataModel>;
export type ActionCtx = GenericActionCtx<DataModel>;
export type DatabaseReader = GenericDatabaseReader<DataModel>;
export type DatabaseWriter = GenericDatabaseWriter<DataModel>;
`;

const modelWithoutSchema = `import type { AnyDataModel } from "convex/server";
import type { GenericId } from "convex/values";

export type TableNames = string;
export type Doc = any;
export type Id<TableName extends TableNames = TableNames> = GenericId<TableName>;
export type DataModel = AnyDataModel;
`;

const modelOfSchema = `import type {
  DataModelFromSchemaDefinition,
  DocumentByName,
  SystemTableNames,
  TableNamesInDataModel,
} from "convex/server";
import type { GenericId } from "convex/values";
import schema from "../schema.js";

export type TableNames = TableNamesInDataModel<DataModel>;
export type Doc<TableName extends TableNames> = DocumentByName<DataModel, TableName>;
export type Id<TableName extends TableNames | SystemTableNames> = GenericId<TableName>;
export type DataModel = DataModelFromSchemaDefinition<typeof schema>;
`;

const modelTypes = (hasSchema: boolean): string =>
  header("Generated data model types.") + (hasSchema ? modelOfSchema : modelWithoutSchema);

const tsconfig = {
  compilerOptions: {
    allowJs: true,
    strict: true,
    moduleResolution: "Bundler",
    jsx: "react-jsx",
    skipLibCheck: true,
    allowSyntheticDefaultImports: true,
    target: "ESNext",
    lib: ["ES2023", "dom"],
    forceConsistentCasingInFileNames: true,
    module: "ESNext",
    isolatedModules: true,
    noEmit: true,
  },
  include: ["./**/*"],
  exclude: ["./_generated"],
};

/**
 * Returns what an app lacks until `convex dev` has run: types of its tables, too, if its schema came
 * later. @param component the name it is mounted
 * under
 */
export function firstGenerated(
  functionsDir: string,
  component: string,
  isThere: (file: string) => boolean,
): Edit[] {
  const folder = "_generated";
  const read = (file: string) => readText(`${functionsDir}/${file}`);
  const hasSchema = read("schema.ts") !== undefined;
  const model = `${folder}/dataModel.d.ts`;
  if (hasSchema && read(model) === modelTypes(false))
    return [
      {
        kind: "change",
        file: model,
        text: modelTypes(true),
        what: "types the tables of schema.ts",
      },
    ];
  if (isThere(folder)) return [{ kind: "keep", file: folder, what: "is there already" }];
  const files = {
    "api.js": header("Generated `api` utility.") + api,
    "api.d.ts": header("Generated `api` utility.") + apiTypes(component),
    "server.js": header("Generated utilities for functions.") + server,
    "server.d.ts": header("Generated utilities for functions.") + serverTypes,
    "dataModel.d.ts": modelTypes(hasSchema),
  };
  const what = "a first version, which npx convex dev replaces";
  const edits: Edit[] = [{ kind: "create", file: folder, files, what }];
  if (!isThere("tsconfig.json") && !isThere("../tsconfig.json"))
    edits.push({
      kind: "create",
      file: "tsconfig.json",
      text: `${JSON.stringify(tsconfig, undefined, 2)}\n`,
      what: "the settings for TypeScript that npx convex dev would write",
    });
  return edits;
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
