/** @module-tag large */
import { createRequire } from "node:module";
import { dirname, join, resolve, sep } from "node:path";
import { type LocalApp, localSource, serveStudio, type Reads } from "@stepwise/studio";
import { vitestTimers } from "@stepwise/testing";
import { type MutationRunner, type QueryRunner, WorkflowManager } from "@stepwise/workflow";
import { componentsGeneric, makeFunctionReference } from "convex/server";
import { build } from "esbuild";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { openBackEnd, type BackEnd } from "../../packages/codegen/src/dev-server/back-end.js";
import { findComponents, findEntryPoints } from "../../packages/codegen/src/dev-server/bundle.js";
import type { TestApp } from "../../packages/codegen/test/dev-server/app.js";
import { eventually, writeShop, writeShopWithoutStudio } from "./app.js";
import { hasBrowser, openBrowser, openWindow } from "./browser.js";

/** `STUDIO_RUNS=100000` counts with more: that takes minutes. */
const RUNS = Number(process.env["STUDIO_RUNS"] ?? 10_000);
const CHILDREN = 2_000;

let app: TestApp;
let back: BackEnd;
/** The run with many children, of which some run. */
let order: string;
let parcels: string;
/** Some of the runs that the first page lists. */
let newest: string[];
/** The hash of the plan of all runs but one in 200, of which `box 9951` is the newest. */
let plan: string;
const listeners = new Set<() => void>();

const inComponent = async <Result>(change: (ctx: any) => Promise<Result>) =>
  await (back.t as any).runInComponent("workflow", change);

beforeAll(async () => {
  app = await writeShop();
  back = await openBackEnd(app.functionsDir);
  ({ plan } = (await local().workflows())["parcel"]!);
  const run = { entry: "", index: 0, endedAt: 2 };
  // The newest is `box 9999`, whatever their number is.
  const keyOf = (n: number) => `box ${n - RUNS + 10_000}`;
  for (let page = 0; page < RUNS; page += 2_000)
    newest = await inComponent(async ({ db }) => {
      const ids: string[] = [];
      for (let n = page; n < page + 2_000; n++) {
        const state = n % 2 === 0 ? "completed" : "canceled";
        const started = n % 200 === 151 ? {} : { plan };
        const of = { workflow: "parcel", state, startKey: keyOf(n), startedAt: n, ...started };
        ids.unshift(await db.insert("runs", { ...run, ...of }));
      }
      // Some are at a node.
      for (const id of page < RUNS - 10_000 ? [] : ids.slice(0, 50)) {
        const at = { kind: "action", state: "running", attempt: 1, startedAt: 1, createdAt: 1 };
        await db.insert("steps", { ...at, run: id, stage: "pack" });
      }
      return ids.slice(0, 100);
    });
  order = await inComponent(async ({ db }) => {
    const top = { workflow: "order", state: "running", startedAt: 1, index: 0, entry: "" };
    const root = await db.insert("runs", top);
    const step = { run: root, createdAt: 1, attempt: 1, startedAt: 1 };
    await db.insert("steps", {
      ...step,
      stage: "charge",
      kind: "action",
      state: "completed",
      endedAt: 2,
      output: "charged",
    });
    const parentStep = await db.insert("steps", {
      ...step,
      stage: "parcels",
      kind: "children",
      state: "waiting",
      total: CHILDREN,
      concurrency: 10,
    });
    parcels = parentStep;
    for (let index = 0; index < CHILDREN; index++) {
      const state = index < 1_000 ? "completed" : index < 1_010 ? "running" : "pending";
      const child = { workflow: "parcel", entry: "", startedAt: index, state, index };
      await db.insert("runs", { ...child, parentRun: root, parentStep, root });
    }
    return root;
  });
});
afterAll(async () => {
  back.close();
  await app.remove();
});
afterEach(() => void vi.useRealTimers());

const component = componentsGeneric()["workflow"] as unknown as LocalApp["component"];
const workflowsOf = async (of: BackEnd) => ((await of.load("_workflows/index")) as any).workflows;

