import { v } from "convex/values";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  type Builder,
  child,
  childNamed,
  defineWorkflow,
  type Info,
  type Loop,
  type Retry,
  type Settled,
  type StepError,
  type WorkflowInput,
  type WorkflowOutput,
  type WorkflowScope,
} from "../../src/definition/index.js";
import { internal } from "./references.js";
import type { PathsOf } from "./paths.js";

/* The whole language, with no annotation but where a test says so. */

const leaf = defineWorkflow({ input: z.object({ topic: z.string() }) }).step("words", {
  action: async (_ctx, { input }) => ({ words: input.topic.length }),
});
const flag = defineWorkflow({ input: z.object({ on: z.boolean() }) }).step("flag", {
  query: (_ctx, { input }) => input.on,
});
const begin = defineWorkflow({ input: z.object({ email: z.string(), seats: z.number() }) });

describe("the onEnd of a workflow", () => {
  test("[S170] sees the parsed input and how the run has ended, whatever comes before it", () => {
    defineWorkflow({
      onEnd: {
        mutation: async (_ctx, { input, run }) => {
          expectTypeOf(input).toEqualTypeOf<{ n: number }>();
          if (run.state === "completed") expectTypeOf(run.output).toEqualTypeOf<unknown>();
          else expectTypeOf(run.error).toEqualTypeOf<StepError>();
        },
      },
      input: z.object({ n: z.number().default(1) }),
    });
    defineWorkflow({
      input: v.object({ email: v.string() }),
      onEnd: {
        mutation: internal.users.save,
        args: ({ input, run: { state } }) => {
          expectTypeOf(state).toEqualTypeOf<"completed" | "failed" | "canceled" | "timedOut">();
          return input;
        },
      },
    });
    defineWorkflow({
      input: z.object({}),
      onEnd: { action: async (_ctx, _scope, { attempt }) => attempt, retry: { maxAttempts: 3 } },
    });
  });

  test("[S170] is a mutation or an action, and sees no node", () => {
    const input = z.object({});
    // @ts-expect-error a query changes nothing
    defineWorkflow({ input, onEnd: { query: () => 1 } });
    // @ts-expect-error it sees no children
    defineWorkflow({ input, onEnd: { mutation: async (_ctx, { children }) => children } });
    defineWorkflow({
      input,
      onEnd: {
        mutation: internal.users.save,
        // @ts-expect-error the email is missing
        args: () => ({}),
      },
    });
    // @ts-expect-error nothing says with which arguments
    defineWorkflow({ input, onEnd: { mutation: internal.users.save } });
  });
});

