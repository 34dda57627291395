import type { FunctionReturnType } from "convex/server";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import type { WorkStatus, Workpool } from "../src/client/index.js";
import { NonRetryableError as OfOriginal } from "@convex-dev/workpool";
import { isNonRetryableError, NonRetryableError } from "../src/client/index.js";
import { api } from "../src/component/_generated/api.js";
import type { ComponentApi } from "../src/component/_generated/component.js";
import { modules } from "../src/test.js";
import { internal } from "./convex/_generated/api.js";

type Args<F> = F extends { _args: infer A } ? A : never;
type Api = typeof api;

describe("the package", () => {
  test("registers every module of the component that has functions, and no other", () => {
    const all = import.meta.glob("../src/component/*.ts", { eager: true });
    const isFunction = (value: unknown) => "exportArgs" in Object(value);
    const withFunctions = Object.entries(all)
      .filter(([, module]) => Object.values(module as object).some(isFunction))
      .map(([path]) => path.replace("../src", ".").replace(/ts$/, "js"));
    const listed = Object.keys(modules).filter((path) => !path.includes("_generated"));
    expect(listed).toEqual(withFunctions.sort());
  });

  test("any module of the component may be the first that is loaded", async () => {
    for (const load of Object.values(modules)) {
      vi.resetModules();
      await load();
    }
  });

  test("the committed types are those of the component's functions", () => {
    expectTypeOf<Args<Api["lib"]["enqueue"]>>().toEqualTypeOf<
      Args<ComponentApi["lib"]["enqueue"]>
    >();
    expectTypeOf<Args<Api["lib"]["enqueueBatch"]>>().toEqualTypeOf<
      Args<ComponentApi["lib"]["enqueueBatch"]>
    >();
    expectTypeOf<Args<Api["config"]["update"]>>().toEqualTypeOf<
      Args<ComponentApi["config"]["update"]>
    >();
    expectTypeOf<FunctionReturnType<Api["lib"]["status"]>>().toEqualTypeOf<
      FunctionReturnType<ComponentApi["lib"]["status"]>
    >();
    expectTypeOf<FunctionReturnType<Api["lib"]["status"]>>().toEqualTypeOf<WorkStatus>();
    expectTypeOf<keyof Api["lib"]>().toEqualTypeOf<keyof ComponentApi["lib"]>();
    expectTypeOf<keyof Api>().toEqualTypeOf<keyof ComponentApi>();
  });

  test("the context is typed by the callback, and demanded where it is needed", () => {
    type Enqueue = (pool: Workpool) => void;
    const ctx = {} as Parameters<Workpool["enqueueAction"]>[0];
    const { echo } = internal.jobs;
    const { ended, typed } = internal.callbacks;
    const compiles: Enqueue[] = [
      (pool) => pool.enqueueAction(ctx, echo, { value: 1 }),
      (pool) => pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete: ended }),
      (pool) => pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete: ended, context: 7 }),
      (pool) =>
        pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete: typed, context: { next: "a" } }),
      // @ts-expect-error -- The callback demands a context.
      (pool) => pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete: typed }),
      (pool) =>
        // @ts-expect-error -- Not the context that the callback demands.
        pool.enqueueAction(ctx, echo, { value: 1 }, { onComplete: typed, context: { next: 1 } }),
      // @ts-expect-error -- Either, not both.
      (pool) => pool.enqueueAction(ctx, echo, { value: 1 }, { runAt: 1, runAfter: 1 }),
      // @ts-expect-error -- Only actions are retried.
      (pool) => pool.enqueueMutation(ctx, internal.jobs.write, { label: "" }, { retry: true }),
      // @ts-expect-error -- Not the arguments of the function.
      (pool) => pool.enqueueAction(ctx, internal.jobs.sleep, { label: 1 }),
      // @ts-expect-error -- Not an action.
      (pool) => pool.enqueueAction(ctx, internal.jobs.write, { label: "" }),
    ];
    expect(compiles).toHaveLength(10);
  });

  test("a NonRetryableError is known by its data, not by its class", () => {
    const error = new NonRetryableError("no such user", { id: 7 });
    expect(error.message).toBe("no such user");
    const rebuilt = Object.assign(new Error("Uncaught ConvexError"), { data: error.data });
    expect(isNonRetryableError(error)).toBe(true);
    expect(isNonRetryableError(rebuilt)).toBe(true);
    expect(isNonRetryableError(new OfOriginal("no such user"))).toBe(true);
    expect(isNonRetryableError(new Error("no such user"))).toBe(false);
    expect(isNonRetryableError(undefined)).toBe(false);
  });
});
