import { describe, test } from "vitest";
import { z } from "zod";
import { child, childNamed, defineWorkflow, type MutationCtx } from "../../src/definition/index.js";
import { internal } from "./references.js";

/*
 * What is refused, and what the compiler says: the text behind `@ts-expect-error` is part of its
 * message, which `messages.test.ts` checks. All of it is of TypeScript 7: of a `.step`, 5.9 and 6
 * also explain the other overload, and they stand at the call if two things are wrong.
 */

const leaf = defineWorkflow({ input: z.object({ topic: z.string() }) }).step("words", {
  action: async (_ctx, { input }) => input.topic.length,
});
const b = defineWorkflow({ input: z.object({ a: z.string() }) });
const one = [child(leaf, { topic: "" })];

describe("results that are no Convex values", () => {
  test("of a step", () => {
    // @ts-expect-error result.at: A Date is not a Convex value: return date.getTime()
    b.step("x", { action: async () => ({ at: new Date() }) });
    // @ts-expect-error result.m: A Map is not a Convex value: return Object.fromEntries(map) or [...map]
    b.step("x", { mutation: async () => ({ m: new Map<string, number>() }) });
    // @ts-expect-error result.s: A Set is not a Convex value: return [...set]
    b.step("x", { mutation: async () => ({ s: new Set(["a"]) }) });
    // @ts-expect-error result.f: A function is not a Convex value
    b.step("x", { query: (_ctx, { input }) => ({ f: () => input.a }) });
    // @ts-expect-error result.list[].at: A Date is not a Convex value
    b.step("x", { action: async () => ({ list: [{ at: new Date() }] }) });
    // @ts-expect-error result.later: A Promise inside a result: await it first
    b.step("x", { action: async () => ({ later: Promise.resolve(1) }) });
    // @ts-expect-error result.url: A class instance is not a Convex value
    b.step("x", { action: async () => ({ url: new URL("https://example.org") }) });
  });

  test("of every other node", () => {
    // @ts-expect-error result.m: A Map is not a Convex value
    b.finalize({ mutation: async () => ({ m: new Map() }) });
    // @ts-expect-error result: A Date is not a Convex value
    b.parent("x", { mutation: async () => new Date(), children: () => one });
    // @ts-expect-error result: A Date is not a Convex value
    b.parent("x", { children: () => one, finalize: { mutation: async () => new Date() } });
    b.parent("x", {
      children: () => one,
      // @ts-expect-error result: A Map is not a Convex value
      reduce: { initial: new Map<string, number>(), step: (all) => all },
    });
    b.step("x", {
      action: async () => 1,
      // @ts-expect-error result: A Date is not a Convex value
      recover: () => new Date(),
    });
    // @ts-expect-error result.at: A Date is not a Convex value
    b.event("x", { schema: z.object({ at: z.date() }) });
    // @ts-expect-error result.value: A Date is not a Convex value
    b.event("x", { anyOf: { when: z.date(), by: z.string() } });
    b.loop("x", {
      // @ts-expect-error result: A Date is not a Convex value
      initial: () => new Date(),
      // @ts-expect-error Type 'number' is not assignable to type 'Date'
      body: (b) => b.step("y", { action: async () => 1 }),
      until: () => true,
      maxIterations: 3,
    });
  });
});