describe("what whole nodes take", () => {
  const scoped = { email: "", seats: 1 };

  test("[S127] a finalize by reference gives what the function returns", () => {
    const b = begin
      .parent("saved", {
        children: () => [child(leaf, { topic: "a" })],
        finalize: {
          mutation: internal.users.save,
          args: ({ input, children }) => {
            expectTypeOf(children).toEqualTypeOf<{ words: number }[]>();
            return { email: input.email };
          },
          isolate: true,
        },
      })
      .finalize({
        mutation: internal.users.save,
        args: ({ input, saved }, info) => {
          expectTypeOf(saved).toEqualTypeOf<null>();
          expectTypeOf(info.idempotencyKey).toEqualTypeOf<string>();
          return { email: input.email };
        },
      });
    expectTypeOf<WorkflowOutput<typeof b>>().toEqualTypeOf<null>();
    begin.finalize({
      mutation: internal.users.save,
      // @ts-expect-error the email is missing
      args: () => ({}),
    });
    // @ts-expect-error nothing says with which arguments
    begin.finalize({ mutation: internal.users.save });
    // @ts-expect-error it is a mutation
    begin.finalize({ query: internal.users.save, args: () => ({ email: "" }) });
  });

  test("[S128] a timeout by the scope makes the output of an event a union", () => {
    const fits = Math.random() > 0.5;
    const b = begin
      .event("paid", {
        schema: z.number(),
        timeout: ({ input }) => {
          expectTypeOf(input).toEqualTypeOf<typeof scoped>();
          return input.seats;
        },
      })
      .event("asked", { anyOf: { yes: z.string() }, timeout: () => "1h" })
      .event("due", { schema: z.null(), timeout: ({ input }) => new Date(input.seats) });
    type Timed<Event> = { timedOut: false; event: Event } | { timedOut: true };
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["paid"]>().toEqualTypeOf<Timed<number>>();
    expectTypeOf<Scope["asked"]>().toEqualTypeOf<Timed<{ name: "yes"; value: string }>>();
    expectTypeOf<Scope["due"]>().toEqualTypeOf<Timed<null>>();
    // @ts-expect-error that is no duration
    begin.event("never", { schema: z.number(), timeout: () => "soon" });
    // @ts-expect-error a run that has come to wait may find none
    begin.event("perhaps", { schema: z.number(), timeout: () => (fits ? "10m" : undefined) });
    begin.event("forever", { schema: z.number(), timeout: fits ? "10m" : undefined });
  });

  test("[S129] what recover gives joins the output of a child and a parent", () => {
    const b = begin
      .child("one", leaf, ({ input }) => ({ topic: input.email }), {
        recover: (error, { input }) => {
          expectTypeOf(error).toEqualTypeOf<StepError>();
          expectTypeOf(input).toEqualTypeOf<typeof scoped>();
          return input.seats;
        },
      })
      .parent("all", {
        action: async () => 1,
        children: ({ output }) => [child(leaf, { topic: `${output}` })],
        finalize: { mutation: async (_ctx, { children }) => children.length },
        recover: (error, { one }) => {
          expectTypeOf(one).toEqualTypeOf<{ words: number } | number>();
          return { failed: error.message };
        },
      })
      .parent("gathered", {
        children: () => [child(leaf, { topic: "a" })],
        recover: () => null,
      });
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["all"]>().toEqualTypeOf<number | { failed: string }>();
    expectTypeOf<Scope["gathered"]>().toEqualTypeOf<{ children: { words: number }[] } | null>();
    // @ts-expect-error a Date cannot be stored
    begin.child("dated", leaf, () => ({ topic: "a" }), { recover: () => new Date() });
  });

  test("[S130] a loop takes a timeout", () => {
    const b = begin.loop("again", {
      initial: () => 0,
      body: (inside) => inside.step("next", { query: (_ctx, { loop }) => loop.state + 1 }),
      until: () => true,
      maxIterations: 2,
      timeout: "1h",
    });
    expectTypeOf<WorkflowScope<typeof b>["again"]>().toEqualTypeOf<number>();
  });
});

describe("step", () => {
  test("what recover gives joins the output", () => {
    const b = begin
      .step("inline", {
        action: async (_ctx, { input }) => ({ seats: input.seats }),
        recover: (error, { input }) => {
          expectTypeOf(error).toEqualTypeOf<StepError>();
          expectTypeOf(input).toEqualTypeOf<{ email: string; seats: number }>();
          return { failed: error.message };
        },
      })
      .step("save", {
        mutation: internal.users.save,
        args: ({ input }) => ({ email: input.email }),
        recover: async () => "not saved" as const,
      })
      .step("nothing", { action: async () => 1, recover: () => {} })
      .step("throws", {
        action: async () => 1,
        recover: (error) => {
          throw new Error(error.message);
        },
      });
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["inline"]>().toEqualTypeOf<{ seats: number } | { failed: string }>();
    expectTypeOf<Scope["save"]>().toEqualTypeOf<"not saved" | null>();
    expectTypeOf<Scope["nothing"]>().toEqualTypeOf<number | null>();
    expectTypeOf<Scope["throws"]>().toEqualTypeOf<number>();
  });

  test("a step error is a Convex value", () => {
    const b = begin.step("risky", { action: async () => 1, recover: (error) => ({ error }) });
    expectTypeOf<WorkflowOutput<typeof b>>().toEqualTypeOf<number | { error: StepError }>();
  });

  test("compensate sees the scope, the step's output, and why the run is undone; inline and as a reference", () => {
    const b = begin
      .step("reserve", {
        mutation: async (_ctx, { input }) => ({ reserved: input.seats }),
        retry: true,
        compensate: {
          mutation: async (ctx, { input, output, error }, info) => {
            expectTypeOf(output).toEqualTypeOf<{ reserved: number }>();
            expectTypeOf(error).toEqualTypeOf<StepError>();
            expectTypeOf(info).toExtend<Info>();
            expectTypeOf(info.attempt).toEqualTypeOf<number>();
            expectTypeOf(input.email).toEqualTypeOf<string>();
            await ctx.scheduler.runAfter(0, internal.users.save, { email: error.message });
          },
          timeout: "10s",
        },
      })
      .step("charge", {
        action: internal.users.get,
        args: ({ reserve }) => ({ id: `${reserve.reserved}` }),
        compensate: {
          action: internal.users.release,
          args: ({ output, reserve }) => ({ seats: output.topics.length + reserve.reserved }),
          retry: { maxAttempts: 3, initialBackoffMs: 100, base: 2 },
        },
      })
      .step("ship", {
        action: async () => 1,
        recover: () => "later" as const,
        compensate: {
          action: async (_ctx, { output }) => {
            expectTypeOf(output).toEqualTypeOf<number | "later">();
          },
        },
      })
      .step("note", {
        mutation: async () => "text",
        sensitive: true,
        compensate: {
          mutation: internal.users.save,
          args: ({ output, charge }) => ({ email: output + charge.email }),
        },
      });
    expectTypeOf<WorkflowScope<typeof b>>().toEqualTypeOf<{
      input: { email: string; seats: number };
      reserve: { reserved: number };
      charge: { email: string; topics: string[] };
      ship: number | "later";
      note: string;
    }>();
  });

  test("a handler can ask whether its run was canceled", () => {
    begin.step("long", {
      action: async (_ctx, _scope, info) => {
        expectTypeOf(info.isCanceled).toEqualTypeOf<() => Promise<boolean>>();
        return await info.isCanceled();
      },
    });
  });
});

