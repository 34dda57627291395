import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Counter, vitestTimers } from "@stepwise/counting";
import { modules as component, schema as componentSchema } from "@stepwise/workflow/test";
import { defineSchema, makeFunctionReference } from "convex/server";
import { build } from "esbuild";
import { vi } from "vitest";
import { compile, writeGenerated } from "../../src/compile.js";

const root = fileURLToPath(new URL("../../node_modules/.cache/stepwise-edits", import.meta.url));

// A module that is loaded while a test drives virtual time would take real time then.
await Promise.all(Object.values(component).map((load) => load()));

type Modules = Record<string, () => Promise<unknown>>;

/** What an app of one definition file is deployed with. */
export interface Version {
  readonly modules: Modules;
}

/** Compiles versions of an app, one after the other in the same folder, so that what is gone leaves its functions behind. */
export class Releases {
  #folder: string | undefined;

  /** @param definitions the text of `flow.workflow.ts`. */
  async release(definitions: string, before: string): Promise<Version> {
    await mkdir(root, { recursive: true });
    const folder = await mkdtemp(join(root, "app-"));
    this.#folder = folder;
    const functionsDir = join(folder, "convex");
    for (const text of before === definitions ? [definitions] : [before, definitions]) {
      await write(join(functionsDir, "flow.workflow.ts"), text);
      const { ok, diagnostics, files } = await compile({ functionsDir });
      if (!ok) throw new Error(diagnostics.map(({ message }) => message).join("\n"));
      await writeGenerated(functionsDir, files);
    }
    await write(join(functionsDir, "_generated/api.js"), API);
    await write(join(functionsDir, "runs.ts"), RUNS);
    return { modules: await bundled(functionsDir, join(folder, "bundle")) };
  }

  async remove(): Promise<void> {
    if (this.#folder !== undefined) await rm(root, { recursive: true, force: true });
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
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { workflow, workflows } from "./_workflows/index";
export const start = internalMutationGeneric((ctx, { name, input }) => workflow.start(ctx, workflows[name], input));
export const send = internalMutationGeneric((ctx, { runId, name, value }) => workflow.sendEvent(ctx, workflows.flow, runId, name, value));
export const log = internalMutationGeneric((ctx, { text }) => ctx.db.insert("log", { text }));
export const logged = internalQueryGeneric(async (ctx) => (await ctx.db.query("log").collect()).map(({ text }) => text));
`;

async function bundled(functionsDir: string, outdir: string): Promise<Modules> {
  const entries = ["runs", "_workflows/index", "_workflows/flow", "_workflows/kid"];
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

  async call(name: string, args: Record<string, unknown>): Promise<unknown> {
    return await this.#t.mutation(makeFunctionReference<"mutation">(`runs:${name}`), args);
  }

  async logged(): Promise<string[]> {
    const query = makeFunctionReference<"query", Record<string, never>, string[]>("runs:logged");
    return await this.counter.uncounted(() => this.#t.query(query, {}));
  }

  /** Lets virtual time go by until nothing is scheduled any more, or until `done`. */
  async drive(done?: () => boolean | Promise<boolean>): Promise<void> {
    await this.counter.drive({ timers: vitestTimers(vi), ...(done ? { done } : {}) });
  }

  async see(runId: string): Promise<Seen> {
    const t = this.#t as unknown as {
      runInComponent<Result>(
        path: string,
        look: (ctx: { db: Inspected }) => Promise<Result>,
      ): Promise<Result>;
    };
    return await this.counter.uncounted(() =>
      t.runInComponent("workflow", async ({ db }) => {
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
      }),
    );
  }

  /** How many scheduled functions of the component are still to come, but for the watchdog's last look. */
  async pending(): Promise<number> {
    const t = this.#t as unknown as {
      runInComponent<Result>(
        path: string,
        look: (ctx: { db: Inspected }) => Promise<Result>,
      ): Promise<Result>;
    };
    return await this.counter.uncounted(() =>
      t.runInComponent("workflow", async ({ db }) => {
        const jobs = await db.system.query("_scheduled_functions").collect();
        return jobs.filter(
          ({ state, name }) => state.kind === "pending" && name !== "watchdog:sweep",
        ).length;
      }),
    );
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

/** As much of the component's tables as is looked at. */
interface Inspected {
  get(id: string): Promise<{
    state: string;
    outputStep?: string;
    error?: { kind: string; node: string; message: string };
  } | null>;
  query(table: "steps"): { collect(): Promise<StepSeen[]> };
  readonly system: {
    query(table: "_scheduled_functions"): {
      collect(): Promise<{ name: string; state: { kind: string } }[]>;
    };
  };
}
