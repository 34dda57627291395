import { defineWorkflow } from "@stepwise/workflow";
import type { GenericMutationCtx } from "convex/server";
import { z } from "zod";
import type { DataModel } from "./_generated/dataModel";

/* Events and iterations that a restart must not lose. What is broken goes well once it is mended. */

async function note(
  ctx: Pick<GenericMutationCtx<DataModel>, "db">,
  text: string,
  broken?: string,
): Promise<void> {
  const log = await ctx.db.query("log").collect();
  const mends = log.filter((line) => line.text === "mended").length;
  const fails = log.filter((line) => line.text === `broken ${broken}`).length;
  if (broken !== undefined && mends < fails) throw new Error(`${text} is broken`);
  await ctx.db.insert("log", { text });
}

/** Enters numbers one by one. */
export const ledger = defineWorkflow({ input: z.object({ of: z.number() }) }).loop("entries", {
  initial: (): number[] => [],
  body: (b) =>
    b.event("item", { schema: z.object({ cents: z.number() }) }).step("apply", {
      mutation: async (ctx, { item, loop }) => {
        await note(ctx, `entry ${item.cents}`, `${item.cents}`);
        return [...loop.state, item.cents];
      },
    }),
  until: ({ loop, input }) => loop.state.length >= input.of,
  maxIterations: 1_000,
});

/** Takes an event in each way there is, and then what is left. */
export const mailbox = defineWorkflow({ input: z.object({}) })
  .event("letter", { schema: z.string().transform((text) => text.length) })
  .event("either", { anyOf: { letter: z.string(), parcel: z.object({ kg: z.number() }) } })
  .event("timed", { schema: z.string(), timeout: "1h" })
  .event("both", { anyOf: { letter: z.string() }, timeout: "1h" })
  .step("read", {
    mutation: async (ctx, { letter, either, timed, both }) => {
      await note(ctx, JSON.stringify([letter, either, timed, both]), "mail");
      return [letter, either, timed, both];
    },
  });

/** Takes events that may look like what nodes make of events. */
export const lookalikes = defineWorkflow({ input: z.object({}) })
  .event("bare", { schema: z.any() })
  .event("either", { anyOf: { parcel: z.any() } })
  .event("timed", { schema: z.any(), timeout: "1h" })
  .event("both", { anyOf: { crate: z.any() }, timeout: "1h" })
  .finalize({ query: (_ctx, { bare, either, timed, both }) => [bare, either, timed, both] });

/** Copies pages, with a loop over the lines of each. */
export const copy = defineWorkflow({ input: z.object({ pages: z.number() }) })
  .step("open", { mutation: async (ctx) => note(ctx, "open") })
  .loop("pages", {
    initial: () => 0,
    body: (b) =>
      b
        .loop("lines", {
          initial: () => 0,
          body: (c) => c.step("line", { query: (_ctx, { loop }) => loop.state + 1 }),
          until: ({ loop }) => loop.state >= 2,
          maxIterations: 10,
        })
        .step("page", {
          mutation: async (ctx, { loop, lines }) => {
            const page = loop.state + 1;
            await note(ctx, `page ${page} of ${lines} lines`, `${page}`);
            return page;
          },
        })
        .sleep("rest", "1s"),
    until: ({ loop, input }) => loop.state >= input.pages,
    maxIterations: 100_000,
    timeout: "1 day",
  })
  .finalize({ query: (_ctx, { pages }) => `${pages} pages` });

/** Copies pages, and what it has opened before that is closed again if it fails. */
export const undoneCopy = defineWorkflow({ input: z.object({ pages: z.number() }) })
  .step("open", {
    mutation: async (ctx) => note(ctx, "open"),
    compensate: { mutation: async (ctx) => note(ctx, "closed") },
  })
  .loop("pages", {
    initial: () => 0,
    body: (b) =>
      b.step("page", {
        mutation: async (ctx, { loop }) => {
          const page = loop.state + 1;
          await note(ctx, `page ${page} of no lines`, `${page}`);
          return page;
        },
      }),
    until: ({ loop, input }) => loop.state >= input.pages,
    maxIterations: 10,
  });

/** Two nodes of one event, each with a default of its own. The run comes to one of them. */
export const eitherWay = defineWorkflow({ input: z.object({ way: z.enum(["left", "right"]) }) })
  .sleep("nap", "1h")
  .branch("turn", {
    on: ({ input }) => input.way,
    cases: {
      left: (b) => b.event("note", { schema: z.object({ by: z.string().default("left") }) }),
      right: (b) => b.event("note", { schema: z.object({ by: z.string().default("right") }) }),
    },
  });
