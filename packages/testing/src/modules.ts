import { AsyncLocalStorage } from "node:async_hooks";
import { execute, type FunctionCtx, type Recording } from "./execute.js";
import type { FunctionType } from "./call.js";

/** What `convexTest()` and `t.registerComponent()` take: from a file's path to its module. */
export type Modules = Record<string, () => Promise<unknown>>;

interface RegisteredFunction {
  readonly isQuery?: boolean;
  readonly isMutation?: boolean;
  readonly isAction?: boolean;
  readonly exportArgs: () => string;
  readonly exportReturns: () => string;
  readonly _handler: (ctx: FunctionCtx, args: unknown) => unknown;
}

/** The same modules, with each query, mutation and action counted under `component`. */
export function wrapModules(recording: Recording, component: string, modules: Modules): Modules {
  const root = rootOf(Object.keys(modules));
  // A nested call may be the first to need a module. In the context of its caller convex-test
  // refuses timers, which a loader may use: graceful-fs clears one whenever a file is closed.
  const outside = AsyncLocalStorage.snapshot();
  return Object.fromEntries(
    Object.entries(modules).map(([path, load]) => {
      const file = path.slice(root.length).replace(/\.[^.]+$/, "");
      let last: { module: unknown; wrapped: unknown } | undefined;
      // Asked for each time: another version of the module may have been deployed.
      const loadWrapped = async () => {
        const module = await loading(recording, () => outside(load));
        if (last === undefined || last.module !== module)
          last = { module, wrapped: wrapModule(recording, component, file, module) };
        return last.wrapped;
      };
      return [path, loadWrapped];
    }),
  );
}

/** The functions folder, found as convex-test finds it: beside `_generated`. */
function rootOf(paths: string[]): string {
  return paths.find((path) => path.includes("_generated"))?.split("_generated", 1)[0] ?? "";
}

/** Loading takes real time, so the driver of virtual time must see that something is under way. */
async function loading(recording: Recording, load: () => Promise<unknown>): Promise<unknown> {
  recording.started();
  try {
    return await load();
  } finally {
    recording.finished();
  }
}

function wrapModule(
  recording: Recording,
  component: string,
  file: string,
  module: unknown,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(module as object).map(([name, value]: [string, unknown]) => {
      const type = typeOf(value);
      if (type === undefined) return [name, value];
      return [name, wrapFunction(recording, component, `${file}:${name}`, type, value)];
    }),
  );
}

function typeOf(value: unknown): FunctionType | undefined {
  if (value === null || (typeof value !== "object" && typeof value !== "function"))
    return undefined;
  if (!("_handler" in value)) return undefined;
  const { isQuery, isMutation, isAction } = value as RegisteredFunction;
  return isQuery ? "query" : isMutation ? "mutation" : isAction ? "action" : undefined;
}

function wrapFunction(
  recording: Recording,
  component: string,
  name: string,
  type: FunctionType,
  value: unknown,
): RegisteredFunction {
  const registered = value as RegisteredFunction;
  const what = { component, name, type, counted: true };
  // Everything but the handler (validators, visibility) is inherited.
  return Object.create(registered, {
    // The same validators: convex-test asks for them at every call, and Convex serialises them
    // every time.
    exportArgs: { value: once(() => registered.exportArgs()) },
    exportReturns: { value: once(() => registered.exportReturns()) },
    _handler: {
      value: (ctx: FunctionCtx, args: unknown) =>
        execute(recording, what, ctx, args, (watched) => registered._handler(watched, args)),
    },
  }) as RegisteredFunction;
}

function once(make: () => string): () => string {
  let made: string | undefined;
  return () => (made ??= make());
}