describe("parent", () => {
  const topics = begin.step("topics", { action: async () => ["a", "b"] });

  test("with tolerate, children tell what became of each", () => {
    const b = topics
      .parent("byNumber", {
        children: ({ topics }) => topics.map((topic) => child(leaf, { topic })),
        tolerate: { failures: 2 },
        finalize: {
          mutation: async (_ctx, { children }) => {
            expectTypeOf(children).toEqualTypeOf<Settled<{ words: number }>[]>();
            return children.map((one) => (one.ok ? one.output.words : one.error.message));
          },
          isolate: true,
        },
      })
      .parent("byShare", {
        children: () => ({ left: child(leaf, { topic: "" }), right: child(flag, { on: true }) }),
        tolerate: { percentage: 50 },
      })
      .parent("all", {
        action: async () => 7,
        children: ({ output }) => [child(leaf, { topic: `${output}` })],
        tolerate: "all",
        timeout: "1h",
      });
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["byNumber"]>().toEqualTypeOf<(string | number)[]>();
    expectTypeOf<Scope["byShare"]>().toEqualTypeOf<{
      children: { left: Settled<{ words: number }>; right: Settled<boolean> };
    }>();
    expectTypeOf<Scope["all"]>().toEqualTypeOf<{
      output: number;
      children: Settled<{ words: number }>[];
    }>();
  });

  test("what became of a child is told apart by ok", () => {
    expectTypeOf<Settled<number>>().toEqualTypeOf<
      { ok: true; output: number } | { ok: false; error: StepError }
    >();
  });

  test("reduce puts one value in the place of children", () => {
    const b = topics
      .parent("sum", {
        children: ({ topics }) => topics.map((topic) => child(leaf, { topic })),
        reduce: {
          initial: 0,
          step: (sum, output, key) => {
            expectTypeOf(sum).toEqualTypeOf<number>();
            expectTypeOf(output).toEqualTypeOf<{ words: number }>();
            expectTypeOf(key).toEqualTypeOf<string | number>();
            return sum + output.words;
          },
        },
      })
      .parent("report", {
        action: async () => ({ title: "t" }),
        children: () => ({ left: child(leaf, { topic: "" }), right: child(flag, { on: true }) }),
        tolerate: "all",
        reduce: {
          initial: { good: 0, bad: [] as string[] },
          step: (report, one, key) =>
            one.ok
              ? { ...report, good: report.good + 1 }
              : { ...report, bad: [...report.bad, `${key}: ${one.error.message}`] },
        },
        finalize: {
          action: async (_ctx, { output, children }) => {
            expectTypeOf(children).toEqualTypeOf<{ good: number; bad: string[] }>();
            return { ...output, ...children };
          },
          retry: true,
          timeout: "1m",
        },
      })
      .parent("whole", {
        action: async () => ({ title: "t" }),
        children: ({ output }) => [child(leaf, { topic: output.title })],
        reduce: { initial: "", step: (text, { words }) => `${text} ${words}` },
      });
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["sum"]>().toEqualTypeOf<{ children: number }>();
    expectTypeOf<Scope["report"]>().toEqualTypeOf<{
      title: string;
      good: number;
      bad: string[];
    }>();
    expectTypeOf<Scope["whole"]>().toEqualTypeOf<{ output: { title: string }; children: string }>();
  });

  test("children of several workflows give a union; an empty list is a list like any other", () => {
    const b = topics.parent("mixed", {
      children: ({ input, topics }) =>
        input.seats === 0
          ? []
          : topics.map((topic) => (topic ? child(leaf, { topic }) : child(flag, { on: true }))),
    });
    expectTypeOf<WorkflowOutput<typeof b>>().toEqualTypeOf<{
      children: (boolean | { words: number })[];
    }>();
  });

  test("a handler that gives any, or nothing, has an output all the same", () => {
    const b = begin
      .parent("any", {
        action: async () => JSON.parse("{}"),
        children: ({ output }) => [child(leaf, { topic: output.topic })],
      })
      .parent("nothing", {
        mutation: async () => {},
        children: ({ output }) => {
          expectTypeOf(output).toEqualTypeOf<null>();
          return [child(leaf, { topic: "" })];
        },
      });
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["any"]["output"]>().toBeAny();
    expectTypeOf<Scope["nothing"]["output"]>().toEqualTypeOf<null>();
  });
});