describe("functions", () => {
  test("the arguments of a reference", () => {
    // @ts-expect-error Type 'number' is not assignable to type 'string'
    b.step("x", { action: internal.users.get, args: () => ({ id: 1 }) });
    // @ts-expect-error Property 'args' is missing
    b.step("x", { action: internal.users.get });
    // @ts-expect-error a handler has no `args`: a reference has
    b.step("x", { action: async () => 1, args: () => ({}) });
  });

  test("a reference of another kind", () => {
    // @ts-expect-error this is a reference to a mutation: write `mutation` instead of `action`
    b.step("x", { action: internal.users.save, args: () => ({ email: "" }) });
    // @ts-expect-error this is a reference to an action: write `action` instead of `query`
    b.step("x", { query: internal.users.get, args: () => ({ id: "" }) });
  });

  test("what a handler cannot do, see or return", () => {
    // @ts-expect-error Property 'db' does not exist on type 'ActionCtx'
    b.step("x", { action: async (ctx) => await ctx.db.query("users").first() });
    // @ts-expect-error Property 'inptu' does not exist on type '{ input: { a: string; }; }'
    b.step("x", { action: async (_ctx, { inptu }) => 1 });
    // @ts-expect-error Property 'nope' does not exist on type '{ a: string; }'
    b.step("x", { action: async (_ctx, { input }) => input.nope });
  });

  test("not exactly one of action, mutation and query", () => {
    // @ts-expect-error is not assignable to type
    b.step("x", { action: async () => 1, mutation: async () => 1 });
    // @ts-expect-error is not assignable to parameter
    b.step("x", { retry: true });
  });

  test("options that there are not", () => {
    // @ts-expect-error Did you mean to write 'retry'?
    b.step("x", { action: async () => 1, retri: true });
    // @ts-expect-error Did you mean to write 'action'?
    b.step("x", { acton: async () => 1 });
    // @ts-expect-error 'wait' does not exist in type
    b.step("x", { action: async (_ctx, { input }) => input.a, sensitive: true, wait: "1m" });
    // @ts-expect-error Did you mean to write 'maxIterations'?
    b.loop("x", { initial: () => 0, body: (b) => b, until: () => true, maxIteration: 3 });
    // @ts-expect-error Did you mean to write 'compensateLosers'?
    b.race("x", { cases: { p: (b) => b.sleep("y", 1) }, compensateLoser: false });
    // @ts-expect-error Did you mean to write 'recover'?
    b.child("x", leaf, () => ({ topic: "" }), { recovr: () => 1 });
    // @ts-expect-error Did you mean to write 'onEnd'?
    defineWorkflow({ input: z.object({}), onend: { mutation: async () => {} } });
    // @ts-expect-error Did you mean to write 'concurrency'?
    b.parent("x", { children: () => one, concurency: 3 });
    // @ts-expect-error Did you mean to write 'timeout'?
    b.event("x", { schema: z.string(), timout: "1h" });
    // @ts-expect-error Did you mean to write 'renamed'?
    defineWorkflow({ input: z.object({}), renames: { a: "b" } });
  });

  test("[S182] tags that the workflow does not declare", () => {
    const tags = () => ({ org: "acme", risk: undefined });
    const tagged = defineWorkflow({ input: z.object({}), tags });
    // @ts-expect-error '"rsk"' is not assignable to parameter of type '"org" | "risk"'
    tagged.step("x", { action: async (_ctx, _scope, info) => await info.tag("rsk", 1) });
  });

  test("durations that cannot be read", () => {
    // @ts-expect-error '"10 minuts"' is not assignable to parameter of type
    b.sleep("x", "10 minuts");
    // @ts-expect-error '"tomorrow"' is not assignable to type 'Date | LocalTime | Duration'
    b.sleep("x", () => "tomorrow");
    // @ts-expect-error Type '"1 hr"' is not assignable to type 'Duration | undefined'
    b.parent("x", { children: () => one, timeout: "1 hr" });
    // @ts-expect-error Type '"soon"' is not assignable to type 'Date |
    b.event("x", { schema: z.string(), timeout: "soon" });
    // @ts-expect-error Type '"3 years"' is not assignable to type 'Duration | undefined'
    defineWorkflow({ input: z.object({}), retention: "3 years" });
  });
});

describe("names", () => {
  test("that are taken", () => {
    // @ts-expect-error the name \"x\" is already taken
    b.step("x", { action: async () => 1 }).step("x", { action: async () => 2 });
    // @ts-expect-error the name \"x\" is already taken
    b.sleep("x", 3).step("x", { action: async () => 1 });
    // @ts-expect-error the name \"x\" is already taken
    b.step("x", { action: async () => 1 }).sleep("x", 3);
    // @ts-expect-error the name \"input\" is already taken
    b.step("input", { action: async () => 1 });
    b.step("x", { action: async () => 1 }).branch("y", {
      on: () => "only",
      // @ts-expect-error the name \"x\" is already taken
      cases: { only: (b) => b.step("x", { action: async () => 1 }) },
    });
  });

  test("that are reserved", () => {
    // @ts-expect-error the name \"output\" is reserved
    b.step("output", { action: async () => 1 });
    // @ts-expect-error the name \"error\" is reserved
    b.child("error", leaf, () => ({ topic: "" }));
    // @ts-expect-error the name \"finalize\" is reserved
    b.event("finalize", { schema: z.string() });
    // @ts-expect-error the name \"until\" is reserved
    b.sleep("until", "1h");
    // @ts-expect-error the name \"then\" is reserved
    b.sleep("then", "1h");
  });

  test("that are not seen", () => {
    // @ts-expect-error Property 'x' does not exist on type '{ input: { a: string; }; }'
    b.sleep("x", 3).step("y", { action: async (_ctx, { x }) => 1 });
    const branch = b.branch("x", {
      on: () => "only",
      cases: { only: (b) => b.step("inside", { action: async () => 1 }) },
    });
    // @ts-expect-error Property 'inside' does not exist on type '{ input: { a: string; }; x: number; }'
    branch.step("y", { action: async (_ctx, { inside }) => inside });
    const loop = b.loop("x", {
      initial: () => 0,
      body: (b) => b.step("inside", { action: async () => 1 }),
      until: () => true,
      maxIterations: 3,
    });
    // @ts-expect-error Property 'loop' does not exist on type '{ input: { a: string; }; x: number; }'
    loop.step("y", { action: async (_ctx, { loop }) => loop });
    // @ts-expect-error Property 'y' does not exist on type
    loop.nodes.y;
  });

  test("after finalize there is nothing", () => {
    // @ts-expect-error Property 'step' does not exist on type 'Finalized<
    b.finalize({ action: async () => 1 }).step("x", { action: async () => 1 });
  });
});

