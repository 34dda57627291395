import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

/* Workflows with a `.match`. */

/** Told apart by a field of the input, an event, an item and a state. */
export const matched = defineWorkflow({
  input: z.object({
    order: z.discriminatedUnion("kind", [
      z.object({ kind: z.literal("card"), last4: z.string() }),
      z.object({ kind: z.literal("in voice"), due: z.number() }),
    ]),
    stars: z.array(z.union([z.literal(1), z.literal(2), z.literal(3)])).default([]),
  }),
})
  .match("paidBy", {
    of: "input",
    by: "order.kind",
    cases: {
      card: (b) => b.step("digits", { query: (_ctx, { input }) => input.order.last4 }),
      "in voice": (b) => b.step("due", { query: (_ctx, { input }) => input.order.due }),
    },
  })
  .event("answer", { anyOf: { yes: z.string(), no: z.number() }, timeout: "1h" })
  .match("came", {
    of: "answer",
    by: "timedOut",
    cases: {
      true: (b) => b.end(({ paidBy }) => `late: ${paidBy}`),
      false: (b) =>
        b.match("which", {
          of: "answer",
          by: "event.name",
          cases: {
            yes: (c) => c.step("text", { query: (_ctx, { answer }) => answer.event.value }),
          },
          default: (c) => c.step("sum", { query: (_ctx, { answer }) => answer.event.value + 1 }),
        }),
    },
  })
  .each("rated", {
    of: ({ input }) => input.stars,
    body: (b) =>
      b.match("how", {
        of: "each",
        by: "item",
        cases: { 1: (c) => c.end(({ each }) => `bad at ${each.index}`) },
        default: (c) => c.step("good", { query: (_ctx, { each }) => `good: ${each.item}` }),
      }),
  })
  .loop("tries", {
    state: z.object({ phase: z.enum(["look", "stop"]) }),
    initial: (_scope) => ({ phase: "look" }),
    body: (b) =>
      b
        .match("at", {
          of: "loop",
          by: "state.phase",
          cases: { look: (c) => c.step("next", { query: () => "stop" as const }) },
          default: (c) => c.step("same", { query: (_ctx, { loop }) => loop.state.phase }),
        })
        .step("state", { query: (_ctx, { at }) => ({ phase: at }) }),
    until: ({ loop }) => loop.iteration === 2,
    maxIterations: 3,
  })
  .finalize({ query: (_ctx, { paidBy, came, rated, tries }) => [paidBy, came, rated, tries] });

/** A value that its type does not have: there is no case, and no default. */
export const mismatched = defineWorkflow({ input: z.object({ level: z.any() }) })
  .step("found", {
    query: (_ctx, { input }): { level: "low" | "high" } => ({ level: input.level as "low" }),
  })
  .match("leveled", {
    of: "found",
    by: "level",
    cases: { low: (b) => b.step("x", { query: () => 1 }), high: (b) => b },
  });

/** A value that is named like a member of every object has no case. */
export const matchedMember = defineWorkflow({ input: z.object({ word: z.any() }) })
  .step("found", {
    query: (_ctx, { input }): { word: "low" | "high" } => ({ word: input.word as "low" }),
  })
  .match("said", {
    of: "found",
    by: "word",
    cases: { low: (b) => b.step("x", { query: () => "case" }) },
    default: (b) => b.step("y", { query: (_ctx, { found }) => `default: ${found.word}` }),
  });