describe("what generated code sees of a node", () => {
  test("args give no any, which linters that know types would take for unsafe", () => {
    const b = begin.step("digest", {
      action: internal.hashing.sha256,
      args: ({ input }) => ({ text: input.email }),
      compensate: { action: internal.hashing.sha256, args: ({ output }) => ({ text: output }) },
    });
    expectTypeOf(b.nodes.digest.args({})).toBeNever();
    expectTypeOf(b.nodes.digest.compensate.args({})).toBeNever();
  });
});

describe("sleep", () => {
  test("it has no output: the scope stays, and so does the output of what came before", () => {
    const b = begin
      .step("seats", { query: (_ctx, { input }) => input.seats })
      .sleep("fixed", "10m")
      .sleep("milliseconds", 250)
      .sleep("computed", ({ seats }) => seats * 1_000)
      .sleep("due", ({ seats }) => (seats > 3 ? new Date() : "3 days"));
    expectTypeOf<WorkflowOutput<typeof b>>().toEqualTypeOf<number>();
    expectTypeOf<WorkflowScope<typeof b>>().toEqualTypeOf<{
      input: { email: string; seats: number };
      seats: number;
    }>();
    expectTypeOf(b.nodes.computed).not.toBeAny();
    expectTypeOf(b.nodes.computed).toHaveProperty("kind");
  });
});

describe("event", () => {
  const decision = z.object({ by: z.string(), ok: z.boolean().default(true) });

  test("a schema gives its parsed payload, of zod and of Convex", () => {
    const b = begin
      .event("decision", { schema: decision })
      .event("order", { schema: v.object({ cents: v.number(), note: v.optional(v.string()) }) });
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["decision"]>().toEqualTypeOf<{ by: string; ok: boolean }>();
    expectTypeOf<Scope["order"]>().toEqualTypeOf<{ cents: number; note?: string }>();
  });

  test("anyOf gives a union told apart by name", () => {
    const b = begin
      .event("answer", { anyOf: { yes: decision, no: z.object({ why: z.string() }) } })
      .step("use", {
        mutation: (_ctx, { answer }) =>
          answer.name === "yes" ? answer.value.by : answer.value.why,
      });
    expectTypeOf<WorkflowScope<typeof b>["answer"]>().toEqualTypeOf<
      { name: "yes"; value: { by: string; ok: boolean } } | { name: "no"; value: { why: string } }
    >();
  });

  test("a timeout makes it a union told apart by timedOut", () => {
    const b = begin
      .event("late", { schema: decision, timeout: "2 days" })
      .event("either", { anyOf: { paid: z.number(), canceled: v.string() }, timeout: 60_000 })
      .step("use", {
        mutation: (_ctx, { late, either }) => [
          late.timedOut ? null : late.event.by,
          either.timedOut ? null : either.event.value,
        ],
      });
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["late"]>().toEqualTypeOf<
      { timedOut: false; event: { by: string; ok: boolean } } | { timedOut: true }
    >();
    expectTypeOf<Scope["either"]>().toEqualTypeOf<
      | {
          timedOut: false;
          event: { name: "paid"; value: number } | { name: "canceled"; value: string };
        }
      | { timedOut: true }
    >();
  });
});