describe("step", () => {
  test("[S245] an option that is wrong is where the error is, and the handler is not blamed", () => {
    // @ts-expect-error Type 'string' is not assignable to type 'Retry | undefined'
    b.step("x", { action: async () => 1, retry: "3" });
    // @ts-expect-error 'attempts' does not exist in type
    b.step("x", { action: async () => 1, retry: { attempts: 3 } });
    b.step("x", {
      action: async (_ctx, { input }) => input.a,
      // @ts-expect-error Type 'string' is not assignable to type 'boolean'
      retry: { maxAttempts: 3, when: (error) => error.message },
    });
    b.step("x", {
      query: async () => 1,
      // @ts-expect-error Type '"30 secs"' is not assignable to type 'Duration | undefined'
      timeout: "30 secs",
      // @ts-expect-error Type 'string' is not assignable to type 'boolean | undefined'
      isolate: "yes",
    });
    // @ts-expect-error Type 'string[]' is not assignable to type 'boolean | undefined'
    b.step("x", { action: async () => 1, sensitive: ["input.a"] });
    // @ts-expect-error Type '"ten"' is not assignable to type 'Duration | undefined'
    b.step("x", { action: async () => 1, waitAtMost: "ten" });
    // @ts-expect-error Type 'string' is not assignable to type 'LimitsOption<
    b.step("x", { action: async () => 1, limits: "exports" });
    // @ts-expect-error Type 'null' is not assignable to type '((error: StepError
    b.step("x", { action: async () => 1, recover: null });
    // @ts-expect-error Type '() => Promise<void>' is not assignable to type 'Compensation<
    b.step("x", { action: async () => 1, compensate: async () => {} });
    b.loop("x", {
      initial: () => 1,
      // @ts-expect-error Type 'string' is not assignable to type 'Retry | undefined'
      body: (b) => b.step("y", { action: () => 1, retry: "3" }),
      until: () => true,
      maxIterations: 3,
    });
  });

  test("[S245] an option of a const that is wrong is named, and the handler is not blamed", () => {
    const shared = { retry: true, timeout: "30s" };
    // @ts-expect-error Types of property 'timeout' are incompatible
    b.step("x", { ...shared, action: async () => 1 });
    // @ts-expect-error Types of property 'timeout' are incompatible
    b.step("x", { ...shared, action: async (_ctx, { input }) => input.a });
  });

  test("[S245] a handler that is wrong is blamed for what is wrong with it", () => {
    // @ts-expect-error Property 'db' is missing in type 'GenericActionCtx<
    b.step("x", { action: async (ctx: MutationCtx) => 1 });
    // @ts-expect-error Type 'number' is not assignable to type 'AnyReference<"action"> | ((ctx: ActionCtx,
    b.step("x", { action: 5 });
    // @ts-expect-error Property 'args' is missing in type '{ mutation: FunctionReference<
    b.step("x", { action: async () => 1, compensate: { mutation: internal.users.save } });
  });

  test("a compensation that does not fit", () => {
    b.step("x", {
      action: async () => 1,
      // @ts-expect-error Type 'number' is not assignable to type 'string'
      compensate: { mutation: internal.users.save, args: ({ output }) => ({ email: output }) },
    });
    b.step("x", {
      action: async () => 1,
      // @ts-expect-error 'query' does not exist in type
      compensate: { query: internal.users.count, args: () => ({ id: "" }) },
    });
    b.step("x", {
      action: async () => 1,
      // @ts-expect-error 'isolate' does not exist in type
      compensate: { mutation: async () => {}, isolate: true },
    });
    b.step("x", {
      action: async () => 1,
      // @ts-expect-error Property 'outputs' does not exist on type '{ output: number; error: StepError; input: { a: string; }; }'
      compensate: { mutation: async (_ctx, { outputs }) => {} },
    });
  });

  test("a compensation before the handler knows no output", () => {
    b.step("x", {
      // @ts-expect-error 'output' is of type 'unknown'
      compensate: { mutation: async (_ctx, { output }) => output.length },
      action: async (_ctx, { input }) => input.a,
    });
  });
});

