import { Counter, type CounterOptions, vitestTimers } from "@stepwise/testing";
import { logUsually } from "@stepwise/workpool/core";
import { makeFunctionReference, mutationGeneric } from "convex/server";
import { afterEach, beforeEach, expect, vi } from "vitest";
import type { MutationCtx } from "../src/component/_generated/server.js";
import { clearStubs } from "../src/runtime/stubs.js";
import * as lib from "../src/component/lib.js";
import { settleArgs, type Settled, type Settlement, vSettled } from "../src/component/protocol.js";
import type { Status } from "../src/index.js";
import { modules as component, schema as componentSchema } from "../src/test.js";
import { type ComponentFunction, isOf } from "./component.js";
import { spanLongTimers } from "../src/test/virtual-time.js";
import { components, internal } from "./convex/_generated/api.js";
import schema from "./convex/schema.js";

const testModules = import.meta.glob([
  "./convex/**/*.{ts,js}",
  // As for Convex's bundler, a name with two dots is no module of its own.
  "!./convex/**/*.*.ts",
]);

// A module that is loaded while a test drives virtual time would take real time then.
await Promise.all(
  [testModules, component].flatMap((some) => Object.values(some).map((load) => load())),
);

/** What is made to go wrong, by the arguments of the call. */
export interface Faults {
  settle?: (args: Settlement) => boolean;
  /** Any function of the component fails before it has done anything. */
  fails?: (name: ComponentFunction, args: unknown) => boolean;
  /** Each scheduled entry is delivered a second time, as the same scheduled function. */
  twice?: boolean;
  /** Not a fault: is told of each document that a call of `settle` writes. */
  writes?: (args: Settlement, document: string) => void;
  /** Nor is this: how many of the newest commits a stale snapshot lacks; asked for each. */
  lag?: () => number;
}

function settleWith({ settle: fails = () => false, writes }: Faults): typeof lib.settle {
  const real = lib.settle as unknown as {
    _handler(ctx: MutationCtx, args: Settlement): Promise<Settled>;
  };
  return mutationGeneric({
    args: settleArgs,
    returns: vSettled,
    handler: async (ctx, args) => {
      if (fails(args)) throw new Error("injected fault");
      return await real._handler(writes ? watched(ctx, (id) => writes(args, id)) : ctx, args);
    },
  });
}

/** The same context, that tells of each document that is written through it. */
function watched(ctx: MutationCtx, tell: (document: string) => void): MutationCtx {
  const telling = new Set<PropertyKey>(["patch", "replace", "delete"]);
  const db = new Proxy(ctx.db, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return (...args: unknown[]) => {
        // The table's name comes first.
        if (telling.has(name)) tell(String(args[1]));
        return method.apply(target, args) as unknown;
      };
    },
  });
  return { ...ctx, db };
}

export type Modules = Record<string, () => Promise<unknown>>;