describe("branch", () => {
  test("its output is the union of its cases'; a case without nodes, or with sleeps only, gives null", () => {
    const b = begin.step("seats", { query: (_ctx, { input }) => input.seats }).branch("route", {
      on: ({ seats }) =>
        seats > 10 ? "big" : seats > 0 ? "small" : seats === 0 ? "none" : "waits",
      cases: {
        big: (b) =>
          b
            .step("checked", { action: async (_ctx, { seats }) => ({ seats }) })
            .step("sold", { mutation: (_ctx, { checked }) => checked.seats }),
        small: (b) => b.step("sold", { query: () => "small" as const }).sleep("rest", "1s"),
        none: (b) => b,
        waits: (b) => b.sleep("rest", "1h"),
      },
    });
    expectTypeOf<WorkflowScope<typeof b>>().toEqualTypeOf<{
      input: { email: string; seats: number };
      seats: number;
      route: number | "small" | null;
    }>();
  });

  test("names inside are free again after it", () => {
    const b = begin
      .branch("route", {
        on: () => "only",
        cases: { only: (b) => b.step("inside", { query: () => 1 }) },
      })
      .step("inside", { query: () => "outside" });
    expectTypeOf<WorkflowScope<typeof b>["inside"]>().toEqualTypeOf<string>();
  });
});

