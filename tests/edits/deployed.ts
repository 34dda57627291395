import { Counter, vitestTimers, type Timers, type Violation } from "@stepwise/testing";
import { modules as component, schema as componentSchema } from "@stepwise/workflow/test";
import { defineSchema, makeFunctionReference } from "convex/server";
import { afterAll, afterEach, beforeEach, vi } from "vitest";
import {
  checkTable,
  type Doc,
  isOf,
  type TableNames,
} from "../../packages/workflow/test/component.js";
import { type Files, type Modules, Releases, type Version } from "./releases.js";

export { type Files, Releases, type Version } from "./releases.js";

// A module that is loaded while a test drives virtual time would take real time then.
await Promise.all(Object.values(component).map((load) => load()));

/** Releases for the tests of a file, which run in virtual time. */
export function useReleases(): Releases {
  const releases = new Releases();
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  afterAll(async () => await releases.remove());
  return releases;
}

/** Releases the versions of an app one after the other, in real time. */
export async function released<Apps extends readonly Files[]>(releases: Releases, ...apps: Apps) {
  vi.useRealTimers();
  const versions: Version[] = [];
  for (const [at, files] of apps.entries())
    versions.push(await releases.release(files, ...apps.slice(0, at)));
  vi.useFakeTimers();
  return versions as { readonly [At in keyof Apps]: Version };
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

/** It runs as many scheduled functions at once as the pool of these apps has slots. */
const CLASS = { deploymentClass: "s256" } as const;

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
    return new Deployment(version, [], await faulty(faults), new Counter({ ...CLASS, ...faults }));
  }

  /** What virtual time is driven with. */
  timers: Timers = vitestTimers(vi);

  /** @param later versions that will be deployed to it, where they have modules of other names. */
  constructor(
    version: Version,
    later: readonly Version[] = [],
    modules: Modules = component,
    counter = new Counter(CLASS),
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

  /** Lets so many ms of virtual time go by. */
  async wait(ms: number): Promise<void> {
    const end = Date.now() + ms;
    const alarm = setTimeout(() => {}, ms);
    await this.drive(() => Date.now() >= end);
    clearTimeout(alarm);
  }

  async see(runId: string): Promise<Seen> {
    const [seen] = await this.seeAll([runId]);
    return seen!;
  }

  /** Many runs cost no more than one: each would read all steps. */
  async seeAll(runIds: readonly string[]): Promise<Seen[]> {
    return await this.#inspect(async ({ db }) => {
      const steps = new Map<string, Doc<"steps">[]>();
      for (const step of await db.query("steps").collect())
        steps.set(step.run, [...(steps.get(step.run) ?? []), step]);
      const see = async (runId: string) => {
        const run = await db.get(runId);
        const own = steps.get(runId) ?? [];
        return {
          state: run?.state ?? "gone",
          ...(run?.error === undefined ? {} : { error: run.error }),
          output: own.find(({ _id }) => _id === run?.outputStep)?.output,
          active: own
            .filter(({ endedAt }) => endedAt === undefined)
            .map(({ stage, state }) => ({ node: stage, state })),
        };
      };
      return await Promise.all(runIds.map(see));
    });
  }

  /**
   * How many scheduled functions of the component are still to come, but for the watchdog's last
   * look.
   */
  async pending(): Promise<number> {
    const jobs = await this.jobs();
    return jobs.filter((job) => job.state.kind === "pending" && !isOf("watchdog:sweep")(job))
      .length;
  }

  /** The scheduled functions of the component, those that have ended too. */
  async jobs(): Promise<Job[]> {
    return await this.#inspect(({ db }) => db.system.query("_scheduled_functions").collect());
  }

  /**
   * Scheduled functions of the component that have not begun are canceled, as somebody might do by
   * hand.
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
  async rows<Table extends TableNames>(table: Table): Promise<Doc<Table>[]> {
    checkTable(table);
    return await this.#inspect(({ db }) => db.query(table).collect());
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

export interface Job {
  readonly _id: string;
  readonly name: string;
  readonly state: { readonly kind: string };
  readonly args: readonly unknown[];
}

/** As much of the component's tables as is looked at. */
interface Inspected {
  get(id: string): Promise<Doc<"runs"> | null>;
  query<Table extends TableNames>(table: Table): { collect(): Promise<Doc<Table>[]> };
  /** Nobody but the platform deletes scheduled functions; convex-test lets a test do it. */
  delete(table: "_scheduled_functions", id: string): Promise<void>;
  readonly system: { query(table: "_scheduled_functions"): { collect(): Promise<Job[]> } };
}
