/** @module-tag large */
import { Counter, vitestTimers } from "@stepwise/testing";
import { defineWorkflow } from "@stepwise/workflow";
import {
  type Arrival,
  compiled,
  type Run,
  type WorkflowReference,
} from "@stepwise/workflow/runtime";
import { ASKS_EVERY_MS, type PoolMutationCtx, setMaxParallelism } from "@stepwise/workpool/core";
import type { GenericMutationCtx } from "convex/server";
import { afterEach, beforeEach, vi } from "vitest";
import { z } from "zod";
import {
  conformance,
  conformanceOfSuccessors,
  type PoolWithSuccessors,
} from "../../workpool/test/conformance-suite.js";
import { pool } from "../src/component/core/poolHost.js";
import { WorkflowManager } from "../src/index.js";
import { modules as component, schema as componentSchema } from "../src/test.js";
import { components } from "./convex/_generated/api.js";
import schema from "./convex/schema.js";
import { isOf } from "./component.js";

/*
 * The pool in this component keeps the promises that it keeps in the workpool component. A work is
 * a run of one action; a chain is a run of as many as it has links.
 */

type Job = { label: string; ms: number };
type Event = { what: "start" | "end"; label: string; at: number };

/** What the jobs of the test that runs have done. */
let events: Event[] = [];

async function runJob({ label, ms }: Job): Promise<null> {
  events.push({ what: "start", label, at: Date.now() });
  await new Promise((resolve) => ms >= 0 && setTimeout(resolve, ms));
  events.push({ what: "end", label, at: Date.now() });
  return null;
}

/** A workflow of so many actions, and its functions, as the compiler would write them. */
function chainOf(name: string, length: number, job: (input: Job) => Promise<null>) {
  const input = z.object({ label: z.string(), ms: z.number() });
  const stages = Array.from({ length }, (_, i) => `link${i}`);
  const handler = (_ctx: unknown, scope: { input: Job }) => job(scope.input);
  // How many steps there are is known only here, so their types are not followed.
  let definition: any = defineWorkflow({ input });
  for (const stage of stages) definition = definition.step(stage, { action: handler });
  const own = compiled(components.workflow, name, definition, {
    format: 1,
    plan: "",
    reads: Object.fromEntries(stages.map((stage) => [stage, ["input"]])),
  });
  const arriveAt = (i: number): ((run: Run) => Arrival) => {
    const stage = stages[i];
    return stage === undefined ? (run) => run.complete(stages.at(-1)!) : (run) => run.action(stage);
  };
  const functions = Object.fromEntries(
    stages.flatMap((stage, i): [string, unknown][] => [
      [stage, own.action(stage, handler)],
      [`${stage}Done`, own.completion(stage, arriveAt(i + 1))],
    ]),
  );
  const at = Object.fromEntries(stages.map((stage, i) => [stage, arriveAt(i)]));
  return {
    reference: own.reference<WorkflowReference<Job>>(input),
    module: { ...functions, entry: own.entry({ at }) },
  };
}

const WORKFLOWS = {
  one: chainOf("one", 1, runJob),
  throwing: chainOf("throwing", 1, async ({ label }) => {
    events.push({ what: "start", label, at: Date.now() });
    throw new Error("it throws");
  }),
  chain25: chainOf("chain25", 25, runJob),
  chain80: chainOf("chain80", 80, runJob),
};
const CHAINS: Readonly<Record<number, WorkflowReference<Job>>> = {
  25: WORKFLOWS.chain25.reference,
  80: WORKFLOWS.chain80.reference,
};

const modules: Record<string, () => Promise<unknown>> = {
  "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
  ...Object.fromEntries(
    Object.entries(WORKFLOWS).map(([name, { module }]) => [
      `./convex/_workflows/${name}.js`,
      async () => module,
    ]),
  ),
};

// Loading takes real time, which virtual time does not wait for.
await Promise.all([modules, component].flatMap((some) => Object.values(some).map((m) => m())));

beforeEach(() => {
  events = [];
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  for (const method of ["error", "warn"] as const)
    vi.spyOn(console, method).mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

function create(): PoolWithSuccessors {
  const counter = new Counter();
  const t = counter.convexTest({ schema, modules, transactionLimits: true });
  t.registerComponent("workflow", componentSchema, component);
  const manager = new WorkflowManager(components.workflow);
  const start = async (workflow: WorkflowReference<Job>, job: Job) => {
    await t.mutation(async (ctx) => await manager.start(ctx, workflow, job));
  };
  const inComponent = async <Result>(
    look: (ctx: GenericMutationCtx<any>) => Promise<Result>,
  ): Promise<Result> => {
    // convex-test has this method, but does not declare it.
    const inner = t as unknown as { runInComponent(path: string, look: unknown): Promise<Result> };
    return await inner.runInComponent("workflow", look);
  };
  return {
    firstSweepMs: 10_000,
    looksEveryMs: ASKS_EVERY_MS,
    // What `lib.start` does with the manager's option, without the run.
    setMaxParallelism: (n) => inComponent((ctx) => setMaxParallelism(ctx, pool, n)),
    enqueue: (label, ms) => start(WORKFLOWS.one.reference, { label, ms }),
    enqueueThrowing: (label) => start(WORKFLOWS.throwing.reference, { label, ms: 0 }),
    enqueueChain: async (label, ms, length) => {
      const chain = CHAINS[length];
      if (chain === undefined) throw new Error(`There is no workflow of ${length} actions`);
      await start(chain, { label, ms });
    },
    drive: async (ms) => {
      const end = Date.now() + ms;
      setTimeout(() => {}, ms);
      await counter.drive({ timers: vitestTimers(vi), done: () => Date.now() >= end });
    },
    driveOut: async () => {
      await counter.drive({ timers: vitestTimers(vi) });
    },
    events: async (what) => events.filter((event) => event.what === what),
    losses: () =>
      inComponent(async (ctx) => {
        const steps = await ctx.db.query("steps").collect();
        return steps
          .flatMap((step) => (step.errors ?? []) as { kind: string; message: string }[])
          .filter(({ kind }) => kind === "lost" || kind === "removedNode")
          .map(({ message }) => message);
      }),
    inDatabase: (read) => inComponent((ctx) => read(ctx as PoolMutationCtx)),
    sweeps: () => counter.totals(isOf("watchdog:sweep")).rootExecutions,
  };
}

conformance("the workflow component", create);
conformanceOfSuccessors("the workflow component", create);
