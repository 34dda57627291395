import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/* Several things at once, and the same for each item. */

const hidden = <Value>(value: Value): Value => value;
const takes = async (ms: number) => await new Promise((resolve) => setTimeout(resolve, ms));

/** Probes a video and makes a thumbnail of it at once; then a subtitle in each language. */
export const listed = defineWorkflow({
  input: z.object({
    videoId: z.string(),
    langs: z.array(z.string()),
    probeMs: z.number().default(100),
    thumbMs: z.number().default(200),
    fails: z.string().default(""),
  }),
})
  .step("video", { query: (_ctx, { input }) => ({ path: `/${input.videoId}` }) })
  .parallel("facts", {
    branches: {
      probe: (b) =>
        b.step("probed", {
          action: async (_ctx, { input, video }) => {
            await takes(input.probeMs);
            if (input.fails === "probe") throw new Error("cannot probe");
            return `probed ${video.path}`;
          },
          compensate: {
            mutation: async (ctx, { output, input, error }) => {
              await ctx.db.insert("log", { text: `undo ${output} ${input.videoId} ${error.node}` });
            },
          },
        }),
      "still image": (b) =>
        b
          .step("frame", {
            action: async (_ctx, { input }) => {
              await takes(input.thumbMs);
              if (input.fails === "thumb") throw new Error("no frame");
              return 7;
            },
            compensate: {
              mutation: async (ctx, { output }) => {
                await ctx.db.insert("log", { text: `undo frame ${output}` });
              },
            },
          })
          .step("thumb", { mutation: (_ctx, { frame, video }) => `${video.path} at ${frame}` }),
    },
  })
  .each("subtitles", {
    of: ({ input }) => input.langs,
    body: (b) =>
      b.step("text", {
        action: async (_ctx, { each, facts, input }) => {
          await takes(each.index === 0 ? 300 : 100);
          if (input.fails === each.item) throw new Error(`not in ${each.item}`);
          return `${each.index} ${each.item} ${facts.probe}`;
        },
      }),
  })
  .finalize({ query: (_ctx, { facts, subtitles }) => ({ facts, subtitles }) });

/** A record of items, two at a time, some of which may fail. */
export const doubled = defineWorkflow({
  input: z.object({ items: z.record(z.string(), z.number()), most: z.number() }),
}).each("all", {
  of: ({ input }) => input.items,
  body: (b) =>
    b.step("one", {
      action: async (_ctx, { each }) => {
        await takes(100);
        if (each.item < 0) throw new Error(`${each.key} is negative`);
        return each.item * 2;
      },
    }),
  concurrency: ({ input }) => input.most,
  tolerate: { failures: 1 },
});

/** Items of which some are not there. */
export const gaps = defineWorkflow({
  input: z.object({ what: z.enum(["hole", "undefined", "field", "text"]) }),
}).each("all", {
  of: ({ input }): Record<string, number | undefined> | (number | undefined)[] => {
    if (input.what === "text") return "a, b" as never;
    if (input.what === "hole") return Array<number>(2).fill(1, 0, 1);
    return input.what === "undefined" ? [1, undefined] : { a: 1, b: undefined };
  },
  body: (b) => b.step("one", { query: (_ctx, { each }) => each.item ?? "none" }),
});

/** Only queries, mutations and waits, in a loop, one in the other. */
export const nested = defineWorkflow({
  input: z.object({ rows: z.array(z.array(z.number())) }),
}).loop("rounds", {
  initial: () => 0,
  body: (b) =>
    b
      .step("start", { query: (_ctx, { loop }) => loop.iteration * 100 })
      .each("rows", {
        of: ({ input }) => input.rows,
        body: (row) =>
          row.step("width", { query: (_ctx, { each }) => each.item.length }).each("cells", {
            of: ({ each }) => each.item,
            body: (cell) =>
              cell.sleep("wait", 10).step("value", {
                mutation: (_ctx, { each, width, start, loop, input }) =>
                  each.item + width * 10 + start + loop.state + input.rows.length,
              }),
            reduce: { initial: 0, step: (sum, value, at) => sum + value * (at + 1) },
          }),
      })
      .parallel("both", {
        branches: {
          sum: (branch) =>
            branch.step("total", {
              query: (_ctx, { rows }) => rows.reduce((sum, each) => sum + each, 0),
            }),
          counted: (branch) =>
            branch.loop("count", {
              initial: ({ start }) => start,
              body: (inner) =>
                inner.step("more", { query: (_ctx, { loop }) => loop.state + loop.iteration }),
              until: ({ loop }) => loop.iteration === 3,
              maxIterations: 3,
            }),
        },
      })
      .step("next", { query: (_ctx, { both }) => both.sum + both.counted }),
  until: ({ loop }) => loop.iteration === 2,
  maxIterations: 2,
});

