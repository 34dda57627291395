import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Counter, vitestTimers, type Timers, type Violation } from "@stepwise/testing";
import { modules as component, schema as componentSchema } from "@stepwise/workflow/test";
import { defineSchema, makeFunctionReference } from "convex/server";
import { build } from "esbuild";
import { vi } from "vitest";
import { compile, writeGenerated } from "../../src/compile.js";

const root = fileURLToPath(new URL("../../node_modules/.cache/stepwise-edits", import.meta.url));

// A module that is loaded while a test drives virtual time would take real time then.
await Promise.all(Object.values(component).map((load) => load()));

type Modules = Record<string, () => Promise<unknown>>;

/** What an app is deployed with. */
export interface Version {
  readonly modules: Modules;
}

/** The files of an app by their paths in `convex/`: definitions, and whatever they use. */
export type Files = Readonly<Record<string, string>>;

/** Compiles versions of an app, one after the other in the same folder, so that what is gone leaves its functions behind. */
export class Releases {
  readonly #folders: string[] = [];

  /** @param befores the versions that were released before it, in their order. */
  async release(files: Files, ...befores: readonly Files[]): Promise<Version> {
    await mkdir(root, { recursive: true });
    const folder = await mkdtemp(join(root, "app-"));
    this.#folders.push(folder);
    const functionsDir = join(folder, "convex");
    let generated: readonly string[] = [];
    let index = "";
    for (const version of [...befores.filter((before) => before !== files), files]) {
      for (const [path, text] of Object.entries(version))
        await write(join(functionsDir, path), text);
      const { ok, diagnostics, files: made, folders, output } = await compile({ functionsDir });
      if (!ok) throw new Error(diagnostics.map(({ message }) => message).join("\n"));
      await writeGenerated(functionsDir, made, { folders });
      generated = made.map(({ path }) => path).filter(isEntryPoint);
      index = `./${output}/index`;
    }
    await write(join(functionsDir, "_generated/api.js"), API);
    await write(join(functionsDir, "runs.ts"), runs(index));
    const own = Object.keys(files).filter(isEntryPoint);
    const entries = ["runs.ts", ...own, ...generated].map((path) => path.replace(/\.ts$/, ""));
    return { modules: await bundled(functionsDir, entries, join(folder, "bundle")) };
  }

  async remove(): Promise<void> {
    for (const folder of this.#folders.splice(0)) await rm(folder, { recursive: true });
  }
}

/** What has a second dot is none. */
const isEntryPoint = (path: string): boolean => /^[^.]+\.ts$/.test(path);

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

const API = `
import { anyApi, componentsGeneric } from "convex/server";
export const internal = anyApi;
export const components = componentsGeneric();
`;

/** @param index where the manager is found */
const runs = (index: string): string => `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "${index}";
const workflow = new WorkflowManager(components.workflow, { maxParallelism: 100 });
export const start = internalMutationGeneric((ctx, { name, input }) => workflow.start(ctx, workflows[name], input));
export const cancel = internalMutationGeneric((ctx, { runId }) => workflow.cancel(ctx, runId));
export const send = internalMutationGeneric((ctx, { name, runId, event, value }) =>
  workflow.sendEvent(ctx, workflows[name], runId, event, value));
export const steps = internalQueryGeneric((ctx, { name, runId }) =>
  workflow.steps(ctx, workflows[name], runId, { cursor: null, numItems: 1000 }));
export const log = internalMutationGeneric((ctx, line) => ctx.db.insert("log", line));
export const logged = internalQueryGeneric(async (ctx) => (await ctx.db.query("log").collect()).map(({ text }) => text));
`;

async function bundled(functionsDir: string, entries: string[], outdir: string): Promise<Modules> {
  await build({
    entryPoints: entries.map((entry) => ({ in: join(functionsDir, entry), out: entry })),
    outdir,
    bundle: true,
    splitting: true,
    format: "esm",
    target: "node20",
    platform: "browser",
    conditions: ["convex", "module", "@convex-dev/component-source"],
    external: ["convex", "convex/*"],
    outExtension: { ".js": ".mjs" },
    logLevel: "silent",
  });
  const loaded = entries.map(async (entry) => {
    const module: unknown = await import(pathToFileURL(join(outdir, `${entry}.mjs`)).href);
    return [`./convex/${entry}.js`, async () => module] as const;
  });
  return Object.fromEntries(await Promise.all(loaded));
}

/** What a run is seen to be. */
export interface Seen {
  readonly state: string;
  readonly output?: unknown;
  readonly error?: { readonly kind: string; readonly node: string; readonly message: string };
  readonly active: readonly { readonly node: string; readonly state: string }[];
}

/** What is made to go wrong. */
export interface Faults {
  /** Asked before what a run has done is written down: that fails where it says so. */
  readonly settle?: () => boolean;
  /** How many of the newest commits a stale snapshot lacks; asked for each. */
  readonly lag?: () => number;
}

const LIB = "./component/lib.js";
type Settle = { _handler(ctx: unknown, args: unknown): Promise<unknown> };

/** The component, where some of what it does fails. */
async function faulty({ settle: fails }: Faults): Promise<Modules> {
  if (fails === undefined) return component;
  const lib = (await component[LIB]?.()) as { settle: Settle };
  const settle = Object.create(lib.settle, {
    _handler: {
      value: async (ctx: unknown, args: unknown) => {
        if (fails()) throw new Error("injected fault");
        return await lib.settle._handler(ctx, args);
      },
    },
  }) as Settle;
  // One module for all calls: the counter wraps each that it has not met.
  const module = { ...lib, settle };
  return { ...component, [LIB]: async () => module };
}

/** An app that a version of is deployed to, and then another. */
export class Deployment {
  #current: Modules;
  readonly counter: Counter;
  readonly #t;

