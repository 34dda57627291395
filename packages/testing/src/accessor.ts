import { execute, type FunctionCtx, type Recording } from "./execute.js";
import type { FunctionType } from "./call.js";
import { type Modules, wrapModules } from "./modules.js";

type InlineFunction = (ctx: FunctionCtx) => unknown;
type Method = (...args: unknown[]) => unknown;

/**
 * The object `t` of convex-test, with inline functions counted as calls, and with components'
 * modules wrapped as they are registered.
 *
 * `t.run` is a test's window into the database: it is not counted, what it calls is.
 */
export function wrapAccessor<T extends object>(recording: Recording, t: T): T {
  const methods = t as Record<string, Method>;
  const inline = (name: string, type: FunctionType, counted: boolean, component = "") => {
    const what = { component, name, type, counted };
    return (body: InlineFunction) => (ctx: FunctionCtx) =>
      execute(recording, what, ctx, {}, (watched) => body(watched));
  };
  const given = (type: FunctionType): Method => {
    const wrap = inline("inline", type, true);
    return (target, ...rest) => {
      const wrapped = typeof target === "function" ? wrap(target as InlineFunction) : target;
      return methods[type]!(wrapped, ...rest);
    };
  };
  const again = (method: string): Method => {
    return (...args) => wrapAccessor(recording, methods[method]!(...args) as object);
  };
  const replaced: Record<string, Method> = {
    query: given("query"),
    mutation: given("mutation"),
    action: given("action"),
    run: (body) => methods["run"]!(inline("run", "mutation", false)(body as InlineFunction)),
    runInComponent: (path, body) =>
      methods["runInComponent"]!(
        path,
        inline("run", "mutation", false, path as string)(body as InlineFunction),
      ),
    withIdentity: again("withIdentity"),
    withRequestMetadata: again("withRequestMetadata"),
    registerComponent: (path, schema, modules) =>
      methods["registerComponent"]!(
        path,
        schema,
        wrapModules(recording, path as string, modules as Modules),
      ),
  };
  const present = Object.entries(replaced).filter(([name]) => name in t);
  return { ...t, ...Object.fromEntries(present) };
}
