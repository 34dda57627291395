import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  defineWorkflow,
  type WorkflowOutput,
  type WorkflowScope,
} from "../../src/definition/index.js";
import type { PathsOf } from "./paths.js";

/* Matches, with no annotation. */

const begin = defineWorkflow({
  input: z.object({
    id: z.string(),
    level: z.enum(["low", "high"]),
    stars: z.union([z.literal(1), z.literal(2)]),
    order: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("card"), last4: z.string() }),
      z.object({ kind: z.literal("invoice"), due: z.number() }),
    ]),
  }),
});
type Out<D> = WorkflowOutput<D>;

enum Way {
  Air = "by.air",
  Sea = "sea",
}
enum Size {
  Small,
  Large = 10,
}

describe("[S166] a match narrows what it is of", () => {
  test("by an enum, whose values are the keys; a path quotes one with a dot", () => {
    const sent = z.discriminatedUnion("way", [
      z.object({ way: z.literal(Way.Air), size: z.enum(Size), kg: z.number() }),
      z.object({ way: z.literal(Way.Sea), size: z.enum(Size), ship: z.string() }),
    ]);
    const b = defineWorkflow({ input: sent }).match("sent", {
      of: "input",
      by: "way",
      cases: {
        [Way.Air]: (c) => c.step("fly", { query: (_ctx, { input }) => input.kg }),
        [Way.Sea]: (c) => c.step("sail", { query: (_ctx, { input }) => input.ship }),
      },
    });
    b.match("sized", {
      of: "input",
      by: "size",
      cases: { [Size.Small]: (c) => c, [Size.Large]: (c) => c.end(({ input }) => input.size) },
    });
    expectTypeOf<WorkflowScope<typeof b>["sent"]>().toEqualTypeOf<number | string>();
    expectTypeOf<PathsOf<typeof b>>().toEqualTypeOf<
      "sent" | 'sent."by.air".fly' | "sent.sea.sail"
    >();
    expectTypeOf(b.nodes.sent.cases["by.air"].fly).not.toBeAny();
  });

  test("by a field of the input, or a path of two", () => {
    const b = begin
      .match("paidBy", {
        of: "input",
        by: "order.kind",
        cases: {
          card: (c) => c.step("x", { query: (_ctx, { input }) => input.order.last4 }),
          invoice: (c) => c.step("x", { query: (_ctx, { input }) => input.order.due }),
        },
      })
      .match("leveled", {
        of: "input",
        by: "level",
        cases: {
          low: (c) =>
            c.step("y", {
              query: (_ctx, { input }) => {
                expectTypeOf(input.level).toEqualTypeOf<"low">();
                return true;
              },
            }),
          high: (c) => c,
        },
      })
      .match("rated", {
        of: "input",
        by: "stars",
        cases: {
          1: (c) => c.step("z", { query: (_ctx, { input }) => input.stars }),
          2: (c) => c.step("z", { query: (_ctx, { input }) => input.stars }),
        },
      });
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["paidBy"]>().toEqualTypeOf<string | number>();
    expectTypeOf<Scope["leveled"]>().toEqualTypeOf<boolean | null>();
    expectTypeOf<Scope["rated"]>().toEqualTypeOf<1 | 2>();
    expectTypeOf<Scope["input"]["level"]>().toEqualTypeOf<"low" | "high">();
    expectTypeOf<PathsOf<typeof b>>().toEqualTypeOf<
      | ("paidBy" | "leveled" | "rated" | "paidBy.card.x" | "paidBy.invoice.x")
      | ("leveled.low.y" | "rated.1.z" | "rated.2.z")
    >();
  });

  test("by whether an event came, and then by which", () => {
    const b = begin
      .event("answer", {
        anyOf: { yes: z.object({ by: z.string() }), no: z.string() },
        timeout: "1d",
      })
      .match("came", {
        of: "answer",
        by: "timedOut",
        cases: {
          true: (c) => c.end(() => "late"),
          false: (c) =>
            c.match("which", {
              of: "answer",
              by: "event.name",
              cases: {
                yes: (d) =>
                  d.step("x", { query: (_ctx, { answer }) => answer.event.value.by.length }),
                no: (d) => d.step("x", { query: (_ctx, { answer }) => answer.event.value }),
              },
            }),
        },
      });
    expectTypeOf<WorkflowScope<typeof b>["came"]>().toEqualTypeOf<number | string>();
    expectTypeOf<Out<typeof b>>().toEqualTypeOf<number | string>();
  });

  test("by itself; the default sees what the cases leave, and its nodes are its own", () => {
    const b = begin
      .step("kind", {
        query: (_ctx, { input }) => (input.id === "" ? ("none" as const) : input.level),
      })
      .match("route", {
        of: "kind",
        cases: { none: (c) => c.step("x", { query: (_ctx, { kind }) => kind }) },
        default: (c) => c.step("y", { query: (_ctx, { kind }) => [kind] }),
      });
    expectTypeOf<WorkflowScope<typeof b>["route"]>().toEqualTypeOf<"none" | ("low" | "high")[]>();
    expectTypeOf<PathsOf<typeof b>>().toEqualTypeOf<
      "kind" | "route" | "route.none.x" | "route.default.y"
    >();
  });

  test("an item, the state of a loop, and how a branch ended", () => {
    const b = begin
      .each("rows", {
        of: ({ input }) => [input.order],
        body: (c) =>
          c.match("route", {
            of: "each",
            by: "item.kind",
            cases: {
              card: (d) => d.step("x", { query: (_ctx, { each }) => each.item.last4 }),
              invoice: (d) => d.step("x", { query: (_ctx, { each }) => each.item.due }),
            },
          }),
      })
      .loop("tries", {
        state: z.object({ phase: z.enum(["look", "stop"]) }),
        initial: (_scope) => ({ phase: "look" }),
        body: (c) =>
          c
            .match("at", {
              of: "loop",
              by: "state.phase",
              cases: { look: (d) => d, stop: (d) => d.end(({ loop }) => loop.state.phase) },
            })
            .step("next", { query: () => ({ phase: "stop" }) }),
        until: () => false,
        maxIterations: 3,
      })
      .parallel("tried", {
        branches: { one: (c) => c.step("x", { query: () => 1 }) },
        tolerate: "all",
      })
      .match("how", {
        of: "tried",
        by: "one.ok",
        cases: {
          true: (c) => c.step("y", { query: (_ctx, { tried }) => tried.one.output }),
          false: (c) => c.step("y", { query: (_ctx, { tried }) => tried.one.error.message }),
        },
      });
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["rows"]>().toEqualTypeOf<(string | number)[]>();
    expectTypeOf<Scope["how"]>().toEqualTypeOf<number | string>();
    expectTypeOf<Out<typeof b>>().toEqualTypeOf<number | string>();
  });
});

