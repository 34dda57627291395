import type * as theirs from "@convex-dev/workpool";
import type { GenericActionCtx, GenericMutationCtx, GenericQueryCtx } from "convex/server";
import { v } from "convex/values";
import { describe, expectTypeOf, test } from "vitest";
import {
  enqueue,
  type EnqueueOptions,
  type KeysOf,
  type LogLevel,
  type OnCompleteArgs,
  type RunResult,
  vOnCompleteArgs,
  vResult,
  vRunResult,
  vWorkId,
  type WorkId,
  Workpool,
  type WorkpoolOptions,
  type WorkStatus,
} from "../../src/client/index.js";
import type * as ours from "../../src/client/index.js";
import { components, internal } from "../convex/_generated/api.js";
import type { DataModel } from "../convex/_generated/server.js";

declare const mutationCtx: GenericMutationCtx<DataModel>;
declare const actionCtx: GenericActionCtx<DataModel>;
declare const queryCtx: GenericQueryCtx<DataModel>;
declare const id: WorkId;

const pool = new Workpool(components.workpool);
const { echo, sleep, write, count } = internal.jobs;
const { ended, typed } = internal.callbacks;

describe("what is enqueued", () => {
  test("is given its own arguments, from a mutation and from an action", async () => {
    expectTypeOf(
      await pool.enqueueAction(mutationCtx, sleep, { label: "a", ms: 1 }),
    ).toEqualTypeOf<WorkId>();
    expectTypeOf(
      await pool.enqueueMutationBatch(actionCtx, write, [{ label: "a" }, { label: "b" }]),
    ).toEqualTypeOf<WorkId[]>();
    await pool.enqueueQuery(mutationCtx, count, { label: "a" });
    // @ts-expect-error ms is missing
    await pool.enqueueAction(mutationCtx, sleep, { label: "a" });
    // @ts-expect-error label is a string
    await pool.enqueueMutationBatch(mutationCtx, write, [{ label: "a" }, { label: 2 }]);
    // @ts-expect-error a query cannot enqueue
    await pool.enqueueAction(queryCtx, sleep, { label: "a", ms: 1 });
  });

  test("is of the kind that the method says", async () => {
    // @ts-expect-error a mutation
    await pool.enqueueAction(mutationCtx, write, { label: "a" });
    // @ts-expect-error an action
    await pool.enqueueMutation(mutationCtx, sleep, { label: "a", ms: 1 });
    // @ts-expect-error a mutation
    await pool.enqueueQuery(mutationCtx, write, { label: "a" });
    await enqueue(components.workpool, mutationCtx, "mutation", write, { label: "a" });
    // @ts-expect-error a mutation
    await enqueue(components.workpool, mutationCtx, "action", write, { label: "a" });
  });
});

