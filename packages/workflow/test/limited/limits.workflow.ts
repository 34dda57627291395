import { type ActionCtx, child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";

/* Actions that take part in limits of the config. Each logs when it begins and ends. */

const Work = z.object({
  name: z.string(),
  org: z.string().default("acme"),
  ms: z.number().default(100),
  fails: z.number().default(0),
});
type Work = z.infer<typeof Work>;

async function work(ctx: ActionCtx, { name, ms, fails }: Work, attempt = 1): Promise<string> {
  await ctx.runMutation(internal.app.log, { text: `begin ${name}` });
  await new Promise((resolve) => setTimeout(resolve, ms));
  await ctx.runMutation(internal.app.log, { text: `end ${name}` });
  if (attempt <= fails) throw new Error(`${name} fails`);
  return name;
}

/** A limit in all: its first step is scheduled with the start. */
export const exported = defineWorkflow({ input: Work }).step("work", {
  limits: ["exports"],
  action: async (ctx, { input }) => await work(ctx, input),
});

/** A limit of each key, made of a step before it. */
export const ofTenant = defineWorkflow({ input: Work })
  .step("found", { query: (_ctx, { input }) => ({ org: `org ${input.org}` }) })
  .step("encode", {
    action: async (ctx, { input }, info) => await work(ctx, input, info.attempt),
    limits: { tenant: ({ found }) => found.org },
    retry: { maxAttempts: 2, initialBackoffMs: 60_000 },
  });

/** The first step has a key, and the last one more limits than the workflow. */
export const allOfTenant = defineWorkflow({
  input: Work,
  limits: { tenant: ({ input }) => (input.org === "" ? undefined : input.org) },
})
  .step("first", { action: async (ctx, { input }) => await work(ctx, input) })
  .sleep("rest", "1h")
  .step("last", {
    action: async (ctx, { input }) => await work(ctx, { ...input, name: `${input.name}2` }),
    limits: ["exports", { both: ({ input }) => input.org }],
  });

let asked = 0;

/** Its key is another one whenever it is made. */
export const otherKeys = defineWorkflow({ input: Work }).step("work", {
  action: async (ctx, { input }, info) => await work(ctx, input, info.attempt),
  limits: { tenant: () => `${asked++}` },
  retry: { maxAttempts: 3, initialBackoffMs: 60_000 },
});

const keyed = new Set<string>();

/** Its key can be made only once. */
export const keyedOnce = defineWorkflow({ input: Work }).step("work", {
  action: async (ctx, { input }) => await work(ctx, input),
  limits: {
    tenant: ({ input: { name, org } }) => {
      if (keyed.has(name)) throw new Error(`the key of ${name} is made again`);
      keyed.add(name);
      return `org ${org}`;
    },
  },
});

/** A run that may take five minutes. */
export const timedTenant = defineWorkflow({
  input: Work,
  timeout: "5m",
  limits: { tenant: ({ input }) => `org ${input.org}` },
}).step("encode", { action: async (ctx, { input }) => await work(ctx, input) });

/** A parent and its children have the same key. */
export const family = defineWorkflow({
  input: Work,
  limits: { tenant: ({ input }) => `org ${input.org}` },
}).parent("members", {
  children: ({ input }) =>
    ["a", "b"].map((name) => child(ofTenant, { ...input, name, org: input.org })),
  finalize: { action: async (ctx, { input }) => await work(ctx, input) },
});

/** Only its children name a limit. */
export const crowd = defineWorkflow({ input: Work }).parent("members", {
  children: ({ input }) => ["a", "b", "c"].map((name) => child(exported, { ...input, name })),
});

/** What its types would refuse, as a key is made when it runs. */
export const badKey = defineWorkflow({ input: z.object({ key: z.any() }) })
  .step("found", { query: (_ctx, { input }) => ({ key: input.key as string }) })
  .step("work", { action: () => "never", limits: { tenant: ({ found }) => found.key } });

export const badFirst = defineWorkflow({
  input: z.object({ key: z.any(), secret: z.string().default("s"), tells: z.boolean() }),
  sensitive: ["input.secret"],
}).step("work", {
  action: () => "done",
  limits: { tenant: ({ input }) => (input.tells ? input.secret : (input.key as string)) },
});

/** What it finds is for itself alone. */
export const badLater = defineWorkflow({ input: z.object({ org: z.string() }) })
  .step("found", { query: (_ctx, { input }) => input, sensitive: true })
  .step("work", {
    action: () => "never",
    limits: [{ tenant: ({ found }) => found.org }],
  });

/** Without limits. */
export const free = defineWorkflow({ input: Work }).step("work", {
  action: async (ctx, { input }) => await work(ctx, input),
});

/** It waits five minutes at most, for a slot or its limit, and says so when that was too short. */
export const hurried = defineWorkflow({ input: Work, retry: true })
  .step("work", {
    action: async (ctx, { input }, info) => await work(ctx, input, info.attempt),
    limits: { tenant: ({ input }) => input.org },
    waitAtMost: "5m",
    recover: ({ kind, reason, message, attempt }) => {
      if (reason === undefined) throw new Error(message);
      return `${kind} ${reason} ${attempt}: ${message}`;
    },
  })
  .step("after", { query: (_ctx, { work: worked }) => worked });

/** Only one may wait for its limit when it starts; its second step waits all the same. */
export const scarce = defineWorkflow({ input: Work, limits: ["scarce"] })
  .step("first", { action: async (ctx, { input }) => await work(ctx, input) })
  .step("second", { action: async (ctx, { input }) => await work(ctx, input) });
