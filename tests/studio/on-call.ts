import { AsyncLocalStorage } from "node:async_hooks";
import { type DataSource, localSource, serveStudio } from "@stepwise/studio";
import { realTime } from "@stepwise/testing";
import { type App, openApp } from "../../packages/codegen/src/dev-server/app.js";
import type { TestApp } from "../../packages/codegen/test/dev-server/app.js";
import { expect } from "vitest";
import { eventually } from "./app.js";

const RUNS = 400;
/** The smallest class runs so many steps at once. */
const SLOTS = 6;
/** How many runs do what, or have ended how. All others are completed. */
export const seeded = {
  failed: 6,
  stalled: 1,
  queued: 5,
  "waiting for a retry": 2,
  "waiting for an event": 7,
  sleeping: 3,
  canceled: 4,
};

/** A store of 400 runs of several workflows, as somebody on call finds it, and its studio. */
export async function openOnCall({ functionsDir }: TestApp) {
  const app = await openApp({ functionsDir }, realTime, () => {});
  const listeners = new Set<() => void>();
  // Functions run in a context of their own, in which convex-test refuses timers.
  const outside = AsyncLocalStorage.snapshot();
  const changed = () => outside(() => listeners.forEach((listener) => listener()));
  app.back.counter.onCall(({ how }) => {
    if (how !== "nested") changed();
  });
  const source = localSource({
    component: app.component,
    workflows: async () => ((await app.back.load("_workflows/index")) as any).workflows,
    query: async (handler) =>
      await app.back.counter.uncounted(async () => await app.back.t.query(handler)),
    mutation: async (handler) => await app.back.t.mutation(handler).finally(changed),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  });
  const slots = await seed(app, source);
  const studio = await serveStudio({ source, title: "", plans: () => undefined });
  return {
    ...studio,
    slots,
    close: async () => {
      await studio.close();
      app.close();
    },
  };
}

/** @returns how many slots there are, all of which are in use */
async function seed({ back }: App, { write, read }: DataSource) {
  const pool = async () => await read("pool", {});
  const failed = async () => (await read("count", { state: "failed" })).count;
  const start = async (workflow: string, input: unknown, key?: string) =>
    await write("start", { workflow, input: input as never, ...(key && { key }) });
  const many = async (count: number, each: (n: number) => Promise<unknown>) => {
    for (let n = 0; n < count; n++) await each(n);
  };
  const inComponent = async <Result>(change: (ctx: any) => Promise<Result>): Promise<Result> =>
    await (back.t as any).runInComponent("workflow", change);
  // They come first: the list begins with what is wrong.
  const others = Object.values(seeded).reduce((sum, each) => sum + each) + SLOTS;
  await inComponent(async ({ db }) => {
    const run = { workflow: "parcel", entry: "", index: 0, state: "completed", startedAt: 1 };
    for (let n = others; n < RUNS; n++) await db.insert("runs", { ...run, endedAt: 2 });
  });
  const order = { items: [], card: "visa" };
  await many(seeded.failed - 2, (n) => {
    const key = n === 0 ? undefined : `rental ${n}`;
    return start("rental", { car: `car ${n}` }, key);
  });
  await start("order", { ...order, card: "" }, "no card");
  await start("trip", { seats: ["1A"] }, "trip");
  await many(seeded["waiting for an event"], (n) => start("order", order, `order ${n}`));
  await many(seeded.sleeping, (n) => start("nap", {}, `nap ${n}`));
  await many(seeded["waiting for a retry"], (n) => start("patient", {}, `patient ${n}`));
  await many(seeded.canceled, async () => {
    await write("cancel", { runId: await start("nap", {}) });
  });
  const idle = { running: 0, waiting: 0, retrying: seeded["waiting for a retry"] };
  await eventually(async () => expect(await pool()).toMatchObject(idle));
  await eventually(async () => expect(await failed()).toBe(seeded.failed));
  // Nothing ends a slot's work from here on.
  Object.assign(globalThis, { held: new Promise(() => {}) });
  await start("slow", {}, "lost");
  await eventually(async () => expect(await pool()).toMatchObject({ running: 1, waiting: 0 }));
  await inComponent(async ({ db }) => {
    const slots = await db.query("slots").collect();
    const { _id, work } = slots.find((slot: { work?: string }) => slot.work !== undefined)!;
    await db.patch("slots", _id, { work: undefined, job: undefined });
    await db.patch("steps", work, { startedAt: Date.now() - 3_600_000 });
  });
  const { maxParallelism } = await pool();
  await many(maxParallelism + seeded.queued, (n) => start("slow", {}, `slow ${n}`));
  return maxParallelism;
}