describe("parent", () => {
  test("children that are none, or of a wrong input", () => {
    // @ts-expect-error 'topi' does not exist in type '{ topic: string; }'
    b.parent("x", { children: ({ input }) => [child(leaf, { topi: input.a })] });
    // @ts-expect-error is missing the following properties from type 'Child<unknown>': workflow, input
    b.parent("x", { children: () => [leaf] });
    // @ts-expect-error Property '"~output"' is missing in type '{ workflow: string; input: {}; }' but required in type 'Child<unknown>'
    b.parent("x", { children: () => [one[0]!, { workflow: "leaf", input: {} }] });
  });

  test("without a handler there is no output", () => {
    // @ts-expect-error Property 'output' does not exist on type '{ input: { a: string; }; }'
    b.parent("x", { children: ({ output }) => [child(leaf, { topic: output })] });
  });

  test("a tolerance that there is not", () => {
    // @ts-expect-error Type '"some"' is not assignable to type 'Tolerate | undefined'
    b.parent("x", { children: () => one, tolerate: "some" });
    // @ts-expect-error 'failure' does not exist in type '{ failures: number; } | { percentage: number; }'
    b.parent("x", { children: () => one, tolerate: { failure: 2 } });
  });

  test("only with tolerate a child is told apart by ok", () => {
    b.parent("x", {
      children: () => one,
      // @ts-expect-error Property 'ok' does not exist on type 'number'
      finalize: { mutation: async (_ctx, { children }) => children.map((one) => one.ok) },
    });
    b.parent("x", {
      children: () => one,
      tolerate: "all",
      finalize: {
        // @ts-expect-error Property 'output' does not exist on type '{ ok: false; error: StepError; }'
        mutation: async (_ctx, { children }) => children.map((one) => one.output),
      },
    });
  });

  test("a reduce whose step gives something else than it takes", () => {
    b.parent("x", {
      children: () => one,
      // @ts-expect-error Type 'string' is not assignable to type 'number'
      reduce: { initial: 0, step: (sum, child) => `${sum}${child}` },
    });
  });
});

describe("event", () => {
  test("not exactly one of schema and anyOf", () => {
    // @ts-expect-error Type '{ x: z.ZodString; }' is not assignable to type 'undefined'
    b.event("x", { schema: z.string(), anyOf: { x: z.string() } });
    // @ts-expect-error Argument of type '{}' is not assignable
    b.event("x", {});
    // @ts-expect-error Type 'string' is not assignable to type 'AnySchema | undefined'
    b.event("x", { schema: "string" });
  });

  test("an event that may not have come", () => {
    b.event("x", { schema: z.string(), timeout: 1_000 }).step("y", {
      // @ts-expect-error Property 'event' does not exist on type '{ timedOut: true; }'
      action: async (_ctx, { x }) => x.event,
    });
  });
});

