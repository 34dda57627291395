import { logUsually } from "@stepwise/workpool/core";
import type { GenericSchema, SchemaDefinition } from "convex/server";
import schema from "./component/schema.js";
import { type KitOptions, type TestedApp, TestKit } from "./test/kit.js";
import { type FakeTimers, spanLongTimers } from "./test/virtual-time.js";

export { schema };
export type { Ended, KitOptions, TestKit, Timer } from "./test/kit.js";
export type { Stub } from "./test/stub.js";

/** The component's modules, listed by hand: only Vite knows `import.meta.glob`. */
export const modules: Record<string, () => Promise<unknown>> = {
  "./component/_generated/api.js": () => import("./component/_generated/api.js"),
  "./component/config.js": () => import("./component/config.js"),
  "./component/engine/entry.js": () => import("./component/engine/entry.js"),
  "./component/bulk.js": () => import("./component/bulk.js"),
  "./component/events.js": () => import("./component/events.js"),
  "./component/executor.js": () => import("./component/executor.js"),
  "./component/features/childPages.js": () => import("./component/features/childPages.js"),
  "./component/features/children.js": () => import("./component/features/children.js"),
  "./component/features/collecting.js": () => import("./component/features/collecting.js"),
  "./component/features/concurrency.js": () => import("./component/features/concurrency.js"),
  "./component/features/deadlines.js": () => import("./component/features/deadlines.js"),
  "./component/features/ending.js": () => import("./component/features/ending.js"),
  "./component/features/failing.js": () => import("./component/features/failing.js"),
  "./component/features/iterations.js": () => import("./component/features/iterations.js"),
  "./component/features/lost.js": () => import("./component/features/lost.js"),
  "./component/features/passTurn.js": () => import("./component/features/passTurn.js"),
  "./component/features/pause.js": () => import("./component/features/pause.js"),
  "./component/features/repair.js": () => import("./component/features/repair.js"),
  "./component/features/replacing.js": () => import("./component/features/replacing.js"),
  "./component/features/restart.js": () => import("./component/features/restart.js"),
  "./component/features/retention.js": () => import("./component/features/retention.js"),
  "./component/lib.js": () => import("./component/lib.js"),
  "./component/limits.js": () => import("./component/limits.js"),
  "./component/listing.js": () => import("./component/listing.js"),
  "./component/settle.js": () => import("./component/settle.js"),
  "./component/steering.js": () => import("./component/steering.js"),
  "./component/views.js": () => import("./component/views.js"),
  "./component/waits.js": () => import("./component/waits.js"),
  "./component/watchdog.js": () => import("./component/watchdog.js"),
};

/** The part of convex-test's `t` that is used. A counter's `t` fits as well. */
interface Registry {
  registerComponent(
    path: string,
    schema: SchemaDefinition<GenericSchema, boolean>,
    modules: Record<string, () => Promise<unknown>>,
  ): void;
}

/**
 * Mounts the component in a test.
 * @param t what `convexTest()` returned.
 * @param name the name under which the app mounts it. Default: `workflow`.
 */
export function register(t: Registry, name = "workflow"): void {
  logUsually();
  spanLongTimers();
  t.registerComponent(name, schema, modules);
}

/**
 * Mounts the component in a test, and returns the kit that tests workflows: in virtual time, with
 * stubs for steps. It drops the stubs of an earlier kit.
 * @param t what `convexTest()` returned.
 * @param vi vitest's. `vi.useFakeTimers()` must have been called when the kit is used.
 *
 * @example
 * beforeEach(() => void vi.useFakeTimers());
 * afterEach(() => void vi.useRealTimers());
 *
 * test("an order that cannot be shipped is refunded", async () => {
 *   const kit = testKit(convexTest(schema, modules), vi);
 *   const refund = vi.fn();
 *   kit.stub(workflows.order, "charge", () => ({ receipt: "r1" }));
 *   kit.stub(workflows.order, "charge.compensate", refund);
 *   kit.stub(workflows.order, "ship", () => { throw new Error("no truck"); });
 *   const runId = await kit.start(workflows.order, { orderId });
 *   expect(await kit.runToEnd(workflows.order, runId)).toMatchObject({ state: "failed" });
 *   expect(refund).toHaveBeenCalledOnce();
 * });
 */
export function testKit(t: Registry & TestedApp, vi: FakeTimers, options: KitOptions = {}) {
  const all = { ...modules, "./component/tables.js": () => import("./test/functions.js") };
  t.registerComponent(options.name ?? "workflow", schema, all);
  const load = async () => await Promise.all(Object.values(all).map((one) => one()));
  return new TestKit(t, vi, load, options);
}

/** The form that Convex's own components have, for helpers that take a component as a whole. */
export default { register, schema, modules };