describe("loop", () => {
  test("initial makes the state, the last node of the body the next, and until sees both it and the scope", () => {
    const b = begin.loop("agent", {
      initial: ({ input }) => ({ messages: [input.email], isDone: false }),
      body: (b) =>
        b
          .step("think", {
            action: async (_ctx, { loop }) => {
              expectTypeOf(loop).toEqualTypeOf<Loop<{ messages: string[]; isDone: boolean }>>();
              return { text: loop.state.messages.join() };
            },
          })
          .step("next", {
            mutation: (_ctx, { loop, think }) => ({
              messages: [...loop.state.messages, think.text],
              isDone: loop.iteration > 3,
            }),
          }),
      until: ({ loop, input }) => loop.state.isDone || loop.iteration > input.seats,
      maxIterations: 10,
    });
    expectTypeOf<WorkflowScope<typeof b>>().toEqualTypeOf<{
      input: { email: string; seats: number };
      agent: { messages: string[]; isDone: boolean };
    }>();
  });

  test("a number or a list will do; a first literal is taken for its kind", () => {
    const b = begin
      .loop("count", {
        initial: () => 0,
        body: (b) => b.step("add", { mutation: (_ctx, { loop }) => loop.state + 1 }),
        until: ({ loop }) => loop.state > 3,
        maxIterations: 5,
      })
      .loop("fields", {
        initial: () => ({ n: 0, text: "" }),
        body: (b) =>
          b.step("add", { mutation: (_ctx, { loop }) => ({ n: loop.state.n + 1, text: "x" }) }),
        until: ({ loop }) => loop.state.n > 3,
        maxIterations: 5,
      });
    type Scope = WorkflowScope<typeof b>;
    expectTypeOf<Scope["count"]>().toEqualTypeOf<number>();
    expectTypeOf<Scope["fields"]>().toEqualTypeOf<{ n: number; text: string }>();
  });

  test("[S174] state types initial and the last node of the body: their literals do not widen", () => {
    const State = z.object({
      phase: z.enum(["plan", "revise", "done"]),
      tries: z.union([z.literal(1), z.literal(2)]),
      notes: z.array(z.string()),
      last: z.string().optional(),
    });
    type State = z.infer<typeof State>;
    const b = begin
      .loop("agent", {
        state: State,
        initial: ({ input }) => ({ phase: "plan", tries: 1, notes: [input.email] }),
        body: (b) =>
          b.step("think", { action: async () => "text" }).step("next", {
            action: async (_ctx, { loop, think }) => {
              expectTypeOf(loop.state).toEqualTypeOf<State>();
              return { phase: loop.iteration > 2 ? "done" : "revise", tries: 2, notes: [think] };
            },
            recover: () => ({ phase: "done" as const, tries: 1 as const, notes: [] }),
          }),
        until: ({ loop }) => loop.state.phase === "done",
        maxIterations: 10,
      })
      .loop("routed", {
        state: State,
        initial: (_scope) => ({ phase: "plan", tries: 1, notes: [] }),
        body: (b) =>
          b.branch("way", {
            on: ({ loop }) => (loop.iteration > 2 ? "out" : "on"),
            cases: {
              out: (c) => c.step("last", { query: () => ({ phase: "done", tries: 1, notes: [] }) }),
              on: (c) =>
                c
                  .parallel("both", {
                    branches: { one: (p) => p.step("first", { query: () => ({ phase: "x" }) }) },
                  })
                  .step("again", {
                    mutation: (_ctx, { both }) => {
                      expectTypeOf(both).toEqualTypeOf<{ one: { phase: string } }>();
                      return { phase: "plan", tries: 2, notes: [], last: both.one.phase };
                    },
                  }),
            },
          }),
        until: ({ loop }) => loop.state.phase === "done",
        maxIterations: 10,
      });
    expectTypeOf<WorkflowScope<typeof b>["agent"]>().toEqualTypeOf<State>();
    expectTypeOf<WorkflowScope<typeof b>["routed"]>().toEqualTypeOf<State>();
  });

  test("[S174] a body in a function of its own fits a loop with a state, and one without", () => {
    type State = { phase: "plan" | "done" };
    type Seen = [["input", { email: string; seats: number }], ["loop", Loop<State>]];
    const body = <Input, Around, Events>(b: Builder<Input, Seen, Around, Events>) =>
      b.step("next", { query: (_ctx, { loop }): State => loop.state });
    const shared = { until: () => true, maxIterations: 2 };
    const b = begin
      .loop("first", {
        state: z.object({ phase: z.enum(["plan", "done"]) }),
        initial: (_scope) => ({ phase: "plan" }),
        body,
        ...shared,
      })
      .step("between", { query: (_ctx, { first }) => first.phase });
    expectTypeOf<WorkflowScope<typeof b>["first"]>().toEqualTypeOf<State>();
    const plain = begin.loop("only", {
      initial: (): State => ({ phase: "plan" }),
      body,
      ...shared,
    });
    expectTypeOf<WorkflowOutput<typeof plain>>().toEqualTypeOf<State>();
  });

  test("without a state, the literals of initial and of the body are those of their kind", () => {
    const b = begin.loop("count", {
      initial: ({ input }) => ({ n: 0, text: input.email }),
      body: (b) => b.step("add", { query: () => ({ n: 1, text: "x" }) }),
      until: ({ loop }) => loop.state.n > 3,
      maxIterations: 5,
    });
    expectTypeOf<WorkflowOutput<typeof b>>().toEqualTypeOf<{ n: number; text: string }>();
  });

  test("state types what initial cannot: an empty list, one member of a union", () => {
    const b = begin.loop("agent", {
      state: z.object({
        messages: z.array(z.string()),
        phase: z.enum(["plan", "revise", "done"]),
      }),
      initial: () => ({ messages: [], phase: "plan" as const }),
      body: (b) =>
        b.step("next", {
          action: async (_ctx, { loop }) => {
            expectTypeOf(loop.state.phase).toEqualTypeOf<"plan" | "revise" | "done">();
            return {
              messages: [...loop.state.messages, "x"],
              phase: loop.iteration > 2 ? ("done" as const) : ("revise" as const),
            };
          },
        }),
      until: ({ loop }) => loop.state.phase === "done",
      maxIterations: 10,
    });
    expectTypeOf<WorkflowOutput<typeof b>>().toEqualTypeOf<{
      messages: string[];
      phase: "plan" | "revise" | "done";
    }>();
  });

  test("a body may hold any node; of loops inside each other, each has its own loop", () => {
    const b = begin.loop("outer", {
      initial: () => [""],
      body: (b) =>
        b
          .loop("inner", {
            initial: ({ loop }) => loop.state.length,
            body: (b) =>
              b
                .sleep("rest", "1s")
                .parent("below", { children: () => [child(flag, { on: true })] })
                .event("stop", { schema: z.boolean(), timeout: "1h" })
                .step("add", {
                  mutation: (_ctx, { loop, below, stop }) => {
                    expectTypeOf(loop.state).toEqualTypeOf<number>();
                    expectTypeOf(below).toEqualTypeOf<{ children: boolean[] }>();
                    return stop.timedOut ? loop.state + 1 : 100;
                  },
                }),
            until: ({ loop }) => loop.state > 3,
            maxIterations: 5,
          })
          .branch("which", {
            on: ({ inner }) => (inner > 3 ? "long" : "short"),
            cases: {
              long: (b) => b.child("one", leaf, ({ loop }) => ({ topic: loop.state.join() })),
              short: (b) => b.step("none", { query: () => ({ words: 0 }) }),
            },
          })
          .step("noted", {
            mutation: (_ctx, { loop, inner, which }) => {
              expectTypeOf(loop.state).toEqualTypeOf<string[]>();
              return [...loop.state, `${inner} ${which.words}`];
            },
          }),
      until: ({ loop }) => loop.iteration > 2,
      maxIterations: 10,
    });
    expectTypeOf<WorkflowScope<typeof b>>().toEqualTypeOf<{
      input: { email: string; seats: number };
      outer: string[];
    }>();
  });
});

