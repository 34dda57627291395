import { child, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";

export const keepsSecret = defineWorkflow({ input: z.object({}) }).step("token", {
  mutation: async () => "s3cret",
  sensitive: true,
});

/** A secret that a child gives, read by an action. */
export const confides = defineWorkflow({ input: z.object({}) })
  .child("kept", keepsSecret, () => ({}))
  .step("used", { action: async (_ctx, { kept }) => kept.length });

/** What children give that are secret, gathered in each way. */
export const gathersSecrets = defineWorkflow({ input: z.object({}) })
  .parent("plain", { children: () => [child(keepsSecret, {})] })
  .parent("tolerant", { children: () => ({ a: child(keepsSecret, {}) }), tolerate: "all" })
  .parent("reduced", {
    children: () => [child(keepsSecret, {}), child(keepsSecret, {})],
    reduce: { initial: "", step: (all: string, output) => all + output },
  })
  .parent("finalized", {
    children: () => [child(keepsSecret, {})],
    finalize: { action: async (_ctx, { children }) => children.join().length },
  })
  .parent("reducedFirst", {
    children: () => [child(keepsSecret, {})],
    reduce: { initial: "", step: (all: string, output) => all + output },
    finalize: { action: async (_ctx, { children }) => children.length },
  })
  .step("used", {
    action: async (_ctx, { plain, tolerant, reduced, finalized, reducedFirst }) =>
      [
        plain.children.join(),
        tolerant.children.a.ok ? tolerant.children.a.output : "",
        reduced.children,
      ]
        .map((text) => text.length)
        .concat(finalized, reducedFirst),
  });

/** What it starts gives what is secret two levels below. */
export const gathersBelow = defineWorkflow({ input: z.object({}) })
  .parent("below", { children: () => [child(passesOn, {})] })
  .step("used", { action: async (_ctx, { below }) => JSON.stringify(below).length });

export const passesOn = defineWorkflow({ input: z.object({}) }).parent("kept", {
  children: () => [child(keepsSecret, {})],
});

const secretly = { mutation: async () => "s3cret", sensitive: true } as const;

/** Each fails at what it has made of a secret, or shows a name of a field. */
export const sleepsSecretly = defineWorkflow({ input: z.object({}) })
  .step("token", secretly)
  .sleep("nap", ({ token }) => token as "1s");
export const branchesSecretly = defineWorkflow({ input: z.object({}) })
  .step("token", secretly)
  .branch("way", { on: ({ token }) => token as "a", cases: { a: (b) => b } });
export const waitsSecretly = defineWorkflow({ input: z.object({}) })
  .step("token", secretly)
  .event("late", { schema: z.string(), timeout: ({ token }) => token as "1s" });
export const loopsSecretly = defineWorkflow({ input: z.object({}) })
  .step("token", secretly)
  .loop("again", {
    initial: ({ token }) => ({ at: token }),
    body: (b) =>
      b.step("fails", {
        action: async (_ctx, { loop }): Promise<{ at: string }> => {
          throw new Error(`after ${loop.state.at.length}`);
        },
      }),
    until: () => true,
    maxIterations: 2,
  });
export const namesSecretly = defineWorkflow({
  input: z.object({ what: z.enum(["name", "place"]) }),
}).step("token", {
  action: async (_ctx, { input }): Promise<Record<string, unknown>> => {
    if (input.what === "name") return { s3crét: 1, s3cret: 2 };
    return { s3cret: { s3cret: Array.from({ length: 9_000 }, () => 0) } };
  },
  sensitive: true,
});

export const card = z.object({
  user: z.string(),
  cards: z.array(z.object({ number: z.string().min(6, "is short: s3cret"), kind: z.string() })),
});

/** Its fields have names with signs that stand in paths and messages. */
export const oddlyNamed = defineWorkflow({
  input: z.object({
    "v1.2": z.string(),
    a: z.object({ "b.c": z.string(), d: z.string() }),
    "e:f": z.string().regex(/^s/, { error: ({ input }) => `not ${String(input)}` }),
  }),
  sensitive: ["input.v1.2", "input.a.b.c", "input.e:f"],
}).event("go", { schema: z.null() });

/** A part of its input is secret. It goes through actions, a sleep and a compensation. */
export const paysByCard = defineWorkflow({ input: card, sensitive: ["input.cards.number"] })
  .step("charged", {
    action: async (_ctx, { input }) => input.cards.length,
    compensate: { action: async (_ctx, { input }) => input.cards.length },
  })
  .step("noted", {
    action: async (_ctx, { input }) => {
      if (input.user === "fails") throw new Error("declined");
      return input.user;
    },
    retry: { maxAttempts: 2, initialBackoffMs: 1, base: 1 },
  });

/** All of it is secret. */
export const allSecret = defineWorkflow({ input: card, sensitive: true })
  .step("echoed", { action: async (_ctx, { input }) => input.cards })
  .event("code", { schema: z.string().startsWith("s3", "not s3cret"), timeout: "1h" })
  .step("checked", {
    action: async (_ctx, { input, code }) => {
      if (input.user === "fails") throw new Error(`${JSON.stringify(code)} is wrong`);
      return code;
    },
  });

/** What is undone at its end tells of what nobody may see; it cannot be marked itself. */
export const endsSecretly = defineWorkflow({
  input: card,
  sensitive: ["input.cards.number"],
  onEnd: {
    mutation: async (_ctx, { input, run }) => {
      throw new Error(input.user === "card" ? input.cards[0]?.number : JSON.stringify(run));
    },
  },
}).step("token", secretly);

/** Its child is given an input that does not fit, and says nothing of it. */
export const givesCards = defineWorkflow({ input: z.object({}) }).parent("all", {
  children: () => [child(paysByCard, { user: "a", cards: [{ number: "s3c", kind: "s3" }] })],
  tolerate: "all",
});