describe("branch", () => {
  test("a key that has no case", () => {
    b.branch("x", {
      // @ts-expect-error Type '"q"' is not assignable to type '"p"'
      on: ({ input }) => (input.a ? "p" : "q"),
      cases: { p: (b) => b.step("y", { action: async () => 1 }) },
    });
    b.branch("x", {
      // @ts-expect-error Type 'string' is not assignable to type '"p"'
      on: ({ input }) => input.a,
      cases: { p: (b) => b.step("y", { action: async () => 1 }) },
    });
  });

  test("[S124] a case that its key can never be", () => {
    const kinds = defineWorkflow({ input: z.object({ kind: z.enum(["p", "q"]) }) });
    // @ts-expect-error Property '"an `on` that gives r"' is missing
    kinds.branch("x", {
      on: ({ input }) => input.kind,
      cases: { p: (b) => b, q: (b) => b, r: (b) => b },
    });
    // @ts-expect-error Property '"an `on` that gives q"' is missing
    b.branch("x", {
      on: () => "p",
      cases: { p: (b) => b.step("y", { action: async () => 1 }), q: (b) => b },
    });
  });

  test("a case that gives no builder, or a finalized one", () => {
    b.branch("x", {
      on: () => "p",
      cases: {
        // @ts-expect-error Type 'void' is not assignable to type 'Sequence<unknown, unknown, unknown>'
        p: (b) => {
          b.step("y", { action: async () => 1 });
        },
      },
    });
    b.branch("x", {
      on: () => "p",
      // @ts-expect-error a case or a body has no .finalize: its output is that of its last node
      cases: { p: (b) => b.finalize({ action: async () => 1 }) },
    });
  });
});

describe("loop", () => {
  test("without maxIterations", () => {
    // @ts-expect-error Property 'maxIterations' is missing
    b.loop("x", {
      initial: () => 0,
      body: (b) => b.step("y", { action: async () => 1 }),
      until: () => true,
    });
  });

  test("a body that does not give the next state, is empty, or finalized", () => {
    b.loop("x", {
      initial: () => ({ n: 1 }),
      // @ts-expect-error Property 'n' is missing in type '{ m: number; }' but required in type '{ n: number; }'
      body: (b) => b.step("y", { action: async () => ({ m: 1 }) }),
      until: ({ loop }) => loop.state.n > 1,
      maxIterations: 3,
    });
    b.loop("x", {
      initial: () => ({ n: 1 }),
      // @ts-expect-error Type 'null' is not assignable to type '{ n: number; }'
      body: (b) => b,
      until: ({ loop }) => loop.state.n > 1,
      maxIterations: 3,
    });
    b.loop("x", {
      initial: () => 0,
      // @ts-expect-error a case or a body has no .finalize: its output is that of its last node
      body: (b) => b.finalize({ action: async () => 1 }),
      until: ({ loop }) => loop.state > 3,
      maxIterations: 3,
    });
  });

  test("an until that gives no boolean", () => {
    b.loop("x", {
      initial: () => 0,
      body: (b) => b.step("y", { action: async () => 1 }),
      // @ts-expect-error Type 'number' is not assignable to type 'boolean'
      until: ({ loop }) => loop.state,
      maxIterations: 3,
    });
  });

  test("an empty list needs a state", () => {
    b.loop("x", {
      initial: () => ({ list: [] }),
      // @ts-expect-error Type 'string[]' is not assignable to type 'never[]'
      body: (b) => b.step("y", { action: async () => ({ list: ["x"] }) }),
      until: ({ loop }) => loop.state.list.length > 1,
      maxIterations: 3,
    });
  });

  test("an initial, or a body, that is not what state says", () => {
    b.loop("x", {
      state: z.object({ n: z.number() }),
      // @ts-expect-error Type 'string' is not assignable to type 'number'
      initial: () => ({ n: "1" }),
      body: (b) => b.step("y", { action: async () => ({ n: 1 }) }),
      until: ({ loop }) => loop.state.n > 1,
      maxIterations: 3,
    });
    b.loop("x", {
      state: z.object({ n: z.number() }),
      initial: () => ({ n: 1 }),
      // @ts-expect-error Type 'string' is not assignable to type 'number'
      body: (b) => b.step("y", { action: async () => ({ n: "1" }) }),
      until: ({ loop }) => loop.state.n > 1,
      maxIterations: 3,
    });
  });

  test("[S174] a literal that state does not have, or an initial without a parameter", () => {
    const state = z.object({ phase: z.enum(["look", "end"]) });
    b.loop("x", {
      state,
      // @ts-expect-error Type '"ende"' is not assignable to type '"end" | "look"'
      initial: (_scope) => ({ phase: "ende" }),
      body: (b) => b.step("y", { action: async () => ({ phase: "end" }) }),
      until: ({ loop }) => loop.state.phase === "end",
      maxIterations: 3,
    });
    b.loop("x", {
      state,
      initial: (_scope) => ({ phase: "look" }),
      // @ts-expect-error Type '"ende"' is not assignable to type '"end" | "look"'
      body: (b) => b.step("y", { action: async () => ({ phase: "ende" }) }),
      until: ({ loop }) => loop.state.phase === "end",
      maxIterations: 3,
    });
    b.loop("x", {
      state,
      // @ts-expect-error Type 'string' is not assignable to type '"end" | "look"'
      initial: () => ({ phase: "look" }),
      body: (b) => b.step("y", { action: async () => ({ phase: "end" }) }),
      until: ({ loop }) => loop.state.phase === "end",
      maxIterations: 3,
    });
  });

  test("until before initial knows no state", () => {
    b.loop("x", {
      // @ts-expect-error 'loop.state' is of type 'unknown'
      until: ({ loop }) => loop.state > 3,
      initial: ({ input }) => input.a.length,
      body: (b) => b.step("y", { action: async () => 1 }),
      maxIterations: 3,
    });
  });
});

