import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { leaf } from "./parents.workflow";
import { sleeper } from "./nodes.workflow";

/* What holds between nodes: their order, what stops them, what is counted. */

/** Ten actions in a row; `fails` is the one that does. */
export const tenSteps = defineWorkflow({ input: z.object({ fails: z.number().default(0) }) })
  .step("s1", { action: (_ctx, { input }) => reach(1, input.fails) })
  .step("s2", { action: (_ctx, { input }) => reach(2, input.fails) })
  .step("s3", { action: (_ctx, { input }) => reach(3, input.fails) })
  .step("s4", { action: (_ctx, { input }) => reach(4, input.fails) })
  .step("s5", { action: (_ctx, { input }) => reach(5, input.fails) })
  .step("s6", { action: (_ctx, { input }) => reach(6, input.fails) })
  .step("s7", { action: (_ctx, { input }) => reach(7, input.fails) })
  .step("s8", { action: (_ctx, { input }) => reach(8, input.fails) })
  .step("s9", { action: (_ctx, { input }) => reach(9, input.fails) })
  .step("s10", { action: (_ctx, { input }) => reach(10, input.fails) });

function reach(step: number, fails: number): number {
  if (step === fails) throw new Error(`step ${step} fails`);
  return step;
}

/** Writes, and then cannot be recorded: its result is no value. */
export const writesInVain = defineWorkflow({ input: z.object({ ok: z.boolean() }) }).step("write", {
  mutation: async (ctx, { input }) => {
    await ctx.db.insert("log", { text: "written" });
    return input.ok ? 1 : (Symbol("no value") as unknown as number);
  },
});

export const slowRetries = defineWorkflow({ input: z.object({}) }).step("slow", {
  action: async (_ctx, _scope, { attempt }) => {
    await new Promise((resolve) => setTimeout(resolve, 800));
    if (attempt < 4) throw new Error("not yet");
    return attempt;
  },
  timeout: "1s",
  retry: { maxAttempts: 4, initialBackoffMs: 10_000, base: 1 },
});

export const byShare = defineWorkflow({
  input: z.object({ bad: z.number(), of: z.number() }),
}).parent("some", {
  children: ({ input }) =>
    Array.from({ length: input.of }, (_, n) => child(leaf, { n, fails: n < input.bad })),
  tolerate: { percentage: 25 },
  finalize: { query: (_ctx, { children }) => children.filter((one) => !one.ok).length },
});

export const allTolerated = defineWorkflow({ input: z.object({ of: z.number() }) }).parent("some", {
  children: ({ input }) =>
    Array.from({ length: input.of }, (_, n) => child(leaf, { n, fails: true })),
  tolerate: "all",
  finalize: { query: (_ctx, { children }) => children.map((one) => !one.ok && one.error.kind) },
});

/** One child that takes too long, one that may be canceled from outside. */
export const badEnds = defineWorkflow({ input: z.object({}) }).parent("some", {
  children: () => ({ late: child(lateRun, {}), canceled: child(sleeper, { ms: 60_000 }) }),
  tolerate: { failures: 2 },
  finalize: {
    query: (_ctx, { children: { late, canceled } }) =>
      [late, canceled].map((one) => one.ok || one.error.kind),
  },
});

export const oneBadEnd = defineWorkflow({ input: z.object({}) }).parent("some", {
  children: () => [child(sleeper, { ms: 60_000 })],
});

export const lateRun = defineWorkflow({ input: z.object({}), timeout: "1s" }).sleep("long", "1h");

/** A parent with a timeout whose child is tried again and again. */
export const retriedBelow = defineWorkflow({ input: z.object({}) }).parent("some", {
  timeout: "1m",
  children: () => [child(neverWell, {})],
});

export const neverWell = defineWorkflow({ input: z.object({}) }).step("attempt", {
  action: async (ctx, _scope, { attempt }) => {
    await ctx.runMutation(internal.app.log, { text: `attempt ${attempt}` });
    throw new Error("never well");
  },
  retry: { maxAttempts: 100, initialBackoffMs: 20_000, base: 1 },
});

/**
 * Its children are evaluated by a transaction that is run again: nothing of them may be there
 * twice.
 */
let evaluations = 0;
export const evaluatedOnce = defineWorkflow({ input: z.object({ of: z.number() }) })
  .parent("all", {
    children: ({ input }) => {
      evaluations++;
      return Array.from({ length: input.of }, (_, n) => child(leaf, { n }));
    },
    finalize: { query: (_ctx, { children }) => children.length },
  })
  .finalize({ query: (_ctx, { all }) => ({ all, evaluations }) });

let computed = 0;
export const sleepsOnce = defineWorkflow({ input: z.object({}) })
  .sleep("some", () => {
    computed++;
    return computed * 1_000;
  })
  .finalize({ query: () => computed });

export const endsWithSleep = defineWorkflow({ input: z.object({}) })
  .step("made", { query: () => "of the last node that has one" })
  .sleep("rest", "1s");
export const endsWithFinalize = defineWorkflow({ input: z.object({}) })
  .step("made", { query: () => "not this" })
  .finalize({ query: () => "of finalize" });

export const lastOutputs = defineWorkflow({ input: z.object({}) })
  .child("last", endsWithSleep, () => ({}))
  .child("final", endsWithFinalize, () => ({}));

export const canceledBeforeRecovery = defineWorkflow({ input: z.object({}) }).step("slow", {
  action: async () => {
    await new Promise((resolve) => setTimeout(resolve, 10_000));
    throw new Error("too late");
  },
  recover: () => "recovered",
});
