import { anyApi, componentsGeneric, type FunctionReference } from "convex/server";
import { expect, test, vi } from "vitest";
import { openBackEnd } from "../../src/dev-server/back-end.js";
import { convexConfig, type TestApp, writeApp } from "./app.js";

/** A component as packages ship them, here in TypeScript. It needs no export for tests. */
function tallyPackage(): Record<string, string> {
  const exports = { "./convex.config": "./src/component/convex.config.ts" };
  const folder = "../node_modules/tally";
  return {
    [`${folder}/package.json`]: JSON.stringify({ name: "tally", type: "module", exports }),
    [`${folder}/src/component/_generated/api.ts`]: "export {};",
    [`${folder}/src/component/convex.config.ts`]: `
      import { defineComponent } from "convex/server";
      export default defineComponent("tally");
    `,
    ...marks(`${folder}/src/component`, "tally"),
  };
}

function marks(folder: string, by: string): Record<string, string> {
  return {
    [`${folder}/schema.ts`]: `
      import { defineSchema, defineTable } from "convex/server";
      import { v } from "convex/values";
      export default defineSchema({ marks: defineTable({ of: v.string() }) });
    `,
    [`${folder}/marks.ts`]: `
      import { mutationGeneric } from "convex/server";
      import { v } from "convex/values";
      export const add = mutationGeneric({
        args: { of: v.string() },
        handler: async (ctx, { of }) => {
          await ctx.db.insert("marks", { of });
          return "${by} marked " + of;
        },
      });
    `,
  };
}

const TASKS = `
  import { components } from "./_generated/api";
  import { mutation } from "./_generated/server";
  export const mark = mutation({
    args: {},
    handler: async (ctx) => await ctx.runMutation(components.scores.marks.add, { of: "it" }),
  });
`;

/** Schedules itself without end, as a watchdog does. */
const TICKS = `
  import { anyApi, mutationGeneric } from "convex/server";
  export const tick = mutationGeneric({
    args: {},
    handler: async (ctx) => void (await ctx.scheduler.runAfter(10_000, anyApi.ticks.tick, {})),
  });
`;

interface Ticker {
  readonly ticks: { readonly tick: FunctionReference<"mutation", "internal"> };
}

async function call(app: TestApp): Promise<unknown> {
  const back = await openBackEnd(app.functionsDir);
  try {
    return await back.t.mutation(anyApi["tasks"]!["mark"]!, {});
  } finally {
    back.close();
    await app.remove();
  }
}

test(
  "a component of a package is mounted under the name the app gives it, though _generated is older",
  { tags: ["large"] },
  async () => {
    const app = await writeApp({
      ...tallyPackage(),
      "_generated/api.js": "export const api = {};",
      "convex.config.ts": `
      import tally from "tally/convex.config";
      import { defineApp } from "convex/server";
      const app = defineApp();
      app.use(tally, { name: "scores" });
      export default app;
    `,
      "tasks.ts": TASKS,
    });
    expect(await call(app)).toBe("tally marked it");
  },
);

test("a component of the project may mount one of a package itself", async () => {
  const app = await writeApp({
    ...tallyPackage(),
    "convex.config.ts": `
      import scores from "./scores/convex.config.js";
      import { defineApp } from "convex/server";
      const app = defineApp();
      app.use(scores);
      export default app;
    `,
    "scores/convex.config.ts": `
      import tally from "tally/convex.config";
      import { defineComponent } from "convex/server";
      const component = defineComponent("scores");
      component.use(tally);
      export default component;
    `,
    "scores/marks.ts": `
      import { v } from "convex/values";
      import { components } from "./_generated/api";
      import { mutation } from "./_generated/server";
      export const add = mutation({
        args: { of: v.string() },
        handler: async (ctx, args) => "through scores, " + (await ctx.runMutation(components.tally.marks.add, args)),
      });
    `,
    "tasks.ts": TASKS,
  });
  expect(await call(app)).toBe("through scores, tally marked it");
});

test("an app without components and without a schema is mounted too", async () => {
  const app = await writeApp({
    "tasks.ts": `
      import { mutation } from "./_generated/server";
      export const mark = mutation({
        args: {},
        handler: async (ctx) => {
          await ctx.db.insert("anything", { at: 1 });
          return (await ctx.db.query("anything").collect()).length;
        },
      });
    `,
  });
  expect(await call(app)).toBe(1);
});

test("a back end that is closed begins nothing any more that it has scheduled", async () => {
  const app = await writeApp({
    "convex.config.ts": `
      import ticker from "./ticker/convex.config.js";
      import { defineApp } from "convex/server";
      const app = defineApp();
      app.use(ticker);
      export default app;
    `,
    "ticker/convex.config.ts": `
      import { defineComponent } from "convex/server";
      export default defineComponent("ticker");
    `,
    "ticker/ticks.ts": TICKS,
    "ticks.ts": TICKS,
  });
  const back = await openBackEnd(app.functionsDir);
  vi.useFakeTimers();
  try {
    await back.t.mutation(anyApi["ticks"]!["tick"]!, {});
    const component = componentsGeneric()["ticker"] as unknown as Ticker;
    await back.t.mutation((ctx) => ctx.runMutation(component.ticks.tick, {}));
    const ticks = () => back.counter.totals(({ name }) => name === "ticks:tick").executions;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(ticks()).toBe(4);
    back.close();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ticks()).toBe(4);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
    back.close();
    await app.remove();
  }
});

const MANY = `
  import { defineWorkflow } from "@stepwise/workflow";
  import { z } from "zod";
  const pause = () => new Promise((go) => setTimeout(go, 100));
  export const many = defineWorkflow({ input: z.object({}) }).each("acts", {
    of: () => [1, 2, 3, 4, 5, 6, 7, 8, 9],
    body: (b) => b.step("act", { action: () => pause() }),
  });
`;

test(
  "what executes works of an app that wait does nothing by itself: while time is skipped, only actions are waited for",
  { tags: ["large"] },
  async () => {
    const app = await writeApp({
      "convex.config.ts": convexConfig(),
      "stepwise.config.ts": `
        import { defineConfig } from "@stepwise/workflow";
        export default defineConfig({ maxParallelism: 2 });
      `,
      "many.workflow.ts": MANY,
      "starts.ts": `
        import { mutationGeneric } from "convex/server";
        import { workflow, workflows } from "./_workflows/index";
        export const start = mutationGeneric((ctx) => workflow.start(ctx, workflows.many, {}));
      `,
    });
    const back = await openBackEnd(app.functionsDir);
    const { counter } = back;
    const seen = new Set<string>();
    const looks = setInterval(() => seen.add(`${counter.waiting} of ${counter.running}`), 1);
    try {
      await back.t.mutation(anyApi["starts"]!["start"]!, {});
      // The executor, and the two actions that it has begun.
      await vi.waitFor(() => expect([...seen]).toContain("1 of 3"), 10_000);
    } finally {
      clearInterval(looks);
      back.close();
      await app.remove();
    }
  },
);