describe("child", () => {
  test("an input that is not the workflow's", () => {
    // @ts-expect-error Property 'topic' is missing in type '{ topi: string; }' but required in type '{ topic: string; }'
    b.child("x", leaf, () => ({ topi: "" }));
    // @ts-expect-error Property 'b' does not exist on type '{ a: string; }'
    b.child("x", leaf, ({ input }) => ({ topic: input.b }));
    // @ts-expect-error Argument of type 'string' is not assignable to parameter of type 'Definition<
    b.child("x", "leaf", () => ({ topic: "" }));
  });

  test("a workflow that names itself as a definition goes round in a circle", () => {
    // @ts-expect-error 'walk' implicitly has type 'any'
    const walk = defineWorkflow({ input: z.object({ n: z.number() }) }).parent("x", {
      // @ts-expect-error implicitly has return type 'any'
      children: ({ input }) => (input.n === 0 ? [] : [child(walk, { n: input.n - 1 })]),
    });
  });

  test("by name the output is what was said", () => {
    b.parent("x", {
      children: () => [childNamed<{ n: number }>("walk", { n: 1 })],
      // @ts-expect-error Property 'm' does not exist on type '{ n: number; }'
      finalize: { mutation: async (_ctx, { children }) => children.map((one) => one.m) },
    });
  });
});

describe("the editor shows a scope as its members", () => {
  test("of a handler, a compensation, a finalize, a body and until", () => {
    const chain = b.step("seats", { query: () => 3 }).sleep("rest", "1m");
    chain.step("x", {
      action: async (_ctx, scope) => {
        // @ts-expect-error Type '{ input: { a: string; }; seats: number; }' is not assignable to type 'never'
        const shown: never = scope;
      },
      recover: (_error, scope) => {
        // @ts-expect-error Type '{ input: { a: string; }; seats: number; }' is not assignable to type 'never'
        const shown: never = scope;
        return { later: true };
      },
      compensate: {
        mutation: (_ctx, scope) => {
          // @ts-expect-error Type '{ output: { later: boolean; } | null; error: StepError; input: { a: string; }; seats: number; }' is not assignable to type 'never'
          const shown: never = scope;
        },
      },
    });
    chain.parent("x", {
      action: async () => "text",
      children: (scope) => {
        // @ts-expect-error Type '{ output: string; input: { a: string; }; seats: number; }' is not assignable to type 'never'
        const shown: never = scope;
        return one;
      },
      tolerate: "all",
      finalize: {
        mutation: (_ctx, scope) => {
          // @ts-expect-error Type '{ output: string; children: Settled<number>[]; input: { a: string; }; seats: number; }' is not assignable to type 'never'
          const shown: never = scope;
        },
      },
    });
    chain.loop("x", {
      initial: () => ({ n: 0 }),
      body: (b) =>
        b.step("y", {
          action: async (_ctx, scope) => {
            // @ts-expect-error Type '{ input: { a: string; }; loop: Loop<{ n: number; }>; seats: number; }' is not assignable to type 'never'
            const shown: never = scope;
            return { n: 1 };
          },
        }),
      until: (scope) => {
        // @ts-expect-error Type '{ input: { a: string; }; loop: Loop<{ n: number; }>; seats: number; }' is not assignable to type 'never'
        const shown: never = scope;
        return true;
      },
      maxIterations: 3,
    });
    chain.finalize({
      mutation: (_ctx, scope) => {
        // @ts-expect-error Type '{ input: { a: string; }; seats: number; }' is not assignable to type 'never'
        const shown: never = scope;
      },
    });
  });
});