  /** One in which something goes wrong. */
  static async withFaults(version: Version, faults: Faults): Promise<Deployment> {
    return new Deployment(version, [], await faulty(faults), new Counter(faults));
  }

  /** What virtual time is driven with. */
  timers: Timers = vitestTimers(vi);

  /** @param later versions that will be deployed to it, where they have modules of other names. */
  constructor(
    version: Version,
    later: readonly Version[] = [],
    modules: Modules = component,
    counter = new Counter(),
  ) {
    this.counter = counter;
    this.#current = version.modules;
    const paths = [version, ...later].flatMap((each) => Object.keys(each.modules));
    const deployed = Object.fromEntries(
      paths.map((path) => [path, async () => await this.#current[path]?.()]),
    );
    this.#t = this.counter.convexTest({
      schema: defineSchema({}, { schemaValidation: false }),
      modules: { "./convex/_generated/api.js": async () => ({}), ...deployed },
    });
    this.#t.registerComponent("workflow", componentSchema, modules);
  }

  deploy({ modules }: Version): void {
    this.#current = modules;
  }

  /** Calls a mutation of `runs.ts`, or of the file that is named before a colon. */
  async call(name: string, args: Record<string, unknown>): Promise<unknown> {
    return await this.#t.mutation(makeFunctionReference<"mutation">(pathOf(name)), args);
  }

  /** Asks a query, named in the same way. */
  async ask<Result>(name: string, args: Record<string, unknown>): Promise<Result> {
    const query = makeFunctionReference<"query", Record<string, unknown>, Result>(pathOf(name));
    return await this.counter.uncounted(() => this.#t.query(query, args));
  }

  async logged(): Promise<string[]> {
    return await this.ask("logged", {});
  }

  /** Lets virtual time go by until nothing is scheduled any more, or until `done`. */
  async drive(done?: () => boolean | Promise<boolean>): Promise<void> {
    await this.counter.drive({ timers: this.timers, ...(done ? { done } : {}) });
  }

  async see(runId: string): Promise<Seen> {
    return await this.#inspect(async ({ db }) => {
      const run = await db.get(runId);
      const steps = await db.query("steps").collect();
      const own = steps.filter((step) => step.run === runId);
      return {
        state: run?.state ?? "gone",
        ...(run?.error === undefined ? {} : { error: run.error }),
        output: own.find(({ _id }) => _id === run?.outputStep)?.output,
        active: own
          .filter(({ endedAt }) => endedAt === undefined)
          .map(({ stage, state }) => ({ node: stage, state })),
      };
    });
  }

  /** How many scheduled functions of the component are still to come, but for the watchdog's last look. */
  async pending(): Promise<number> {
    return (await this.jobs()).filter(
      ({ state, name }) => state.kind === "pending" && name !== "watchdog:sweep",
    ).length;
  }

  /** The scheduled functions of the component, those that have ended too. */
  async jobs(): Promise<Job[]> {
    return await this.#inspect(({ db }) => db.system.query("_scheduled_functions").collect());
  }

  /**
   * Scheduled functions of the component that have not begun are canceled, as somebody might do by hand.
   * @param gone they are not even there any more, as after a restore from a backup.
   * @returns how many there were.
   */
  async lose(isLost: (job: Job) => boolean, { gone = false } = {}): Promise<number> {
    return await this.#inspect(async ({ db, scheduler }) => {
      const jobs = await db.system.query("_scheduled_functions").collect();
      const lost = jobs.filter((job) => job.state.kind === "pending" && isLost(job));
      for (const { _id } of lost) {
        await scheduler.cancel(_id);
        if (gone) await db.delete("_scheduled_functions", _id);
      }
      return lost.length;
    });
  }

  /** All rows of one of the component's tables. */
  async rows<Row = Readonly<Record<string, unknown>>>(table: string): Promise<Row[]> {
    // Whoever asks knows what is in it.
    return (await this.#inspect(({ db }) => db.query(table).collect())) as Row[];
  }

  /** What a deployment would have refused, but convex-test lets pass. */
  get violations(): readonly Violation[] {
    return this.counter.violations;
  }

  /** Looks at the component's own tables. convex-test has this; its types do not say so. */
  async #inspect<Result>(look: (ctx: Inside) => Promise<Result>): Promise<Result> {
    const t = this.#t as unknown as {
      runInComponent(path: string, look: (ctx: Inside) => Promise<Result>): Promise<Result>;
    };
    return await this.counter.uncounted(() => t.runInComponent("workflow", look));
  }
}

function pathOf(name: string): string {
  return name.includes(":") ? name : `runs:${name}`;
}

/** What one sees from inside the component. */
interface Inside {
  readonly db: Inspected;
  readonly scheduler: { cancel(id: string): Promise<void> };
}

interface StepSeen {
  readonly _id: string;
  readonly run: string;
  readonly stage: string;
  readonly state: string;
  readonly endedAt?: number;
  readonly output?: unknown;
}

export interface Job {
  readonly _id: string;
  readonly name: string;
  readonly state: { readonly kind: string };
  readonly args: readonly unknown[];
}

/** As much of the component's tables as is looked at. */
interface Inspected {
  get(id: string): Promise<{
    state: string;
    outputStep?: string;
    error?: { kind: string; node: string; message: string };
  } | null>;
  query(table: "steps"): { collect(): Promise<StepSeen[]> };
  query(table: string): { collect(): Promise<Readonly<Record<string, unknown>>[]> };
  /** Nobody but the platform deletes scheduled functions; convex-test lets a test do it. */
  delete(table: "_scheduled_functions", id: string): Promise<void>;
  readonly system: { query(table: "_scheduled_functions"): { collect(): Promise<Job[]> } };
}
