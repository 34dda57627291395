import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { GenericSchema, SchemaDefinition } from "convex/server";
import { mkdtemp } from "../../scripts/folders.mjs";
import type { PushedModule } from "./deploy-listener.js";

type Schema = SchemaDefinition<GenericSchema, boolean>;

/** Pushed modules, written out so that they can be loaded. */
export interface WrittenModules {
  readonly schema: Schema;
  /** As convex-test takes them. */
  readonly modules: Record<string, () => Promise<unknown>>;
}

const root = fileURLToPath(new URL("../node_modules/.cache/stepwise-test", import.meta.url));

/** A folder for \`writeModules\`; to be removed by who asked for it. */
export async function modulesFolder(): Promise<string> {
  await mkdir(root, { recursive: true });
  const folder = await mkdtemp(join(root, "deployed-"));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  return folder;
}

export async function writeModules(
  folder: string,
  pushed: readonly PushedModule[],
  schema: PushedModule | null,
): Promise<WrittenModules> {
  const urlOf = async ({ path, source }: PushedModule): Promise<string> => {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, source);
    return pathToFileURL(file).href;
  };
  const modules: WrittenModules["modules"] = { "./_generated/api.js": async () => ({}) };
  for (const module of pushed) {
    const url = await urlOf(module);
    modules[`./${module.path}`] = () => import(url) as Promise<unknown>;
  }
  if (schema === null) throw new Error("No schema was pushed.");
  const loaded = (await import(await urlOf(schema))) as { default: Schema };
  return { schema: loaded.default, modules };
}

/** A function as a deployment analyses it. */
export interface PushedFunction {
  readonly name: string;
  readonly type: "query" | "mutation" | "action";
  readonly visibility: "public" | "internal";
  readonly args: { readonly type: string };
  readonly returns: { readonly type: string } | null;
}

interface Registered {
  readonly isQuery?: boolean;
  readonly isMutation?: boolean;
  readonly isAction?: boolean;
  readonly isPublic?: boolean;
  exportArgs(): string;
  exportReturns(): string;
}

export async function functionsOf({ modules }: WrittenModules): Promise<PushedFunction[]> {
  const found: PushedFunction[] = [];
  for (const [path, load] of Object.entries(modules)) {
    // Shared chunks hold functions under other names; a deployment does not look there.
    if (path.startsWith("./_deps/")) continue;
    const module = (await load()) as Record<string, Partial<Registered> | undefined>;
    for (const [name, value] of Object.entries(module)) {
      if (!isRegistered(value)) continue;
      found.push({
        name: `${path.slice(2, -".js".length)}:${name}`,
        type: value.isQuery ? "query" : value.isMutation ? "mutation" : "action",
        visibility: value.isPublic ? "public" : "internal",
        args: JSON.parse(value.exportArgs()),
        returns: JSON.parse(value.exportReturns()),
      });
    }
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function isRegistered(value: Partial<Registered> | undefined): value is Registered {
  return typeof value?.exportArgs === "function";
}
