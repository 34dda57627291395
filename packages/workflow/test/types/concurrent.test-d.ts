import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  child,
  defineWorkflow,
  type Settled,
  type StepError,
  type WorkflowOutput,
  type WorkflowScope,
} from "../../src/definition/index.js";
import type { AllSent } from "../../src/runtime/reference.js";
import type { PathsOf } from "./paths.js";

/* Branches and items, with no annotation. */

const begin = defineWorkflow({
  input: z.object({
    id: z.string(),
    langs: z.array(z.string()),
    sizes: z.record(z.string(), z.number()),
  }),
});
const leaf = defineWorkflow({ input: z.object({ n: z.number() }) }).step("n", {
  query: (_ctx, { input }) => input.n,
});
type Out<D> = WorkflowOutput<D>;

describe("branches", () => {
  test("[S160] the output has one for each, or null", () => {
    const b = begin.parallel("facts", {
      branches: {
        a: (inner) => inner.step("x", { action: async (_ctx, { input }) => input.id.length }),
        rests: (inner) => inner.sleep("rest", "1s"),
        c: (inner) =>
          inner
            .event("asked", { schema: z.object({ by: z.string() }) })
            .step("y", { mutation: (_ctx, { asked }) => ({ by: asked.by }) }),
      },
    });
    expectTypeOf<WorkflowScope<typeof b>["facts"]>().toEqualTypeOf<{
      a: number;
      rests: null;
      c: { by: string };
    }>();
    expectTypeOf<PathsOf<typeof b>>().toEqualTypeOf<
      "facts" | "facts.a.x" | "facts.rests.rest" | "facts.c.asked" | "facts.c.y"
    >();
  });

  test("[S160] so it has where they are the last node of a branch, a case, an item or a body", () => {
    const nested = begin
      .parallel("outer", {
        branches: {
          list: (b) =>
            b.each("all", {
              of: ({ input }) => input.langs,
              body: (c) =>
                c.parallel("inner", { branches: { x: (d) => d.step("s", { query: () => 1 }) } }),
            }),
        },
        tolerate: "all",
      })
      .branch("way", {
        on: () => "only" as const,
        cases: {
          only: (b) =>
            b.each("all", {
              of: () => ({ k: 1 }),
              body: (c) => c.step("s", { query: () => "" }),
              reduce: { initial: 0, step: (sum, text) => sum + text.length },
            }),
        },
      });
    expectTypeOf<WorkflowScope<typeof nested>["outer"]>().toEqualTypeOf<{
      list: Settled<{ x: number }[]>;
    }>();
    expectTypeOf<Out<typeof nested>>().toEqualTypeOf<number>();
  });

  test("[S162] tolerate, reduce and recover change it as those of a parent do", () => {
    const tolerant = begin.parallel("facts", {
      branches: {
        a: (inner) => inner.step("x", { query: () => 1 }),
        t: (inner) => inner.step("y", { query: () => "text" }),
      },
      tolerate: "all",
    });
    expectTypeOf<Out<typeof tolerant>>().toEqualTypeOf<{
      a: Settled<number>;
      t: Settled<string>;
    }>();
    const reduced = begin.parallel("facts", {
      branches: {
        a: (inner) => inner.step("x", { query: () => 1 }),
        t: (inner) => inner.step("y", { query: () => "text" }),
      },
      reduce: {
        initial: { seen: 0 },
        step: (all, output, key) => {
          expectTypeOf(output).toEqualTypeOf<number | string>();
          expectTypeOf(key).toEqualTypeOf<"a" | "t">();
          return { seen: all.seen + 1 };
        },
      },
    });
    expectTypeOf<Out<typeof reduced>>().toEqualTypeOf<{ seen: number }>();
    const recovered = begin.parallel("facts", {
      branches: { a: (inner) => inner.step("x", { query: () => 1 }) },
      recover: (error) => ({ failed: error.message }),
      timeout: "1h",
      concurrency: ({ input }) => input.langs.length,
    });
    expectTypeOf<Out<typeof recovered>>().toEqualTypeOf<{ a: number } | { failed: string }>();
  });
});

describe("cases of a race", () => {
  const race = begin.race("settled", {
    cases: {
      paid: (b) => b.event("payment", { schema: z.object({ cents: z.number() }) }),
      lapsed: (b) => b.sleep("week", "7 days"),
      404: (b) => b.step("gone", { action: async (_ctx, { input }) => input.langs }),
    },
  });

  test("[S168] the output is a union, told apart by the case", () => {
    expectTypeOf<Out<typeof race>>().toEqualTypeOf<
      | { case: "paid"; output: { cents: number } }
      | { case: "lapsed"; output: null }
      | { case: "404"; output: string[] }
    >();
    race.step("booked", {
      mutation: (_ctx, { settled }) => (settled.case === "paid" ? settled.output.cents : null),
    });
    expectTypeOf<PathsOf<typeof race>>().toEqualTypeOf<
      "settled" | "settled.paid.payment" | "settled.lapsed.week" | "settled.404.gone"
    >();
    expectTypeOf<keyof AllSent<typeof race>>().toEqualTypeOf<"payment">();
  });

  test("[S168] with `any` it may have failed; with `recover` it may be another value", () => {
    const first = begin.race("first", {
      cases: {
        a: (b) => b.step("x", { query: () => 1 }),
        t: (b) => b.step("y", { query: () => "text" }),
      },
      first: "any",
      compensateLosers: false,
    });
    expectTypeOf<Out<typeof first>>().toEqualTypeOf<
      | { case: "a"; ok: true; output: number }
      | { case: "a"; ok: false; error: StepError }
      | { case: "t"; ok: true; output: string }
      | { case: "t"; ok: false; error: StepError }
    >();
    const recovered = begin.race("first", {
      cases: { a: (b) => b.step("x", { query: () => 1 }) },
      timeout: "1h",
      recover: (error) => {
        expectTypeOf(error.causes).toEqualTypeOf<{ [Case in string]: StepError } | undefined>();
        return null;
      },
    });
    expectTypeOf<Out<typeof recovered>>().toEqualTypeOf<{ case: "a"; output: number } | null>();
  });
});