describe("a match", () => {
  const told = defineWorkflow({
    input: z.object({ level: z.enum(["low", "high"]), id: z.string(), n: z.number() }),
  }).event("answer", { schema: z.string(), timeout: "1d" });

  test("[S166] a missing case, or one that there is not", () => {
    told.match("x", {
      of: "answer",
      by: "timedOut",
      // @ts-expect-error Property 'true' is missing in type
      cases: { false: (c) => c },
    });
    // @ts-expect-error a value \"middle\" of the field
    told.match("x", {
      of: "input",
      by: "level",
      cases: {
        low: (c) => c,
        high: (c) => c,
        // @ts-expect-error Parameter 'c' implicitly has an 'any' type
        middle: (c) => c,
      },
    });
  });

  test("[S166] a field, or a name, that tells nothing apart", () => {
    told.match("x", {
      of: "answer",
      // @ts-expect-error Type '"timedout"' is not assignable to type '"timedOut"'
      by: "timedout",
      cases: {},
    });
    told.match("x", {
      // @ts-expect-error Did you mean '"answer"'?
      of: "anser",
      // @ts-expect-error has no field of literals that all its members have: use .branch
      by: "timedOut",
      cases: {},
    });
    told.step("n", { query: () => ({ many: 1 }) }).match("x", {
      of: "n",
      // @ts-expect-error n\" has no field of literals that all its members have: use .branch
      by: "many",
      cases: {},
    });
    told.step("kind", { query: (_ctx, { input }) => input.id }).match("x", {
      of: "kind",
      // @ts-expect-error this can be any text: give it a type of literals, or use .branch
      cases: { a: (c) => c },
    });
  });

  test("[S244] what nothing is known of", () => {
    const known = told.step("made", { query: (_ctx, { input }): unknown => input });
    known.match("x", {
      of: "made",
      // @ts-expect-error made\" has no field of literals that all its members have: use .branch
      by: "kind",
      cases: {},
    });
    known.match("x", {
      of: "made",
      // @ts-expect-error this cannot be a key: name one of its fields with `by`
      cases: { a: (c) => c },
    });
  });

  test("[S166] what it is of, or the field, is missing", () => {
    told.match("x", {
      of: "answer",
      // @ts-expect-error this cannot be a key: name one of its fields with `by`
      cases: { true: (c) => c, false: (c) => c },
    });
    told.match("x", {
      // @ts-expect-error 'on' does not exist in type 'MatchNode<
      on: "answer",
      by: "timedOut",
      cases: { true: (c) => c, false: (c) => c },
    });
    told.match("x", {
      // @ts-expect-error is not assignable to type '"answer" | "input"'
      of: ({ answer }) => answer,
      by: "timedOut",
      cases: { true: (c) => c, false: (c) => c },
    });
  });

  test("[S166] what another case has", () => {
    told.match("x", {
      of: "answer",
      by: "timedOut",
      cases: {
        false: (c) => c,
        // @ts-expect-error Property 'event' does not exist on type '{ timedOut: true; }'
        true: (c) => c.step("y", { query: (_ctx, { answer }) => answer.event }),
      },
    });
  });
});

describe("an end", () => {
  test("[S167] what cannot be stored, or comes later", () => {
    // @ts-expect-error result.at: A Date is not a Convex value: return date.getTime()
    b.end(() => ({ at: new Date() }));
    // @ts-expect-error result: A Promise inside a result: await it first
    b.end(async () => 1);
    // @ts-expect-error the name \"end\" is reserved
    b.step("end", { query: () => 1 });
  });

  test("[S167] nothing follows it, and nothing of it is in the output of the branch", () => {
    // @ts-expect-error Property 'step' does not exist on type 'Ended<
    b.end(() => 1).step("x", { query: () => 1 });
    b.branch("early", {
      on: () => "low" as const,
      // @ts-expect-error Property 'sleep' does not exist on type 'Ended<
      cases: { low: (c) => c.end(() => 1).sleep("x", 1) },
    });
    b.branch("early", {
      on: ({ input }) => (input.a === "" ? "low" : "high"),
      cases: {
        low: (c) => c.end(() => ({ skipped: true })),
        high: (c) => c.step("y", { query: () => ({ n: 1 }) }),
      },
      // @ts-expect-error Property 'skipped' does not exist on type '{ n: number; }'
    }).step("z", { query: (_ctx, { early }) => early.skipped });
  });
});

