import type { Modules } from "../modules.js";
import { CallError } from "./failure.js";
import { type FunctionPath, textOf } from "./job.js";

/** A query, mutation or action, as far as a deployment calls it. */
export interface Registered {
  readonly isQuery?: boolean;
  readonly isMutation?: boolean;
  readonly isAction?: boolean;
  invokeQuery?(args: string): Promise<string>;
  invokeMutation?(args: string): Promise<string>;
  invokeAction?(requestId: string, args: string): Promise<string>;
}

type Module = Readonly<Record<string, unknown>>;
type Loaded = ReadonlyMap<string, Module>;

/** Loading is done once for all deployments of a process. */
const loaded = new WeakMap<Modules, Promise<Loaded>>();

/** The modules of a component by their names, as they are in a function's path. */
async function load(modules: Modules): Promise<Loaded> {
  const paths = Object.keys(modules);
  const root = paths.find((path) => path.includes("_generated"))?.split("_generated", 1)[0] ?? "";
  const all = paths
    .filter((path) => path.startsWith(root) && isDeployed(path.slice(root.length)))
    .map((path) => ({ path, name: path.slice(root.length).replace(/\.[^.]+$/, "") }))
    .map(async ({ path, name }) => [name, (await modules[path]!()) as Module] as const);
  return new Map(await Promise.all(all));
}

/**
 * Returns false for files that Convex takes for no module, such as convex.config.ts, orders.test.ts,
 * #draft.ts or README.md. Some cannot even be loaded outside of Convex.
 */
function isDeployed(path: string): boolean {
  const isModule = /(?:^|\/)[^#. /][^. /]*\.[cm]?[jt]sx?$/.test(path);
  return isModule && !/^schema\.|^_generated\//.test(path);
}

/** What is deployed, by component. */
export class Functions {
  readonly #modules = new Map<string, Loaded>();

  async deploy(component: string, modules: Modules): Promise<void> {
    let all = loaded.get(modules);
    if (all === undefined) loaded.set(modules, (all = load(modules)));
    this.#modules.set(component, await all);
  }

  find(path: FunctionPath): Registered | undefined {
    const [module = "", exported = "default"] = path.name.split(":");
    const found = this.#modules.get(path.component)?.get(module)?.[exported];
    return isRegistered(found) ? found : undefined;
  }

  get(path: FunctionPath): Registered {
    const found = this.find(path);
    if (found === undefined) throw new CallError(`Could not find function for '${textOf(path)}'.`);
    return found;
  }
}

function isRegistered(value: unknown): value is Registered {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return false;
  return "isQuery" in value || "isMutation" in value || "isAction" in value;
}

/** How functions are named in system calls. */
export interface Address {
  readonly name?: string;
  readonly reference?: string;
  readonly functionHandle?: string;
}

const HANDLE = "function://";

export function handleOf({ component, name }: FunctionPath): string {
  return `${HANDLE}${component};${name}`;
}

/** The function that is meant by somebody in a component. */
export function targetOf(component: string, address: Address): FunctionPath {
  const { name, reference, functionHandle } = address;
  if (functionHandle !== undefined) {
    const [of = "", path = ""] = functionHandle.slice(HANDLE.length).split(";");
    return { component: of, name: path };
  }
  if (name !== undefined) return { component, name };
  const [, , child = "", ...rest] = (reference ?? "").split("/");
  const exported = rest.pop() ?? "default";
  return {
    component: component === "" ? child : `${component}/${child}`,
    name: `${rest.join("/")}:${exported}`,
  };
}
