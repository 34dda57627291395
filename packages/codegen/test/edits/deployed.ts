import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Counter, vitestTimers, type Violation } from "@stepwise/counting";
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

  /** @param before the version that was released before it, if there was another. */
  async release(files: Files, before: Files = files): Promise<Version> {
    await mkdir(root, { recursive: true });
    const folder = await mkdtemp(join(root, "app-"));
    this.#folders.push(folder);
    const functionsDir = join(folder, "convex");
    const generated = new Set<string>();
    for (const version of before === files ? [files] : [before, files]) {
      for (const [path, text] of Object.entries(version))
        await write(join(functionsDir, path), text);
      const { ok, diagnostics, files: made } = await compile({ functionsDir });
      if (!ok) throw new Error(diagnostics.map(({ message }) => message).join("\n"));
      await writeGenerated(functionsDir, made);
      for (const { path } of made) if (path.endsWith(".ts")) generated.add(path);
    }
    await write(join(functionsDir, "_generated/api.js"), API);
    await write(join(functionsDir, "runs.ts"), RUNS);
    const own = Object.keys(files).filter((path) => !path.endsWith(".workflow.ts"));
    const entries = ["runs.ts", ...own, ...generated].map((path) => path.replace(/\.ts$/, ""));
    return { modules: await bundled(functionsDir, entries, join(folder, "bundle")) };
  }

  async remove(): Promise<void> {
    for (const folder of this.#folders.splice(0)) await rm(folder, { recursive: true });
  }
}

async function write(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

const API = `
import { anyApi, componentsGeneric } from "convex/server";
export const internal = anyApi;
export const components = componentsGeneric();
`;

const RUNS = `
import { WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
const workflow = new WorkflowManager(components.workflow, { maxParallelism: 100 });
export const start = internalMutationGeneric((ctx, { name, input }) => workflow.start(ctx, workflows[name], input));
export const cancel = internalMutationGeneric((ctx, { runId }) => workflow.cancel(ctx, runId));
export const send = internalMutationGeneric((ctx, { name, runId, event, value }) =>
  workflow.sendEvent(ctx, workflows[name], runId, event, value));
export const steps = internalQueryGeneric((ctx, { name, runId }) =>
  workflow.steps(ctx, workflows[name], runId, { cursor: null, numItems: 1000 }));
export const log = internalMutationGeneric((ctx, { text }) => ctx.db.insert("log", { text }));
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

/** An app that a version of is deployed to, and then another. */
export class Deployment {
  #current: Modules;
  readonly counter = new Counter();
  readonly #t;

  constructor(version: Version) {
    this.#current = version.modules;
    const paths = Object.keys(version.modules);
    const modules = Object.fromEntries(
      paths.map((path) => [path, async () => await this.#current[path]?.()]),
    );
    this.#t = this.counter.convexTest({
      schema: defineSchema({}, { schemaValidation: false }),
      modules: { "./convex/_generated/api.js": async () => ({}), ...modules },
    });
    this.#t.registerComponent("workflow", componentSchema, component);
  }

  deploy({ modules }: Version): void {
    this.#current = modules;
  }

  /** Calls a mutation of `runs.ts`. */
  async call(name: string, args: Record<string, unknown>): Promise<unknown> {
    return await this.#t.mutation(makeFunctionReference<"mutation">(`runs:${name}`), args);
  }

  /** Asks a query of `runs.ts`. */
  async ask<Result>(name: string, args: Record<string, unknown>): Promise<Result> {
    const query = makeFunctionReference<"query", Record<string, unknown>, Result>(`runs:${name}`);
    return await this.counter.uncounted(() => this.#t.query(query, args));
  }

  async logged(): Promise<string[]> {
    return await this.ask("logged", {});
  }

  /** Lets virtual time go by until nothing is scheduled any more, or until `done`. */
  async drive(done?: () => boolean | Promise<boolean>): Promise<void> {
    await this.counter.drive({ timers: vitestTimers(vi), ...(done ? { done } : {}) });
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

  /** All rows of one of the component's tables. */
  async rows(table: string): Promise<Readonly<Record<string, unknown>>[]> {
    return await this.#inspect(({ db }) => db.query(table).collect());
  }

  /** What a deployment would have refused, but convex-test lets pass. */
  get violations(): readonly Violation[] {
    return this.counter.violations;
  }

  /** Looks at the component's own tables. convex-test has this; its types do not say so. */
  async #inspect<Result>(look: (ctx: { db: Inspected }) => Promise<Result>): Promise<Result> {
    const t = this.#t as unknown as {
      runInComponent(
        path: string,
        look: (ctx: { db: Inspected }) => Promise<Result>,
      ): Promise<Result>;
    };
    return await this.counter.uncounted(() => t.runInComponent("workflow", look));
  }
}

interface StepSeen {
  readonly _id: string;
  readonly run: string;
  readonly stage: string;
  readonly state: string;
  readonly endedAt?: number;
  readonly output?: unknown;
}

interface Job {
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
  readonly system: { query(table: "_scheduled_functions"): { collect(): Promise<Job[]> } };
}