describe("items", () => {
  test("[S161] a list gives an index and a list, a record a key and a record", () => {
    const texts = begin.each("texts", {
      of: ({ input }) => input.langs,
      body: (b) =>
        b.step("text", {
          action: async (_ctx, { each }) => {
            expectTypeOf(each).toEqualTypeOf<{ readonly item: string; readonly index: number }>();
            return { text: each.item };
          },
        }),
    });
    expectTypeOf<Out<typeof texts>>().toEqualTypeOf<{ text: string }[]>();
    const bySize = begin.each("bySize", {
      of: ({ input }) => input.sizes,
      body: (b) =>
        b.step("made", {
          action: async (_ctx, { each }) => {
            expectTypeOf(each).toEqualTypeOf<{ readonly item: number; readonly key: string }>();
            return each.item > 3;
          },
        }),
      concurrency: 4,
      tolerate: { failures: 1 },
    });
    expectTypeOf<Out<typeof bySize>>().toEqualTypeOf<{ [x: string]: Settled<boolean> }>();
    const summed = begin.each("summed", {
      of: ({ input }) => input.langs,
      body: (b) => b.step("length", { query: (_ctx, { each }) => each.item.length }),
      tolerate: { percentage: 10 },
      reduce: {
        initial: 0,
        step: (sum, one, index) => {
          expectTypeOf(index).toEqualTypeOf<number>();
          return one.ok ? sum + one.output : sum;
        },
      },
    });
    expectTypeOf<Out<typeof summed>>().toEqualTypeOf<number>();
  });

  test("[S161] one in the other, in a loop, and around other nodes", () => {
    const nested = begin.loop("rounds", {
      initial: () => 0,
      body: (b) =>
        b
          .each("rows", {
            of: ({ input }) => input.langs.map((lang) => ({ lang, words: [1, 2] })),
            body: (row) =>
              row.each("cells", {
                of: ({ each }) => each.item.words,
                body: (cell) =>
                  cell
                    .child("one", leaf, ({ each, loop }) => ({ n: each.item + loop.iteration }))
                    .parent("many", { children: ({ one }) => [child(leaf, { n: one })] })
                    .step("cell", {
                      action: async (_ctx, { each, input, many }) => {
                        expectTypeOf(each.item).toEqualTypeOf<number>();
                        return `${input.id}${many.children.length}`;
                      },
                    }),
              }),
          })
          .step("next", {
            query: (_ctx, { rows }) => {
              expectTypeOf(rows).toEqualTypeOf<string[][]>();
              return rows.length;
            },
          }),
      until: ({ loop }) => loop.state > 1,
      maxIterations: 3,
    });
    expectTypeOf<Out<typeof nested>>().toEqualTypeOf<number>();
  });
});

describe("before the first `npx convex dev`, when `internal` is any", () => {
  const internal: any = {};
  const b = begin.step("load", {
    query: internal.claims.load,
    args: ({ input }) => ({ id: input.id }),
  });

  test("[S244] the items of an `.each` may be a list or a record, and so may its output", () => {
    const each = b.each("photos", {
      of: ({ load }) => load.photos,
      body: (c) =>
        c.step("tagged", {
          query: (_ctx, { each }) => `${each.index} ${each.key} ${each.item.id}`,
        }),
    });
    expectTypeOf<WorkflowScope<typeof each>["photos"]>().toBeAny();
    expectTypeOf<PathsOf<typeof each>>().toEqualTypeOf<"load" | "photos" | "photos.tagged">();
    each.step("first", { query: (_ctx, { photos }) => photos[0] });
    each.step("first", { query: (_ctx, { photos }) => photos.first });
  });

  test("[S244] items of any have an index in a list, and a key in a record", () => {
    b.each("photos", {
      of: ({ load }): any[] => load.photos,
      body: (c) =>
        c.step("tagged", {
          query: (_ctx, { each }) => {
            expectTypeOf(each).toEqualTypeOf<{ readonly item: any; readonly index: number }>();
            return each.index;
          },
        }),
    });
  });

  test("[S244] so may the children of a `.parent`, whose outputs are then any", () => {
    const parent = b.parent("parts", {
      children: ({ load }) => load.parts.map((n: number) => child(leaf, { n })),
      finalize: {
        query: (_ctx, { children }) => {
          expectTypeOf(children).toBeAny();
          return 1;
        },
      },
    });
    expectTypeOf<WorkflowScope<typeof parent>["parts"]>().toEqualTypeOf<number>();
  });
});