describe("child", () => {
  test("its output is the node's", () => {
    const b = begin
      .child("one", leaf, ({ input }) => ({ topic: input.email }))
      .finalize({ query: (_ctx, { one }) => one.words });
    expectTypeOf<WorkflowScope<typeof b>["one"]>().toEqualTypeOf<{ words: number }>();
    expectTypeOf<WorkflowOutput<typeof b>>().toEqualTypeOf<number>();
  });

  test("a workflow that is its own descendant calls itself by name", () => {
    const walk = defineWorkflow({ input: z.object({ depth: z.number() }) })
      .parent("below", {
        children: ({ input }) =>
          input.depth === 0 ? [] : [childNamed<number>("walk", { depth: input.depth - 1 })],
      })
      .finalize({ query: (_ctx, { below }) => 1 + (below.children[0] ?? 0) });
    expectTypeOf<WorkflowOutput<typeof walk>>().toEqualTypeOf<number>();
    expectTypeOf<WorkflowScope<typeof walk>["below"]>().toEqualTypeOf<{ children: number[] }>();
  });

  test("a child of a record may be left out, as undefined or as a field of another record", () => {
    const left = defineWorkflow({ input: z.object({ n: z.number() }) })
      .parent("some", {
        children: ({ input }) => ({ a: input.n > 1 ? child(leaf, { topic: "" }) : undefined }),
      })
      .parent("others", {
        children: ({ input }) => (input.n > 1 ? { b: child(leaf, { topic: "" }) } : {}),
      });
    type Words = { words: number };
    expectTypeOf<WorkflowScope<typeof left>["some"]>().toEqualTypeOf<{
      children: { a: Words | undefined };
    }>();
    const { children } = {} as WorkflowScope<typeof left>["others"];
    expectTypeOf(children.b).toEqualTypeOf<Words | undefined>();
  });

  test("so do two workflows that call each other, beside children by definition", () => {
    const ping = defineWorkflow({ input: z.object({ n: z.number() }) }).parent("next", {
      children: ({ input }) => ({
        pong: childNamed<{ from: "pong" }>("pong", { n: input.n - 1 }),
        leaf: child(leaf, { topic: "" }),
      }),
    });
    const pong = defineWorkflow({ input: z.object({ n: z.number() }) })
      .child("next", ping, ({ input }) => ({ n: input.n }))
      .finalize({ mutation: () => ({ from: "pong" as const }) });
    expectTypeOf<WorkflowOutput<typeof ping>>().toEqualTypeOf<{
      children: { pong: { from: "pong" }; leaf: { words: number } };
    }>();
    expectTypeOf<WorkflowOutput<typeof pong>>().toEqualTypeOf<{ from: "pong" }>();
  });
});