describe("branches and items", () => {
  const c = defineWorkflow({ input: z.object({ id: z.string(), langs: z.array(z.string()) }) });

  test("branches see the scope, and nothing of one another", () => {
    c.parallel("x", {
      branches: {
        left: (inner) => inner.step("y", { query: () => 1 }),
        // @ts-expect-error Property 'y' does not exist on type
        right: (inner) => inner.step("z", { query: (_ctx, { y }) => y }),
      },
    });
    c.parallel("x", { branches: { left: (inner) => inner.step("y", { query: () => 1 }) } }).step(
      "z",
      // @ts-expect-error Property 'right' does not exist on type '{ left: number; }'
      { query: (_ctx, { x }) => x.right },
    );
    c.parallel("x", {
      // @ts-expect-error a case or a body has no .finalize: its output is that of its last node
      branches: { left: (inner) => inner.finalize({ query: () => 1 }) },
    });
  });

  test("options", () => {
    c.parallel("x", {
      branches: { left: (inner) => inner.step("y", { query: () => 1 }) },
      // @ts-expect-error Type '"some"' is not assignable to type 'Tolerate | undefined'
      tolerate: "some",
    });
    c.parallel("x", {
      branches: { left: (inner) => inner.step("y", { query: () => 1 }) },
      // @ts-expect-error Type 'string' is not assignable to type 'number'
      reduce: { initial: 0, step: (sum, output) => `${sum}${output}` },
    });
    c.parallel("x", {
      branches: { left: (inner) => inner.step("y", { query: () => 1 }) },
      // @ts-expect-error Type 'string' is not assignable to type 'number'
      concurrency: ({ input }) => input.id,
    });
    c.parallel("x", {
      branches: { left: (inner) => inner.step("y", { query: () => 1 }) },
      // @ts-expect-error Did you mean to write 'tolerate'?
      tollerate: "all",
    });
  });

  test("a race: its cases see the scope alone, and its output is told apart", () => {
    const raced = c.race("x", {
      cases: {
        left: (inner) => inner.step("y", { query: () => 1 }),
        right: (inner) => inner.sleep("nap", 5),
      },
    });
    // @ts-expect-error Type 'number | null' is not assignable to type 'number'
    raced.step("z", { query: (_ctx, { x }): number => x.output });
    raced.step("z", {
      // @ts-expect-error This comparison appears to be unintentional because the types '"left" | "right"' and '"middle"' have no overlap
      query: (_ctx, { x }) => x.case === "middle",
    });
    // @ts-expect-error Property 'ok' does not exist on type
    raced.step("z", { query: (_ctx, { x }) => x.ok });
    c.race("x", {
      cases: {
        left: (inner) => inner.step("y", { query: () => 1 }),
        // @ts-expect-error Property 'y' does not exist on type
        right: (inner) => inner.step("z", { query: (_ctx, { y }) => y }),
      },
    });
    c.race("x", {
      // @ts-expect-error a case or a body has no .finalize: its output is that of its last node
      cases: { left: (inner) => inner.finalize({ query: () => 1 }) },
    });
    c.race("x", {
      cases: { left: (inner) => inner.step("y", { query: () => 1 }) },
      // @ts-expect-error Type '"last"' is not assignable to type '"any"'
      first: "last",
    });
    c.race("x", {
      cases: { left: (inner) => inner.step("y", { query: () => 1 }) },
      // @ts-expect-error 'concurrency' does not exist in type
      concurrency: 2,
    });
    c.race("x", {
      cases: { left: (inner) => inner.step("y", { query: () => 1 }) },
      // @ts-expect-error Type 'string' is not assignable to type 'boolean | undefined'
      compensateLosers: "no",
    });
  });

  test("an item, seen in the body alone", () => {
    c.each("x", {
      of: ({ input }) => input.langs,
      // @ts-expect-error Property 'key' does not exist on type
      body: (inner) => inner.step("y", { query: (_ctx, { each }) => each.key }),
    });
    c.each("x", {
      // @ts-expect-error Type 'string' is not assignable to type 'Items'
      of: ({ input }) => input.id,
      body: (inner) => inner,
    });
    c.each("x", {
      // @ts-expect-error A Date is not a Convex value
      of: () => [new Date()],
      body: (inner) => inner,
    });
    c.each("x", {
      of: ({ input }) => input.langs,
      body: (inner) => inner.step("y", { query: () => 1 }),
    }).step("z", {
      // @ts-expect-error Property 'each' does not exist on type
      query: (_ctx, { each }) => each,
    });
    // @ts-expect-error the name \"each\" is reserved
    c.step("each", { query: () => 1 });
  });
});