/** Fails after its branches, so that they are undone; or in time, or recovers. */
export const undone = defineWorkflow({
  input: z.object({ fails: z.boolean(), ms: z.number().default(0) }),
})
  .loop("rounds", {
    initial: () => "a",
    body: (b) =>
      b
        .parallel("both", {
          branches: {
            first: (one) =>
              one.step("done", {
                mutation: (_ctx, { loop }) => `first ${loop.state}`,
                compensate: {
                  mutation: async (ctx, { output, loop }) => {
                    await ctx.db.insert("log", { text: `undo ${output} ${loop.state}` });
                  },
                },
              }),
            second: (two) =>
              two.sleep("wait", 50).step("late", {
                action: async (_ctx, { loop }) => `second ${loop.state}`,
                compensate: {
                  action: async (_ctx, { output, loop }) => [output, loop],
                },
              }),
          },
        })
        .step("next", { query: (_ctx, { loop, both }) => `${loop.state}${both.first.length}` }),
    until: ({ loop }) => loop.iteration === 2,
    maxIterations: 2,
  })
  .step("last", {
    mutation: async (ctx, { input }) => {
      const mended = (await ctx.db.query("log").collect()).some(({ text }) => text === "mended");
      if (input.fails && !mended) throw new Error("fails at the end");
      return "done";
    },
  });

/** Takes too long, and recovers. */
export const hurried = defineWorkflow({ input: z.object({ ms: z.number() }) }).parallel("slow", {
  branches: {
    sleeps: (b) => b.sleep("long", ({ input }) => input.ms),
    works: (b) =>
      b.step("work", {
        action: async (_ctx, { input }, info) => {
          await takes(input.ms);
          return await info.isCanceled();
        },
      }),
  },
  timeout: "1s",
  recover: (error) => error.kind,
});

/** Its parent recovers, in a branch whose name is no identifier, with the whole scope. */
export const recoveredFacts = defineWorkflow({
  input: z.object({ most: z.number() }),
}).parallel("facts", {
  // What the compiler does not see.
  ...hidden({ concurrency: ({ input }: { input: { most: number } }) => input.most }),
  branches: {
    "still image": (b) =>
      b.parent("frames", {
        query: () => 2,
        children: ({ output }) => [child(doubled, { items: { a: -1, b: -2 }, most: output })],
        recover: (error, scope) => [error.node, ...Object.keys(scope)],
      }),
  },
});

/** Makes one text of its branches. */
export const toldFacts = defineWorkflow({ input: z.object({}) }).parallel("facts", {
  branches: {
    one: (b) => b.step("first", { query: () => 1 }),
    "the other": (b) => b.step("second", { query: () => 2 }),
  },
  reduce: { initial: "", step: (text, fact, key) => `${text}${key}: ${fact}; ` },
});

/** What is secret stays so in branches and items. */
export const guarded = defineWorkflow({
  input: z.object({ name: z.string(), cards: z.array(z.string()) }),
  sensitive: ["input.cards"],
})
  .each("charges", {
    of: ({ input }) => input.cards,
    body: (b) =>
      b.step("charge", {
        action: async (_ctx, { each, input }) => (input.name === "" ? 0 : each.item.length),
      }),
  })
  .step("sum", { query: (_ctx, { charges }) => charges.reduce((sum, each) => sum + each, 0) });

/** A parent of such a workflow, and other children in a branch. */
export const above = defineWorkflow({ input: z.object({ n: z.number() }) })
  .parallel("both", {
    branches: {
      runs: (b) =>
        b.parent("below", {
          children: ({ input }) => [
            child(doubled, { items: { a: input.n }, most: 1 }),
            child(doubled, { items: { b: input.n + 1 }, most: 1 }),
          ],
        }),
      routed: (b) =>
        b.branch("route", {
          on: ({ input }) => (input.n > 5 ? "big" : "small"),
          cases: { big: (c) => c, small: (c) => c.step("tiny", { query: () => "tiny" }) },
        }),
    },
  })
  .each("none", { of: () => [] as number[], body: (b) => b.step("never", { query: () => 1 }) });

/** Branches that wait for events. Each tells its run, so that these can be sent to it. */
export const polled = defineWorkflow({ input: z.object({ names: z.array(z.string()) }) })
  .each("answers", {
    of: ({ input }) => input.names,
    body: (b) =>
      b.event("answer", {
        schema: z.object({ by: z.string(), text: z.string() }),
        match: ({ by }, { each }) => by === each.item,
      }),
  })
  .event("approval", { schema: z.string() });

export const quickNap = defineWorkflow({ input: z.object({}) }).sleep("rest", 1_000);

const naps = () => [child(quickNap, {}), child(quickNap, {})];

/** Both branches go on at one moment, of which one fails. */
export const atOneMoment = defineWorkflow({ input: z.object({}) }).parallel("both", {
  branches: {
    fails: (b) =>
      b.parent("slept", { children: naps }).branch("chosen", {
        on: (): "some" => {
          throw new Error("fails");
        },
        cases: { some: (c) => c },
      }),
    holds: (b) =>
      b
        .parent("rested", { children: naps })
        .step("held", {
          mutation: async (ctx) => void (await ctx.db.insert("log", { text: "held" })),
          compensate: {
            mutation: async (ctx) => void (await ctx.db.insert("log", { text: "undone" })),
          },
        })
        .sleep("rest", "1h"),
  },
});