const local = (): LocalApp => ({
  component,
  workflows: async () => await workflowsOf(back),
  query: async (handler) => await back.t.query(handler),
  mutation: async (handler) => await back.t.mutation(handler),
  onChange: (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
});

const atPack = { workflow: "parcel", node: "pack" };
type Watch = { [Name in keyof Reads]: [Name, Parameters<Reads[Name]>[0]] }[keyof Reads];

/** What each page watches, and how many documents it may read for that. */
const pages: [page: string, most: number, watches: () => Watch[]][] = [
  [
    "runs",
    50,
    () => [
      ["runs", { cursor: null }],
      ["workflows", {}],
    ],
  ],
  ["runs of a state", 50, () => [["runs", { state: "canceled", cursor: null }]]],
  ["runs of a workflow", 50, () => [["runs", { workflow: "parcel", cursor: null }]]],
  [
    "runs of a workflow and a state",
    50,
    () => [["runs", { workflow: "parcel", state: "canceled", cursor: null }]],
  ],
  ["runs of a time", 50, () => [["runs", { since: 1, until: Date.now(), cursor: null }]]],
  ["a run by its key", 2, () => [["runs", { workflow: "parcel", key: "box 7777", cursor: null }]]],
  ["runs by their key", 50, () => [["runs", { workflow: "parcel", key: "box 77", cursor: null }]]],
  [
    "runs of older plans",
    50,
    () => [["runs", { workflow: "parcel", outdated: true, cursor: null }]],
  ],
  ["runs at a node", 100, () => [["runs", { ...atPack, cursor: null }]]],
  // It shows 50 children, and counts those that run, twice: in its status and in its timeline.
  [
    "a run with 2,000 children",
    50 + 3 * 10 + 30,
    () => [
      ["run", { runId: order }],
      ["input", { runId: order }],
      ["steps", { runId: order, cursor: null }],
      ["runs", { parent: parcels, cursor: null }],
      ["workflows", {}],
    ],
  ],
  // All slots, whether in use or not.
  ["pool", 20, () => [["pool", {}]]],
  ["limits", 20, () => [["limits", {}]]],
];

test.each(pages)(
  "of 10,000 runs, the page of %s reads at most %i documents, again when something changes, and nothing at rest",
  async (_page, most, watches) => {
    const source = localSource(local());
    for (const [name, args] of watches()) await source.read(name, args as never);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const errors: Error[] = [];
    const minute = async (changes: number) => {
      back.counter.clear();
      for (let n = 0; n < Math.max(changes, 1); n++) {
        const state = n % 2 === 0 ? "failed" : "canceled";
        if (changes > 0) {
          await back.counter.uncounted(
            async () =>
              await inComponent(async ({ db }) => await db.patch("runs", newest[n], { state })),
          );
          for (const listener of listeners) listener();
        }
        await vi.advanceTimersByTimeAsync(60_000 / Math.max(changes, 1));
      }
      return back.counter.totals().documentsRead;
    };
    const stops = watches().map(([name, args]) =>
      source.watch(
        name,
        args as never,
        () => {},
        (error) => errors.push(error),
      ),
    );
    const opened = await minute(0);
    expect(back.counter.totals().executions).toBeGreaterThan(0);
    expect(opened).toBeLessThanOrEqual(most);
    expect(await minute(0)).toBe(0);
    expect(await minute(100)).toBeLessThanOrEqual(100 * most);
    for (const stop of stops) stop();
    expect(await minute(100)).toBe(0);
    expect(errors).toEqual([]);
  },
);

/** How many runs each filter lists, and how many it reads for that. */
const filters: [filter: string, args: () => object, shown: number, searched: number][] = [
  ["any kind", () => ({}), 50, 50],
  ["a state", () => ({ state: "canceled" }), 50, 50],
  ["a workflow", () => ({ workflow: "parcel" }), 50, 50],
  ["a workflow and a state", () => ({ workflow: "parcel", state: "canceled" }), 50, 50],
  ["a time", () => ({ since: 1, until: Date.now() }), 50, 50],
  ["a time before all", () => ({ state: "canceled", until: 1 }), 0, 0],
  ["a key", () => ({ workflow: "parcel", key: "box 7" }), 50, 50],
  ["a key and a state", () => ({ workflow: "parcel", key: "box", state: "timedOut" }), 0, 50],
  ["a key and a time", () => ({ workflow: "parcel", key: "box", until: 1 }), 0, 50],
  ["older plans", () => ({ workflow: "parcel", outdated: true }), 1, 50],
  ["a parent", () => ({ parent: order }), 50, 50],
  ["a parent and a time", () => ({ parent: order, until: 1 }), 0, 0],
  ["a parent and a state", () => ({ parent: order, state: "failed" }), 0, 50],
  ["a step", () => ({ parent: parcels }), 50, 50],
  ["a step and a state", () => ({ parent: parcels, state: "running" }), 10, 10],
  ["a step and a time", () => ({ parent: parcels, until: 1 }), 0, 50],
  ["a node", () => ({ workflow: "parcel", node: "pack" }), 50, 50],
  ["a node and a state", () => ({ ...atPack, state: "timedOut" }), 0, 50],
  ["a node and a time", () => ({ ...atPack, until: 1 }), 0, 50],
  ["a node and older plans", () => ({ ...atPack, outdated: true }), 1, 50],
  ["a text", () => ({ text: "no such text" }), 0, 500],
  ["a node and a text", () => ({ ...atPack, text: "no such text" }), 0, 250],
  ["a parent and a text", () => ({ parent: order, text: "no such text" }), 0, 500],
];

test.each(filters)(
  "of 10,000 runs, a page of those of %s reads only the runs that it says it has searched",
  async (filter, args, shown, most) => {
    const source = localSource(local());
    back.counter.clear();
    const { page, searched } = await source.read("runs", { ...args(), cursor: null });
    expect([page.length, searched]).toEqual([shown, most]);
    // Runs at a node are found by their steps.
    const documents = filter.startsWith("a node") ? 2 * searched : searched;
    expect(back.counter.totals().documentsRead).toBe(documents);
  },
);

test("a search of 10,000 runs reads 500 of them at a time, whatever it finds, and says so", async () => {
  const source = localSource(local());
  for (const [text, found] of [
    ["BOX 9999", 1],
    ["box 77", 0],
    ["no such text", 0],
  ] as const) {
    back.counter.clear();
    const { page, searched, isDone } = await source.read("runs", { text, cursor: null });
    expect([page.length, searched, isDone]).toEqual([found, 500, false]);
    expect(back.counter.totals().documentsRead).toBeLessThanOrEqual(500);
  }
  const [cursors, keys] = [[null] as (string | null)[], [] as (string | undefined)[]];
  for (let cursor = cursors.pop(); cursor !== undefined; cursor = cursors.pop()) {
    const found = await source.read("runs", { text: "box 77", state: "canceled", cursor });
    keys.push(...found.page.map(({ key }) => key));
    if (!found.isDone) cursors.push(found.continueCursor);
  }
  // box 77, and each odd one of box 770 to 779 and of box 7700 to 7799.
  expect(keys).toHaveLength(1 + 5 + 50);
});

/**
 * How many documents lists of runs have read. The counts above them are read again 5 s after a
 * change, and on a busy machine that is in the middle of the next one.
 */
const listed = () => back.counter.totals(({ name }) => name === "listing:runs").documentsRead;

/** @param look gets a page with the studio, and the address of the studio */
const inBrowser = (look: (page: Page, at: string) => Promise<void>) => async () => {
  const source = localSource(local());
  const studio = await serveStudio({ source, title: "", plans: () => undefined });
  const browser = await openBrowser();
  try {
    const page = await (await openWindow(browser)).newPage();
    await page.goto(studio.url);
    // It has read what it shows before anything is counted.
    await page.getByText("box 9999").first().waitFor();
    await look(page, new URL("/", studio.url).href);
  } finally {
    await browser.close();
    await studio.close();
  }
};

test.skipIf(!hasBrowser)(
  "of 10,000 runs, and of a run with 2,000 children, a page draws no more than a screenful",
  inBrowser(async (page, at) => {
    const drawn = async (place: string, text: string) => {
      await page.goto("about:blank");
      await page.goto(`${at}#/${place}`);
      await page.getByText(text).first().waitFor();
      return await page.evaluate(() => document.querySelectorAll("*").length);
    };
    const empty = await drawn("runs?state=timedOut", "No runs.");
    // A row has some 20 elements.
    expect((await drawn("runs?workflow=parcel", "box 9999")) - empty).toBeLessThan(60 * 20);
    expect((await drawn(`runs/${order}`, "1000 of 2000 done")) - empty).toBeLessThan(60 * 20);
    await page.getByText("1000 of 2000 done").click();
    await page.getByText("Here are the first 50 children of parcels.").waitFor();
    // Rows out of view are neither in the page, nor read again.
    await page.goto(`${at}#/runs?workflow=parcel`);
    const list = page.getByRole("region", { name: "Runs" });
    await list.getByText("box 9999").waitFor();
    back.counter.clear();
    for (const last of [9950, 9900, 9850, 9800, 9750]) {
      // Never past the row: its end may be another one by the time that it is scrolled there.
      await eventually(async () => {
        await list.evaluate((element, rows) => {
          const { height } = element.querySelector("tbody td")!.getBoundingClientRect();
          element.scrollTo(0, rows * height - element.clientHeight / 2);
        }, 10_000 - last);
        expect(await list.innerText()).toContain(`box ${last}`);
      });
      expect(await list.getByRole("row").count()).toBeLessThan(60);
    }
    expect(listed()).toBeLessThanOrEqual(6 * 50);
    // What it has scrolled to may still be read when something changes for the first time.
    await eventually(async () => {
      back.counter.clear();
      for (const listener of listeners) listener();
      await eventually(() => expect(listed()).toBeGreaterThan(0));
      // The page shows what has changed when all that is watched has been read.
      await page.getByRole("heading", { name: "Runs" }).waitFor();
      expect(listed()).toBeLessThanOrEqual(2 * 50);
    });
    await list.evaluate((element) => element.scrollTo(0, 0));
    await list.getByText("box 9999").waitFor();
  }),
);

test.skipIf(!hasBrowser)(
  "a filter without an index reads 50 runs at a time, four times at a click, and says how many",
  inBrowser(async (page, at) => {
    const seen = async (change: () => Promise<unknown>, count: number, keys: number[]) => {
      back.counter.clear();
      await change();
      await page.getByText(`Searched the latest ${count} runs.`, { exact: true }).waitFor();
      const cells = page.getByRole("cell", { name: /^box/ });
      await eventually(async () =>
        expect(await cells.allTextContents()).toEqual(keys.map((key) => `box ${key}`)),
      );
      return listed();
    };
    const address = `${at}#/runs?workflow=parcel&outdated=true`;
    expect(await seen(() => page.goto(address), 50, [9951])).toBeLessThanOrEqual(50);
    const older = page.getByRole("button", { name: "Search older runs" });
    expect(await seen(() => older.click(), 250, [9951, 9751])).toBeLessThanOrEqual(4 * 50);
    expect(await seen(() => older.click(), 450, [9951, 9751, 9551])).toBeLessThanOrEqual(4 * 50);
    // The groups with these three runs are live, and the one that gets the first of them.
    const come = async () => {
      await back.counter.uncounted(
        async () =>
          await inComponent(async ({ db }) => {
            const run = { workflow: "parcel", entry: "", index: 0, startedAt: 1, plan };
            for (let n = 0; n < 2; n++) await db.insert("runs", { ...run, state: "running" });
          }),
      );
      for (const listener of listeners) listener();
      await eventually(() => expect(listed()).toBeGreaterThanOrEqual(200));
    };
    expect(await seen(come, 450, [9951, 9751, 9551])).toBeLessThanOrEqual(4 * 50);
    await page.goto(`${at}#/runs?parent=${order}&state=failed`);
    await page.getByText("Searched the first 50 runs.").waitFor();
    await page.getByRole("button", { name: "Search more runs" }).click();
    await page.getByText("Searched the first 250 runs.").waitFor();
  }),
);

test("the page of a pool with a long queue counts no more than 100 steps", async () => {
  // All starts are of one moment: after it, the drain would have to run.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  const source = localSource(local());
  const input = { items: [], card: "visa" };
  for (let n = 0; n < 220; n++) await source.write("start", { workflow: "order", input });
  back.counter.clear();
  const { running, maxParallelism, waiting } = await source.read("pool", {});
  expect({ running, waiting }).toEqual({ running: maxParallelism, waiting: 100 });
  expect(back.counter.totals().documentsRead).toBeLessThanOrEqual(maxParallelism + 100 + 5);
});

/**
 * What runs that end in each way cost, function by function, in an app that steers them itself.
 *
 * @param look is called while they are there
 */
async function costsOf({ functionsDir }: TestApp, look = async (_back: BackEnd) => {}) {
  const of = await openBackEnd(functionsDir);
  const { counter } = of;
  const { order } = await workflowsOf(of);
  vi.useFakeTimers({ now: 0 });
  vi.spyOn(Math, "random").mockReturnValue(0.5);
  try {
    const manager = new WorkflowManager(component);
    type Ctx = MutationRunner & QueryRunner;
    const steer = async <Result>(how: (ctx: Ctx) => Promise<Result>) => {
      const result = await of.t.mutation(how);
      // A module is loaded in real time, when the first of its functions is called.
      await counter.drive({ timers: vitestTimers(vi), patienceMs: 30_000 });
      return result;
    };
    const start = async (card: string) =>
      await steer((ctx) => manager.start(ctx, order, { items: ["a", "b"], card }));
    const [approved, refused, left] = [await start("visa"), await start(""), await start("visa")];
    await look(of);
    await steer((ctx) => manager.sendEvent(ctx, order, approved, "approval", { by: "Ada" }));
    await steer((ctx) => manager.pause(ctx, left));
    await steer((ctx) => manager.resume(ctx, left));
    await steer((ctx) => manager.cancel(ctx, left));
    await steer((ctx) => manager.restart(ctx, order, left));
    await steer((ctx) => manager.restart(ctx, order, approved, { from: "parcels" }));
    const states = [approved, refused, left].map((runId) =>
      of.t.query(async (ctx) => (await manager.status(ctx, order, runId))?.state),
    );
    expect(await counter.uncounted(async () => await Promise.all(states))).toEqual([
      "completed",
      "failed",
      "running",
    ]);
    return { functions: counter.byFunction(), totals: counter.totals() };
  } finally {
    vi.useRealTimers();
    of.close();
  }
}

test("runs cost the same with and without the functions of the studio, while nobody opens it", async () => {
  const without = await writeShopWithoutStudio();
  try {
    const costs = await costsOf(without);
    expect(costs.totals.executions).toBeGreaterThan(50);
    expect(costs.totals.bytesWritten).toBeGreaterThan(1_000);
    expect(await costsOf(app)).toEqual(costs);
    // Whoever looks pays for that.
    const { totals } = await costsOf(app, async ({ t }) => {
      const read = makeFunctionReference<"query">("studio:read");
      const call = { name: "runs", args: { cursor: null } };
      await t.withIdentity({ subject: "operator" }).query(read, { call });
    });
    expect(totals.executions).toBeGreaterThan(costs.totals.executions);
    expect(totals.documentsRead).toBeGreaterThan(costs.totals.documentsRead);
  } finally {
    await without.remove();
  }
});

const studioFolder = dirname(
  createRequire(import.meta.url).resolve("@stepwise/studio/package.json"),
);

/** The files that each module of a folder loads, as Convex's command line bundles them. */
async function bundled(folder: string): Promise<Record<string, string[]>> {
  const { isolate } = await findEntryPoints(folder);
  const { metafile } = await build({
    absWorkingDir: folder,
    entryPoints: isolate,
    outdir: "out",
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "esnext",
    platform: "browser",
    conditions: ["convex", "module"],
    minifySyntax: true,
    define: { "process.env.NODE_ENV": '"production"' },
    // Convex writes these files, and has this module.
    external: ["*/_generated/api", "*/_generated/server", "async_hooks", "node:async_hooks"],
  });
  const loaded = new Map<string, ReadonlySet<string>>();
  const filesOf = (output: string): ReadonlySet<string> => {
    const known = loaded.get(output);
    if (known !== undefined) return known;
    const files = new Set<string>();
    loaded.set(output, files);
    const { inputs = {}, imports = [] } = metafile.outputs[output] ?? {};
    for (const input of Object.keys(inputs)) files.add(resolve(folder, input));
    for (const { path } of imports) for (const file of filesOf(path)) files.add(file);
    return files;
  };
  return Object.fromEntries(
    Object.entries(metafile.outputs).flatMap(([output, { entryPoint }]) =>
      entryPoint === undefined ? [] : [[entryPoint, [...filesOf(output)]]],
    ),
  );
}

test("no module loads anything of the studio, but the one that exports its functions", async () => {
  const without = await writeShopWithoutStudio();
  const ofStudio = async (folder: string) =>
    Object.entries(await bundled(folder)).flatMap(([module, files]) =>
      files.some((file) => file.startsWith(studioFolder + sep)) ? [module] : [],
    );
  try {
    const modules = Object.keys(await bundled(without.functionsDir));
    expect(modules).toContain("_workflows/order.ts");
    expect(await ofStudio(without.functionsDir)).toEqual([]);
    expect(await ofStudio(app.functionsDir)).toEqual(["studio.ts"]);
    const config = join(dirname(without.functionsDir), "config");
    const components = await findComponents(without.functionsDir, config);
    expect(components.map(({ path }) => path)).toEqual(["workflow"]);
    for (const { directory } of components) expect(await ofStudio(directory)).toEqual([]);
  } finally {
    await without.remove();
  }
});
