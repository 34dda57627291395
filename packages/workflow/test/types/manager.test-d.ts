import type {
  FunctionArgs,
  FunctionReference,
  GenericActionCtx,
  GenericMutationCtx,
  GenericQueryCtx,
} from "convex/server";
import { v, type Infer } from "convex/values";
import { describe, expectTypeOf, test } from "vitest";
import {
  defineWorkflow,
  vOnCompleteArgs,
  WorkflowManager,
  type EventName,
  type EventPayload,
  type FailedAttempt,
  type Limits,
  type LogLevel,
  type NodeName,
  type Retry,
  type Status,
  type StepError,
  type TimelineEntry,
  type Wait,
  type WorkflowManagerOptions,
  type WorkflowReference,
} from "../../src/index.js";
import type { DataModel } from "../convex/_generated/dataModel.js";
import { components } from "../convex/_generated/api.js";
import { workflow, workflows } from "../convex/_workflows/index.js";

declare const mutationCtx: GenericMutationCtx<DataModel>;
declare const actionCtx: GenericActionCtx<DataModel>;
declare const queryCtx: GenericQueryCtx<DataModel>;
const page = { numItems: 10, cursor: null };

type Callback<Args extends Record<string, unknown>> = FunctionReference<
  "mutation",
  "internal",
  Args,
  null
>;
const vFor = vOnCompleteArgs(v.object({ user: v.string() }), v.number());
declare const done: Callback<Infer<typeof vFor>>;
const vAny = vOnCompleteArgs();
declare const anyDone: Callback<Infer<typeof vAny>>;
declare const other: Callback<{ id: string }>;