describe("the options", () => {
  test("take runAt or runAfter, never both", async () => {
    await pool.enqueueMutation(mutationCtx, write, { label: "a" }, { runAt: 1 });
    await pool.enqueueMutation(mutationCtx, write, { label: "a" }, { runAfter: 1 });
    await pool.enqueueMutation(
      mutationCtx,
      write,
      { label: "a" },
      { runAt: undefined, runAfter: 1 },
    );
    // @ts-expect-error either, not both
    await pool.enqueueMutation(mutationCtx, write, { label: "a" }, { runAt: 1, runAfter: 1 });
    // @ts-expect-error either, not both
    await pool.enqueueActionBatch(mutationCtx, echo, [{ value: 1 }], { runAt: 1, runAfter: 1 });
  });

  test("take retry for actions only", async () => {
    const retry = { maxAttempts: 2, initialBackoffMs: 1, base: 2 };
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { retry: true });
    await pool.enqueueActionBatch(mutationCtx, echo, [{ value: 1 }], { retry });
    const noBase = { maxAttempts: 2, initialBackoffMs: 1 };
    // @ts-expect-error base is missing
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { retry: noBase });
    // @ts-expect-error only actions are retried
    await pool.enqueueMutation(mutationCtx, write, { label: "a" }, { retry: true });
    // @ts-expect-error only actions are retried
    await pool.enqueueQuery(mutationCtx, count, { label: "a" }, { retry });
    // @ts-expect-error only actions are retried
    await pool.enqueueMutationBatch(mutationCtx, write, [{ label: "a" }], { retry: false });
  });

  test("take a callback or null, and the kinds of results that there are", async () => {
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { onComplete: null });
    await pool.enqueueAction(
      mutationCtx,
      echo,
      { value: 1 },
      { onComplete: ended, onCompleteExcludeKinds: ["success"] },
    );
    const unlessFailed = ["success", "canceled"] as const;
    await pool.enqueueAction(
      mutationCtx,
      echo,
      { value: 1 },
      { onComplete: ended, onCompleteExcludeKinds: unlessFailed },
    );
    // @ts-expect-error no kind of result
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { onCompleteExcludeKinds: ["done"] });
    // @ts-expect-error a callback is a mutation
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { onComplete: echo });
    // @ts-expect-error not the arguments of a callback
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { onComplete: write });
  });

  test("take the context that the callback takes, and demand it where it must be", async () => {
    await pool.enqueueAction(
      mutationCtx,
      echo,
      { value: 1 },
      { onComplete: typed, context: { next: "b" } },
    );
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { onComplete: ended, context: 7 });
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { onComplete: ended });
    // @ts-expect-error the callback demands a context
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { onComplete: typed });
    const context = { next: 1 };
    // @ts-expect-error next is a string
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { onComplete: typed, context });
    const { workpool } = components;
    const options = { onComplete: typed, context };
    // @ts-expect-error next is a string
    await enqueue(workpool, mutationCtx, "action", echo, { value: 1 }, options);
  });

  test("[S191] name limits of the pool, with a key where they take one", async () => {
    const limits = { tenant: { perKey: 3 }, exports: { total: 5 }, api: { perKey: 2, total: 9 } };
    const limited = new Workpool(components.workpool, { limits });
    const enqueue = async (keys: KeysOf<typeof limits>) =>
      await limited.enqueueAction(mutationCtx, echo, { value: 1 }, { limits: keys });
    await enqueue({ tenant: "a", exports: true, api: "b" });
    await enqueue({ tenant: undefined });
    // @ts-expect-error it takes a key
    await enqueue({ tenant: true });
    // @ts-expect-error it takes none
    await enqueue({ exports: "a" });
    // @ts-expect-error it takes a key, though it has a total
    await enqueue({ api: true });
    // @ts-expect-error there is no such limit
    await enqueue({ tenants: "a" });
    // @ts-expect-error this pool has none
    await pool.enqueueAction(mutationCtx, echo, { value: 1 }, { limits: { tenant: "a" } });
  });

  test("of the pool are those of the page, and no others", () => {
    expectTypeOf<keyof WorkpoolOptions>().toEqualTypeOf<
      "maxParallelism" | "logLevel" | "limits" | "defaultRetryBehavior" | "retryActionsByDefault"
    >();
    expectTypeOf<LogLevel>().toEqualTypeOf<
      "DEBUG" | "TRACE" | "INFO" | "REPORT" | "WARN" | "ERROR"
    >();
    expectTypeOf<{ logLevel: "DEBUG" }>().toExtend<WorkpoolOptions>();
    expectTypeOf<{ logLevel: "LOUD" }>().not.toExtend<WorkpoolOptions>();
  });
});

describe("a callback", () => {
  test("gets its context and what the work returned, as their validators say", () => {
    pool.defineOnComplete({
      context: v.object({ user: v.string() }),
      returnValue: v.number(),
      handler: async (ctx: GenericMutationCtx<DataModel>, { workId, context, result }) => {
        expectTypeOf(workId).toEqualTypeOf<WorkId>();
        expectTypeOf(context).toEqualTypeOf<{ user: string }>();
        expectTypeOf(result).toEqualTypeOf<RunResult<number>>();
        if (result.kind === "success") expectTypeOf(result.returnValue).toEqualTypeOf<number>();
        if (result.kind === "failed") expectTypeOf(result.error).toEqualTypeOf<string>();
        // @ts-expect-error a canceled work has returned nothing
        if (result.kind === "canceled") result.returnValue;
        expectTypeOf(ctx.db.insert<"events">).toBeFunction();
      },
    });
  });

  test("may leave both open", () => {
    pool.defineOnComplete({
      handler: async (_ctx, { context, result }) => {
        expectTypeOf(context).toBeAny();
        if (result.kind === "success") expectTypeOf(result.returnValue).toBeAny();
      },
    });
  });

  test("defined by hand gets them from vOnCompleteArgs", () => {
    const args = vOnCompleteArgs(v.object({ n: v.number() }), v.string());
    expectTypeOf(args.type).toEqualTypeOf<{
      workId: WorkId;
      context: { n: number };
      result: RunResult<string>;
    }>();
    expectTypeOf<OnCompleteArgs<{ n: number }, string>>().toEqualTypeOf<typeof args.type>();
    expectTypeOf(vRunResult(v.null()).type).toEqualTypeOf<RunResult<null>>();
  });
});

