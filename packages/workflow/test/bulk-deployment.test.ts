/** @module-tag large */
import { CLASSES, Deployment } from "@stepwise/testing";
import {
  componentsGeneric,
  defineSchema,
  internalMutationGeneric,
  internalQueryGeneric,
} from "convex/server";
import { v } from "convex/values";
import { beforeEach, expect, test, vi } from "vitest";
import type { ComponentApi } from "../src/component/_generated/component.js";
import {
  type BulkStatus,
  defineWorkflow,
  WorkflowManager,
  type WorkflowReference,
} from "../src/index.js";
import { compiled } from "../src/runtime/index.js";
import { modules, schema } from "../src/test.js";
import { checkTable, type Doc, type TableNames } from "./component.js";

const components = componentsGeneric() as unknown as { workflow: ComponentApi };
const workflow = new WorkflowManager(components.workflow);

/** A version of an app: its workflow asks for what is away, or for what is there again. */
function versionOf(plan: string, ask: () => string) {
  const input = v.object({});
  const definition = defineWorkflow({ input }).step("ask", { action: async () => ask() });
  const own = compiled(components.workflow, "asks", definition, { format: 1, plan });
  const asks = own.reference<WorkflowReference<object>>(input);
  const functions = {
    ask: own.action("ask", definition.nodes.ask.action),
    askDone: own.completion("ask", (run) => run.complete("ask")),
    entry: own.entry({ at: { ask: own.queue("ask") } }),
  };
  const manage = {
    start: internalMutationGeneric(async (ctx, { count }: any) =>
      workflow.startBatch(
        ctx,
        asks,
        Array.from({ length: count as number }, () => ({})),
      ),
    ),
    bulk: internalMutationGeneric(async (ctx, { where, ...options }: any) =>
      workflow.bulk.start(ctx, { ...options, where: { ...where, workflow: asks } }),
    ),
    get: internalQueryGeneric(async (ctx, { bulkId }: any) => workflow.bulk.get(ctx, bulkId)),
    pool: internalMutationGeneric(async (ctx, { maxParallelism }: any) =>
      ctx.runMutation(components.workflow.config.update, { maxParallelism }),
    ),
  };
  const app = {
    "./convex/_generated/api.js": async () => ({}),
    "./convex/_workflows/asks.js": async () => functions,
    "./convex/manage.js": async () => manage,
  };
  return [
    { path: "", schema: defineSchema({}), modules: app },
    { path: "workflow", schema, modules },
  ];
}

const away = versionOf("first", () => {
  throw new Error("It is away");
});
const back = versionOf("second", () => "answer");

/** A deployment with runs that have failed, on which something befalls a bulk restart of them. */
class Shop {
  private constructor(readonly deployment: Deployment) {}

  static async of(): Promise<Shop> {
    return new Shop(await Deployment.of(away, { class: CLASSES.s256, seed: 7 }));
  }

  async call(name: string, args: Record<string, unknown>): Promise<any> {
    let isDone = false;
    const call = this.deployment.mutation(`manage:${name}`, args);
    const end = () => void (isDone = true);
    call.then(end, end);
    await this.deployment.drive({ done: () => isDone });
    return await call;
  }

  async status(bulkId: string): Promise<BulkStatus> {
    return (await this.deployment.look("manage:get", { bulkId })) as BulkStatus;
  }

  rows<Table extends TableNames>(table: Table): Doc<Table>[] {
    checkTable(table);
    return this.deployment.rows<Doc<Table>>("workflow", table);
  }

  /** Restarts all, while nobody looks, the deployment crashes and the other version is deployed. */
  async restartAll(pages: number): Promise<{ bulk: BulkStatus; executions: number }> {
    let executions = 0;
    this.deployment.onHappening((event) => {
      if (event.what === "started" && event.path.name === "bulk:nextPage") executions++;
    });
    const bulkId = (await this.call("bulk", {
      do: "restart",
      where: { state: "failed" },
    })) as string;
    await this.deployment.drive({ done: () => executions >= Math.ceil(pages / 3) });
    this.deployment.crash(() => false);
    await this.deployment.drive({ done: () => executions >= Math.ceil((2 * pages) / 3) });
    await this.deployment.deploy(back);
    await this.deployment.drive();
    return { bulk: await this.status(bulkId), executions };
  }
}

beforeEach(() => {
  // What is made to fail says so.
  for (const method of ["log", "warn", "error"] as const)
    vi.spyOn(console, method).mockImplementation(() => {});
});

test("[S183] a bulk restart goes on without who began it, through a crash and a deploy", async () => {
  const shop = await Shop.of();
  await shop.call("pool", { maxParallelism: 100 });
  await shop.call("start", { count: 160 });
  await shop.deployment.drive();
  const { bulk, executions } = await shop.restartAll(4);
  expect(bulk).toMatchObject({ state: "completed", done: 160, refused: 0 });
  // What the crash has interrupted began once more.
  expect(executions).toBeLessThanOrEqual(160 / 50 + 2);
  const runs = shop.rows("runs");
  expect(runs.map(({ generation }) => generation)).toEqual(runs.map(() => 2));
  // The last pages restart by the plan that is deployed then.
  expect(new Set(runs.map(({ plan }) => plan))).toEqual(new Set(["first", "second"]));
  expect(runs.filter(({ state }) => state === "completed").length).toBeGreaterThan(0);
  expect(shop.rows("continuations")).toEqual([]);
});

test("[S183] so it does with 5,000 runs", { tags: ["large"] }, async () => {
  const shop = await Shop.of();
  await shop.call("start", { count: 1 });
  await shop.deployment.drive();
  const [{ _id, _creationTime, ...run }] = shop.rows("runs") as [Doc<"runs">];
  for (let n = 1; n < 5_000; n++) shop.deployment.plant("workflow", "runs", run);
  // What they do then is not the bulk's.
  await shop.call("pool", { maxParallelism: 0 });
  const { bulk, executions } = await shop.restartAll(100);
  expect(bulk).toMatchObject({ state: "completed", done: 5_000, refused: 0 });
  expect(executions).toBeLessThanOrEqual(5_000 / 50 + 2);
  expect(shop.rows("runs").every(({ generation }) => generation === 2)).toBe(true);
});