describe("the manager", () => {
  test("its options are those that there are, with the levels that there are", () => {
    const manager = (options: WorkflowManagerOptions) =>
      new WorkflowManager(components.workflow, options);
    manager({ maxParallelism: 5, logLevel: "WARN" });
    // @ts-expect-error Type '"LOUD"' is not assignable to type
    manager({ logLevel: "LOUD" });
    const update = components.workflow.config.update;
    expectTypeOf<FunctionArgs<typeof update>>().toEqualTypeOf<{
      maxParallelism?: number;
      logLevel?: LogLevel;
      limits?: Limits;
    }>();
  });

  test("start: the callback says of what type the context is", async () => {
    const input = { n: 1 };
    await workflow.start(mutationCtx, workflows.leaf, input, {
      onComplete: { fn: done, context: { user: "Ada" } },
    });
    await workflow.start(mutationCtx, workflows.leaf, input, { onComplete: { fn: anyDone } });
    await workflow.start(mutationCtx, workflows.leaf, input, {
      // @ts-expect-error the context is missing
      onComplete: { fn: done },
    });
    await workflow.start(mutationCtx, workflows.leaf, input, {
      // @ts-expect-error the user is a string
      onComplete: { fn: done, context: { user: 7 } },
    });
    // @ts-expect-error that is no callback
    await workflow.start(mutationCtx, workflows.leaf, input, { onComplete: { fn: other } });
  });

  test("a callback sees what became of the run, told apart by its state", () => {
    type Args = Infer<typeof vFor>;
    expectTypeOf<Args["context"]>().toEqualTypeOf<{ user: string }>();
    const use = ({ result }: Args) => {
      if (result.state === "completed") expectTypeOf(result.output).toEqualTypeOf<number>();
      else expectTypeOf(result.error.message).toEqualTypeOf<string>();
    };
    expectTypeOf(use).toBeFunction();
  });

  test("start: runAt or runAfter", async () => {
    const start = workflow.start.bind(workflow);
    await start(mutationCtx, workflows.leaf, { n: 1 }, { runAt: new Date() });
    await start(actionCtx, workflows.leaf, { n: 1 }, { runAfter: "10m", key: "k" });
    // @ts-expect-error never both
    await start(mutationCtx, workflows.leaf, { n: 1 }, { runAt: 1, runAfter: 1 });
    // @ts-expect-error a query starts nothing
    await start(queryCtx, workflows.leaf, { n: 1 });
  });

  test("[S125] reuse goes with a key; startOrGet tells whether it started the run", async () => {
    const { leaf } = workflows;
    const got = await workflow.startOrGet(
      mutationCtx,
      leaf,
      { n: 1 },
      { key: "k", reuse: "ended" },
    );
    expectTypeOf(got).toEqualTypeOf<{ runId: string; started: boolean }>();
    await workflow.start(mutationCtx, leaf, { n: 1 }, { key: "k", reuse: "never", runAfter: 5 });
    // @ts-expect-error there is no key
    await workflow.start(mutationCtx, leaf, { n: 1 }, { reuse: "failed" });
    // @ts-expect-error there is no such rule
    await workflow.start(mutationCtx, leaf, { n: 1 }, { key: "k", reuse: "always" });
    await workflow.startBatch(mutationCtx, leaf, [], { key: ({ n }) => `${n}`, reuse: "failed" });
  });

  test("[S126] a key goes with its workflow", async () => {
    const run = { key: "k" };
    const status = await workflow.status(queryCtx, workflows.leaf, run);
    if (status?.state === "completed") expectTypeOf(status.output).toEqualTypeOf<number>();
    for (const how of ["cancel", "pause", "resume"] as const) {
      await workflow[how](mutationCtx, "id");
      await workflow[how](mutationCtx, workflows.leaf, run);
      await workflow[how](mutationCtx, workflows.leaf, "id");
      // @ts-expect-error the workflow is missing
      await workflow[how](mutationCtx, run);
    }
  });

  test("startBatch: inputs of the workflow, keys made of them", async () => {
    await workflow.startBatch(actionCtx, workflows.leaf, [{ n: 1 }, { n: 2, ms: 3 }], {
      key: ({ n }, index) => `${n} ${index}`,
    });
    // @ts-expect-error n is a number
    await workflow.startBatch(mutationCtx, workflows.leaf, [{ n: "one" }]);
  });

  test("[S150] status has the input as handlers see it, and waits are of any workflow", async () => {
    const status = await workflow.status(queryCtx, workflows.leaf, "id");
    expectTypeOf(status?.input).toEqualTypeOf<
      { n: number; ms: number; fails: boolean } | undefined
    >();
    const { page: waits } = await workflow.waits(queryCtx, "id");
    expectTypeOf(waits).toEqualTypeOf<Wait[]>();
    await workflow.waits(queryCtx, "id", page);
  });

  test("[S149] an entry names one of the events of its workflow", () => {
    type Asked = TimelineEntry<typeof workflows.asks>;
    expectTypeOf<Asked["event"]>().toEqualTypeOf<"yes" | "no" | undefined>();
  });

  test("status: every state", () => {
    const use = (status: Status<typeof workflows.list>) => {
      if (status.state === "completed") expectTypeOf(status.output).toEqualTypeOf<number[]>();
      if (status.state === "timedOut") expectTypeOf(status.error).toEqualTypeOf<StepError>();
      if (status.state === "compensating") expectTypeOf(status.error).toEqualTypeOf<StepError>();
      // @ts-expect-error one that is being undone has not ended
      if (status.state === "compensating") status.endedAt;
    };
    expectTypeOf(use).toBeFunction();
  });

  test("restart and list know the workflow's nodes", async () => {
    expectTypeOf<NodeName<typeof workflows.chain>>().toEqualTypeOf<
      "a" | "b" | "c" | "d" | "finalize"
    >();
    await workflow.restart(mutationCtx, workflows.chain, "id", { from: "b" });
    // @ts-expect-error there is no such node
    await workflow.restart(mutationCtx, workflows.chain, "id", { from: "e" });
    await workflow.restart(mutationCtx, workflows.chain, "id", { input: { fails: false } });
    // @ts-expect-error another input than the workflow's
    await workflow.restart(mutationCtx, workflows.chain, "id", { input: { fails: "no" } });
    await workflow.list(queryCtx, { workflow: workflows.told, node: "ask.answer" }, page);
    // @ts-expect-error there is no such node
    await workflow.list(queryCtx, { workflow: workflows.told, node: "asked" }, page);
    // @ts-expect-error nor is there one in the loop
    await workflow.list(queryCtx, { workflow: workflows.told, node: "ask.question" }, page);
    // @ts-expect-error there is no such state
    await workflow.list(queryCtx, { state: "done" }, page);
    const { page: rows } = await workflow.list(actionCtx, {}, page);
    expectTypeOf(rows[0]?.error).toEqualTypeOf<StepError | undefined>();
  });

  test("sendEvent knows the workflow's events, also those inside other nodes, and what is sent with them", async () => {
    expectTypeOf<EventName<typeof workflows.told>>().toEqualTypeOf<"answer" | "shout">();
    expectTypeOf<EventName<typeof workflows.awaited>>().toEqualTypeOf<"paid" | "canceled">();
    expectTypeOf<EventName<typeof workflows.chain>>().toEqualTypeOf<never>();
    expectTypeOf<EventPayload<typeof workflows.approval, "decision">>().toEqualTypeOf<{
      by: string;
      ok?: boolean | undefined;
    }>();
    const { told, approval, awaited, chain } = workflows;
    await workflow.sendEvent(mutationCtx, approval, "id", "decision", { by: "Ada" });
    await workflow.sendEvent(mutationCtx, awaited, { key: "k" }, "canceled", "why");
    await workflow.sendEvent(mutationCtx, told, "id", "shout", "loud");
    // Two nodes take it, each with a schema of its own.
    await workflow.sendEvent(mutationCtx, told, "id", "answer", { text: "so", n: 1 });
    await workflow.sendEvent(mutationCtx, told, "id", "answer", { text: "so" });
    // @ts-expect-error there is no such event
    await workflow.sendEvent(mutationCtx, approval, "id", "decided", { by: "Ada" });
    // @ts-expect-error `by` is missing
    await workflow.sendEvent(mutationCtx, approval, "id", "decision", { ok: true });
    // @ts-expect-error it is the payload of the other
    await workflow.sendEvent(mutationCtx, awaited, "id", "paid", "why");
    // @ts-expect-error it waits for none
    await workflow.sendEvent(mutationCtx, chain, "id", "decision", null);
    // One that is known by its reference only takes any name; it is checked then.
    const any: WorkflowReference<never> = approval;
    await workflow.sendEvent(mutationCtx, any, "id", "whatever", { by: 1 });
  });

  test("steps", async () => {
    const { page: entries } = await workflow.steps(queryCtx, workflows.chain, "id", page);
    expectTypeOf(entries).toEqualTypeOf<TimelineEntry<typeof workflows.chain>[]>();
    expectTypeOf<TimelineEntry["node"]>().toEqualTypeOf<string>();
    expectTypeOf<TimelineEntry["events"]>().toEqualTypeOf<string[] | undefined>();
  });

  test("status and steps know the workflow's nodes, what these consist of, and its events", async () => {
    const status = await workflow.status(queryCtx, workflows.told, "id");
    const { page: entries } = await workflow.steps(queryCtx, workflows.told, "id", page);
    const named = (
      node: (typeof entries)[number] | NonNullable<typeof status>["active"][number],
    ) => [
      node.node === "ask",
      node.node === "ask.answer",
      node.node === "ask.answer.compensate",
      // @ts-expect-error there is no such node
      node.node === "asks",
      // @ts-expect-error nor is there one in the loop
      node.node === "ask.question",
      // @ts-expect-error a name inside says where it stands
      node.node === "answer",
      node.events?.[0] === "shout",
      // @ts-expect-error it waits for no such event
      node.events?.[0] === "whisper",
    ];
    expectTypeOf(named).toBeFunction();
  });
});

test("`Retry` is what the option `retry` takes, and `status` tells of each `FailedAttempt`", () => {
  const retry: Retry = { maxAttempts: 3, when: ({ message }) => message !== "gone" };
  defineWorkflow({ input: v.object({}), retry }).step("a", {
    action: () => 1,
    retry: true as Retry,
  });
  expectTypeOf<NonNullable<TimelineEntry["retries"]>>().toEqualTypeOf<FailedAttempt[]>();
});
