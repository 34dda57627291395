import type { convexTest } from "convex-test";
import schema from "./component/schema.js";

export { schema };

/** The component's modules by path, for `convexTest().registerComponent`; by hand, because only Vite knows `import.meta.glob`. */
export const modules: Record<string, () => Promise<unknown>> = {
  "./component/_generated/api.js": () => import("./component/_generated/api.js"),
  "./component/children.js": () => import("./component/children.js"),
  "./component/config.js": () => import("./component/config.js"),
  "./component/deadlines.js": () => import("./component/deadlines.js"),
  "./component/ending.js": () => import("./component/ending.js"),
  "./component/entering.js": () => import("./component/entering.js"),
  "./component/events.js": () => import("./component/events.js"),
  "./component/lib.js": () => import("./component/lib.js"),
  "./component/line.js": () => import("./component/line.js"),
  "./component/listing.js": () => import("./component/listing.js"),
  "./component/pausing.js": () => import("./component/pausing.js"),
  "./component/removing.js": () => import("./component/removing.js"),
  "./component/repairing.js": () => import("./component/repairing.js"),
  "./component/restarting.js": () => import("./component/restarting.js"),
  "./component/retention.js": () => import("./component/retention.js"),
  "./component/steering.js": () => import("./component/steering.js"),
  "./component/timeline.js": () => import("./component/timeline.js"),
  "./component/tolerance.js": () => import("./component/tolerance.js"),
  "./component/views.js": () => import("./component/views.js"),
  "./component/watchdog.js": () => import("./component/watchdog.js"),
};

/**
 * Mounts the component in a test.
 * @param t what `convexTest()` returned.
 * @param name the name under which the app mounts it. Default: `workflow`.
 */
export function register(
  t: Pick<ReturnType<typeof convexTest>, "registerComponent">,
  name = "workflow",
): void {
  t.registerComponent(name, schema, modules);
}