/** The component's modules, whose functions fail as they are told. */
function failing(modules: Modules, fails: NonNullable<Faults["fails"]>): Modules {
  const wrapped = (path: string, module: object) => {
    const file = path.replace(/^.*\/component\//, "").replace(/\.[^.]+$/, "");
    return Object.fromEntries(
      Object.entries(module).map(([name, value]: [string, unknown]) => {
        if (typeof value !== "function" || !("_handler" in value)) return [name, value];
        const real = value._handler as (ctx: unknown, args: unknown) => unknown;
        const handler = (ctx: unknown, args: unknown) => {
          // The generated types list what the modules export.
          if (fails(`${file}:${name}` as ComponentFunction, args))
            // As a deployment tells what code has thrown.
            throw new Error("Uncaught Error: injected fault");
          return real(ctx, args);
        };
        return [name, Object.create(value, { _handler: { value: handler } }) as unknown];
      }),
    );
  };
  return Object.fromEntries(
    Object.entries(modules).map(([path, load]) => {
      const loaded = load().then((module) => wrapped(path, module as object));
      return [path, () => loaded];
    }),
  );
}

/** The same modules, where what a scheduled entry did is followed by the same call once more. */
function delivering(modules: Modules): Modules {
  const again = (path: string, name: string, module: object) => {
    const real = (module as Record<string, { _handler(ctx: unknown, args: unknown): unknown }>)[
      name
    ]?._handler;
    if (real === undefined) return module;
    const file = path.replace(/^.*\/(?:component|convex)\//, "").replace(/\.[^.]+$/, "");
    const self = makeFunctionReference<"mutation">(`${file}:${name}`);
    const handler = async (ctx: MutationCtx, args: { nested?: boolean; again?: true }) => {
      const { again, ...given } = args;
      const result = await real(ctx, given);
      if (again !== true && given.nested !== true)
        // A scheduled mutation that throws is gone, and so is all that it did.
        await ctx.runMutation(self, { ...given, again: true }).catch(() => {});
      return result;
    };
    const exported = (module as Record<string, object>)[name]!;
    // It is called with one argument more.
    const wrapped = Object.create(exported, {
      _handler: { value: handler },
      exportArgs: { value: () => JSON.stringify({ type: "any" }) },
    }) as unknown;
    return { ...module, [name]: wrapped };
  };
  const named = (path: string) =>
    path.includes("/_workflows/") ? "entry" : path.endsWith("/engine/entry.js") ? "enter" : null;
  return Object.fromEntries(
    Object.entries(modules).map(([path, load]) => {
      const name = named(path);
      if (name === null) return [path, load];
      let loaded: Promise<unknown> | undefined;
      return [
        path,
        () => (loaded ??= load().then((module) => again(path, name, module as object))),
      ];
    }),
  );
}

/**
 * Faults of actions that die, so many of them, when they have done what they do: nothing that they
 * report comes through.
 */
export function dying(times = Infinity): Faults {
  let deaths = 0;
  return {
    settle: ({ slot }) => slot !== undefined && deaths < times,
    fails: (name) => name === "lib:keep" && deaths++ < times,
  };
}

interface AppOptions extends CounterOptions {
  /** Those of another app, with the same schema. Default: those of ./convex. */
  readonly modules?: Modules;
}

/** The test app of ./convex on a back end of its own, in virtual time, with every limit on. */
export class TestApp {
  readonly counter: Counter;
  readonly t;

  constructor({ modules = testModules, ...faults }: Faults & AppOptions = {}) {
    this.counter = new Counter(faults);
    const { twice = false } = faults;
    this.t = this.counter.convexTest({ schema, modules: twice ? delivering(modules) : modules });
    // One module for all calls: the counter wraps each that it has not met.
    const faulty = { ...lib, settle: settleWith(faults) };
    const parts = twice ? delivering(component) : component;
    const all = { ...parts, "./component/lib.js": async () => faulty };
    const { fails } = faults;
    const faultyComponent = fails === undefined ? all : failing(all, fails);
    logUsually();
    this.t.registerComponent("workflow", componentSchema, faultyComponent);
  }

  /** Starts a run; nothing of it has run when this returns. */
  async start(name: string, input: unknown, key?: string): Promise<string> {
    return await this.t.mutation(internal.runs.start, { name, input, ...(key ? { key } : {}) });
  }

  /** Lets virtual time go by until nothing is scheduled any more, or until `done`. */
  async drive(done?: () => boolean | Promise<boolean>): Promise<void> {
    await this.counter.drive({ timers: vitestTimers(vi), ...(done ? { done } : {}) });
  }

  /** Lets so many ms of virtual time go by. */
  async advance(ms: number): Promise<void> {
    const until = Date.now() + ms;
    const end = setTimeout(() => {}, ms);
    await this.drive(() => Date.now() >= until);
    clearTimeout(end);
  }

  async status(name: string, runId: string): Promise<Status<unknown> | null> {
    return await this.counter.uncounted(() => this.t.query(internal.runs.status, { name, runId }));
  }

  /** Starts a run and lets it come to its end. */
  async run(name: string, input: unknown): Promise<Status<unknown>> {
    const id = await this.start(name, input);
    await this.drive();
    const status = await this.status(name, id);
    if (status === null) throw new Error(`The run of "${name}" is gone`);
    return status;
  }

  /** The output of a run that completes. */
  async output(name: string, input: unknown): Promise<unknown> {
    const status = await this.run(name, input);
    if (status.state !== "completed")
      throw new Error(`The run of "${name}" is ${status.state}: ${JSON.stringify(status)}`);
    return status.output;
  }

  /** The error of a run that fails. */
  async error(name: string, input: unknown) {
    const status = await this.run(name, input);
    if (status.state !== "failed") throw new Error(`The run of "${name}" is ${status.state}`);
    return status.error;
  }

  /** A run and those under it, with all their steps. */
  async tree(runId: string) {
    const tree = await this.counter.uncounted(() =>
      this.t.query(components.workflow.views.tree, { runId }),
    );
    if (tree === null) throw new Error("There is no such run");
    return tree.runs;
  }

  /** The steps of a run, as `stage state`. */
  async steps(runId: string): Promise<string[]> {
    const [top] = await this.tree(runId);
    return (top?.steps ?? []).map(({ stage, state }) => `${stage} ${state}`);
  }

  async log(): Promise<string[]> {
    return await this.counter.uncounted(() => this.t.query(internal.app.logged, {}));
  }

  /** Looks at the component's own tables. convex-test has this; its types do not say so. */
  async inComponent<Result>(look: (ctx: MutationCtx) => Promise<Result>): Promise<Result> {
    const t = this.t as unknown as {
      runInComponent(path: string, look: (ctx: MutationCtx) => Promise<Result>): Promise<Result>;
    };
    return await t.runInComponent("workflow", look);
  }

  /** The scheduled functions of the component, also those that have ended. */
  async jobs() {
    return await this.inComponent((ctx) => ctx.db.system.query("_scheduled_functions").collect());
  }

  /** How many slots of the pool are held. */
  async slotsHeld(): Promise<number> {
    return await this.inComponent(async (ctx) => {
      const slots = await ctx.db.query("slots").collect();
      return slots.filter(({ work }) => work !== undefined).length;
    });
  }

  /**
   * What must hold whenever nothing is going on: no slot is held, nothing waits, nothing is
   * scheduled.
   */
  async expectNothingLeft(): Promise<void> {
    const left = await this.counter.uncounted(() =>
      this.inComponent(async (ctx) => {
        const jobs = await ctx.db.system.query("_scheduled_functions").collect();
        return {
          waiting: (await ctx.db.query("waiting").collect()).length,
          largeArgs: (await ctx.db.query("largeArgs").collect()).length,
          // The pool's one last sweep comes after the last run; it is nobody's.
          scheduled: jobs.filter(
            (job) => job.state.kind === "pending" && !isOf("watchdog:sweep")(job),
          ).length,
          failedJobs: jobs.filter(({ state }) => state.kind === "failed").length,
        };
      }),
    );
    expect(await this.slotsHeld()).toBe(0);
    expect(left).toEqual({ waiting: 0, largeArgs: 0, scheduled: 0, failedJobs: 0 });
  }
}

/** A fresh app for every test of a file, with fake timers around it. */
export function useTestApp(options: AppOptions = {}): { readonly app: TestApp } {
  let current: TestApp | undefined;
  beforeEach(() => {
    vi.useFakeTimers();
    spanLongTimers();
    // Those of the test kit, which is used by other tests.
    clearStubs();
    current = new TestApp(options);
  });
  afterEach(() => {
    vi.useRealTimers();
    // What convex-test lets pass and a deployment does not: how deep calls are nested, how long a
    // list is, what a canceled job schedules.
    expect(current?.counter.violations).toEqual([]);
  });
  return {
    get app() {
      if (current === undefined) throw new Error("There is an app only inside a test");
      return current;
    },
  };
}
