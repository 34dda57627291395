import type { GenericSchema, SchemaDefinition } from "convex/server";
import schema from "./component/schema.js";

/** The component's modules, listed by hand: only Vite knows `import.meta.glob`. */
export const modules: Record<string, () => Promise<unknown>> = {
  "./component/_generated/api.js": () => import("./component/_generated/api.js"),
  "./component/cancelAll.js": () => import("./component/cancelAll.js"),
  "./component/complete.js": () => import("./component/complete.js"),
  "./component/config.js": () => import("./component/config.js"),
  "./component/executor.js": () => import("./component/executor.js"),
  "./component/lib.js": () => import("./component/lib.js"),
  "./component/limits.js": () => import("./component/limits.js"),
  "./component/recovery.js": () => import("./component/recovery.js"),
  "./component/reports.js": () => import("./component/reports.js"),
  "./component/setAside.js": () => import("./component/setAside.js"),
  "./component/settling.js": () => import("./component/settling.js"),
  "./component/views.js": () => import("./component/views.js"),
  "./component/watchdog.js": () => import("./component/watchdog.js"),
  "./component/worker.js": () => import("./component/worker.js"),
};

/** The part of convex-test's `t` that is used. A counter's `t` fits as well. */
interface ComponentRegistry {
  registerComponent(
    path: string,
    schema: SchemaDefinition<GenericSchema, boolean>,
    modules: Record<string, () => Promise<unknown>>,
  ): void;
}

/**
 * Registers the pool with convex-test, in vitest as in plain Node.
 *
 * @param t what `convexTest()` gave.
 * @param name under which the app mounts it; of a nested one, `parent/name`. Default: "workpool".
 * @example
 * const t = convexTest({ schema, modules });
 * register(t);
 */
export function register(t: ComponentRegistry, name = "workpool"): void {
  t.registerComponent(name, schema, modules);
}

export { schema };

/** The form that Convex's own components have, for helpers that take a component as a whole. */
export default { register, schema, modules };