describe("asking", () => {
  test("is possible from every kind of function", async () => {
    for (const ctx of [queryCtx, mutationCtx, actionCtx])
      expectTypeOf(await pool.status(ctx, id)).toEqualTypeOf<WorkStatus>();
    expectTypeOf(await pool.statusBatch(queryCtx, [id])).toEqualTypeOf<WorkStatus[]>();
    // @ts-expect-error a string is no id of a work
    await pool.status(queryCtx, "id");
    // @ts-expect-error a query cannot cancel
    await pool.cancelAll(queryCtx);
    await pool.cancelAll(actionCtx, { limit: 1 });
  });

  test("narrows: only what is not finished has attempts", async () => {
    const status = await pool.status(queryCtx, id);
    // @ts-expect-error it may be finished
    status.previousAttempts;
    if (status.state !== "finished") expectTypeOf(status.previousAttempts).toBeNumber();
  });
});

describe("next to @convex-dev/workpool", () => {
  test("no export is missing, the older names included", () => {
    expectTypeOf<Exclude<keyof typeof theirs, keyof typeof ours>>().toEqualTypeOf<never>();
    expectTypeOf<ours.WorkId>().toMatchTypeOf<string>();
    expectTypeOf(vWorkId.type).toEqualTypeOf<WorkId>();
    expectTypeOf<typeof ours.vWorkIdValidator>().toEqualTypeOf<typeof vWorkId>();
    expectTypeOf<typeof ours.workIdValidator>().toEqualTypeOf<typeof vWorkId>();
    expectTypeOf<typeof ours.vResultValidator>().toEqualTypeOf<typeof vResult>();
    expectTypeOf<typeof ours.resultValidator>().toEqualTypeOf<typeof vResult>();
    expectTypeOf<typeof ours.vOnCompleteValidator>().toEqualTypeOf<typeof vOnCompleteArgs>();
  });

  test("no member of the class is missing, no option of it, and none of an enqueue", () => {
    type Options<F extends (...args: any) => unknown> = keyof NonNullable<Parameters<F>[3]>;
    expectTypeOf<Exclude<keyof theirs.Workpool, keyof Workpool>>().toEqualTypeOf<never>();
    expectTypeOf<
      Exclude<keyof theirs.WorkpoolOptions, keyof WorkpoolOptions>
    >().toEqualTypeOf<never>();
    expectTypeOf<
      Exclude<Options<theirs.Workpool["enqueueAction"]>, Options<Workpool["enqueueAction"]>>
    >().toEqualTypeOf<never>();
    expectTypeOf<
      Exclude<Options<theirs.Workpool["enqueueMutation"]>, Options<Workpool["enqueueMutation"]>>
    >().toEqualTypeOf<never>();
    type Free = keyof NonNullable<Parameters<typeof theirs.enqueue>[5]>;
    expectTypeOf<
      Exclude<Free, keyof NonNullable<Parameters<typeof enqueue>[5]>>
    >().toEqualTypeOf<never>();
    expectTypeOf<EnqueueOptions["name"]>().toEqualTypeOf<string | undefined>();
  });

  test("what is shared is the same: behaviors, results, states, levels", () => {
    expectTypeOf<theirs.RetryBehavior>().toMatchTypeOf<ours.RetryBehavior>();
    expectTypeOf<theirs.RunResult>().toMatchTypeOf<RunResult>();
    expectTypeOf<RunResult>().toMatchTypeOf<theirs.RunResult>();
    expectTypeOf<theirs.LogLevel>().toEqualTypeOf<LogLevel>();
    expectTypeOf<Awaited<ReturnType<theirs.Workpool["status"]>>>().toMatchTypeOf<WorkStatus>();
    expectTypeOf<theirs.WorkpoolOptions>().toMatchTypeOf<WorkpoolOptions>();
  });
});