describe("workflow", () => {
  test("options do not change what goes in and comes out", () => {
    const b = defineWorkflow({
      input: v.object({ id: v.string() }),
      retry: { maxAttempts: 3, initialBackoffMs: 100, base: 2, maxBackoffMs: 1_000 },
      timeout: "1h",
      retention: "30 days",
      renamed: { old: "only", "agent.thought": "agent.think" },
    }).step("only", { query: (_ctx, { input }) => input.id });
    expectTypeOf<WorkflowInput<typeof b>>().toEqualTypeOf<{ id: string }>();
    expectTypeOf<WorkflowOutput<typeof b>>().toEqualTypeOf<string>();
  });

  test("a match sees the payload as it was parsed, and the scope", () => {
    const begun = defineWorkflow({ input: z.object({ order: z.string() }) });
    const size = z.string().transform((text) => text.length);
    begun.event("paid", {
      schema: size,
      match: (payload, { input }) => {
        expectTypeOf(payload).toEqualTypeOf<number>();
        return payload > input.order.length;
      },
      timeout: ({ input }) => `${input.order.length}m` as const,
    });
    begun.event("paid", {
      anyOf: { paid: size, refused: z.object({ why: z.string() }) },
      match: { refused: (payload, { input }) => payload.why !== input.order },
    });
    begun.event("paid", {
      anyOf: { paid: size },
      // @ts-expect-error -- no event of that name is taken.
      match: { refunded: () => true },
    });
    // @ts-expect-error -- it is asked in a transaction, which waits for nothing.
    begun.event("paid", { schema: size, match: async () => true });
  });

  test("concurrency may be a function of what its children see", () => {
    defineWorkflow({ input: z.object({ most: z.number() }) }).parent("all", {
      query: () => ({ of: 3 }),
      children: ({ output }) => Array.from({ length: output.of }, () => child(leaf, { topic: "" })),
      concurrency: ({ input, output }) => {
        expectTypeOf(output).toEqualTypeOf<{ of: number }>();
        return Math.min(input.most, output.of);
      },
    });
  });

  test("a retry says only what differs, and knows the errors that it is asked about", () => {
    const options = { input: v.object({}), retry: { maxAttempts: 3 } };
    defineWorkflow(options).step("only", {
      action: () => 1,
      retry: {
        maxAttempts: 3,
        when: (error) => {
          expectTypeOf(error).toEqualTypeOf<StepError>();
          return error.kind !== "timedOut";
        },
      },
    });
    // @ts-expect-error -- it is asked in a transaction, which waits for nothing.
    void ({ maxAttempts: 3, when: async () => true } satisfies Retry);
  });

  test("its nodes are known by name, those without an output too, and no others", () => {
    const b = begin
      .step("a", { query: () => 1 })
      .sleep("b", 1)
      .finalize({ query: () => 1 });
    expectTypeOf<keyof typeof b.nodes>().toEqualTypeOf<"a" | "b" | "finalize">();
  });

  test("those inside others are known by their paths, at any depth", () => {
    const b = begin
      .step("first", { query: () => 1 })
      .loop("agent", {
        initial: () => 0,
        body: (b) =>
          b
            .sleep("rest", 1)
            .branch("how", {
              on: ({ first }) => (first > 2 ? "fast" : first > 1 ? "well" : "twice"),
              cases: {
                fast: (b) => b,
                well: (b) => b.child("think", leaf, () => ({ topic: "" })),
                twice: (b) =>
                  b.loop("again", {
                    initial: () => 0,
                    body: (b) => b.step("think", { query: () => 1 }),
                    until: () => true,
                    maxIterations: 2,
                  }),
              },
            })
            .step("next", { query: () => 1 }),
        until: () => true,
        maxIterations: 2,
      })
      .sleep("last", 1);
    expectTypeOf<keyof typeof b.nodes>().toEqualTypeOf<"first" | "agent" | "last">();
    const finalized = b.finalize({ query: () => 1 });
    expectTypeOf<keyof typeof finalized.nodes>().toEqualTypeOf<
      "first" | "agent" | "last" | "finalize"
    >();
    expectTypeOf<PathsOf<typeof b>>().toEqualTypeOf<
      | "first"
      | "agent"
      | "agent.rest"
      | "agent.how"
      | "agent.how.well.think"
      | "agent.how.twice.again"
      | "agent.how.twice.again.think"
      | "agent.next"
      | "last"
    >();
  });
});