describe("before the first `npx convex dev`, when `internal` is any", () => {
  const internal: any = {};
  const b = defineWorkflow({ input: z.object({ id: z.string() }) }).step("checked", {
    action: internal.orders.check,
    args: ({ input }) => ({ id: input.id }),
  });

  test("[S244] the output of a reference is matched by any field, and is any in each case", () => {
    const by = b.match("told", {
      of: "checked",
      by: "kind",
      cases: {
        ok: (c) => c.step("ship", { query: (_ctx, { checked }) => checked.total as number }),
        refused: (c) => c.step("tell", { query: (_ctx, { checked }) => checked.why as string }),
      },
    });
    expectTypeOf<WorkflowScope<typeof by>["told"]>().toEqualTypeOf<number | string>();
    expectTypeOf<PathsOf<typeof by>>().toEqualTypeOf<
      "checked" | "told" | "told.ok.ship" | "told.refused.tell"
    >();
    b.match("told", {
      of: "checked",
      by: "answer.kind",
      cases: { 1: (c) => c },
      default: (c) =>
        c.step("seen", {
          query: (_ctx, { checked }) => {
            expectTypeOf(checked).toBeAny();
            return 1;
          },
        }),
    });
  });

  test("[S244] and by itself", () => {
    const itself = b.match("told", {
      of: "checked",
      cases: { true: (c) => c, other: (c) => c.end(({ checked }) => checked.why) },
    });
    expectTypeOf<Out<typeof itself>>().toBeAny();
  });
});
