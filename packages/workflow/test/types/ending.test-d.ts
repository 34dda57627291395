import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type Builder,
  child,
  defineWorkflow,
  type WorkflowOutput,
  type WorkflowScope,
} from "../../src/definition/index.js";
import type { PathsOf } from "./paths.js";

/* Ends of runs, with no annotation. */

const begin = defineWorkflow({
  input: z.object({ id: z.string(), level: z.enum(["low", "high"]), tags: z.array(z.string()) }),
});
type Out<D> = WorkflowOutput<D>;

describe("[S167] an end", () => {
  test("makes the output a union, and adds nothing to that of the branch", () => {
    const early = begin.branch("early", {
      on: ({ input }) => input.level,
      cases: {
        low: (b) => b.end(({ input }) => ({ listed: false, id: input.id })),
        high: (b) => b.step("x", { query: () => ({ n: 1 }) }),
      },
    });
    expectTypeOf<WorkflowScope<typeof early>["early"]>().toEqualTypeOf<{ n: number }>();
    const done = early.finalize({
      query: (_ctx, { early: { n } }) => ({ listed: true as const, n }),
    });
    type Ends = { listed: false; id: string } | { listed: true; n: number };
    expectTypeOf<Out<typeof done>>().toEqualTypeOf<Ends>();
    const last = early.step("y", { query: () => "y" });
    expectTypeOf<Out<typeof last>>().toEqualTypeOf<string | { listed: false; id: string }>();
    expectTypeOf<PathsOf<typeof early>>().toEqualTypeOf<
      "early" | "early.low.end" | "early.high.x"
    >();
  });

  test("may be that of the whole workflow, or of one started as a child", () => {
    const ended = begin.step("x", { query: () => 1 }).end(({ x }) => (x > 1 ? "many" : "few"));
    expectTypeOf<Out<typeof ended>>().toEqualTypeOf<"many" | "few">();
    const above = begin
      .child("one", ended, ({ input }) => input)
      .parent("more", { children: ({ input }) => [child(ended, input)] });
    expectTypeOf<WorkflowScope<typeof above>["one"]>().toEqualTypeOf<"many" | "few">();
    expectTypeOf<Out<typeof above>>().toEqualTypeOf<{ children: ("many" | "few")[] }>();
  });

  test("in a loop, and in a branch of it, ends the run", () => {
    const looped = begin.loop("tries", {
      initial: () => ({ n: 1 }),
      body: (b) =>
        b
          .branch("enough", {
            on: ({ loop }) => (loop.state.n > 3 ? "stop" : "next"),
            cases: { stop: (c) => c.end(({ loop }) => loop.state.n), next: (c) => c },
          })
          .step("next", { query: (_ctx, { loop }) => ({ n: loop.state.n + 1 }) }),
      until: ({ loop }) => loop.state.n > 5,
      maxIterations: 9,
    });
    expectTypeOf<WorkflowScope<typeof looped>["tries"]>().toEqualTypeOf<{ n: number }>();
    expectTypeOf<Out<typeof looped>>().toEqualTypeOf<number | { n: number }>();
  });

  test("of a branch or an item is in their output, and not in that of the run", () => {
    const both = begin
      .parallel("both", {
        branches: {
          a: (b) =>
            b
              .branch("at", {
                on: ({ input }) => input.level,
                cases: { low: (c) => c.end(() => "none"), high: (c) => c },
              })
              .step("x", { query: () => 1 }),
          c: (b) => b.end(() => null),
        },
      })
      .each("tagged", {
        of: ({ input }) => input.tags,
        body: (b) =>
          b
            .branch("at", {
              on: ({ each }) => (each.item === "" ? "yes" : "no"),
              cases: { yes: (c) => c.end(({ each }) => ({ at: each.index })), no: (c) => c },
            })
            .step("tag", { query: (_ctx, { each }) => each.item }),
      });
    type Scope = WorkflowScope<typeof both>;
    expectTypeOf<Scope["both"]>().toEqualTypeOf<{ a: number | "none"; c: null }>();
    expectTypeOf<Scope["tagged"]>().toEqualTypeOf<(string | { at: number })[]>();
    expectTypeOf<Out<typeof both>>().toEqualTypeOf<(string | { at: number })[]>();
  });

  test("may be added by a function", () => {
    const stop = (b: Builder<any, any, null>) => b.end(() => ({ stopped: true }));
    const early = begin.branch("early", {
      on: ({ input }) => input.level,
      cases: { low: stop, high: (b) => b.step("x", { query: () => 1 }) },
    });
    expectTypeOf<Out<typeof early>>().toEqualTypeOf<number | { stopped: true }>();
  });
});
