import { Deployment, S256 } from "@stepwise/testing";
import { v } from "convex/values";
import { describe, expect, test, vi } from "vitest";
import { NonRetryableError, RetryAfter, retryAfter, Workpool } from "../src/client/index.js";
import { askedBy, messageOf } from "../src/core/index.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { NOTHING_LEFT, TestApp, virtualTime } from "./app.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* Attempts that ask their limit to start nothing for a while. */

const limits = { openai: { total: 200 }, tenant: { perKey: 5 } };
const { refused } = internal.jobs;

describe("a RetryAfter that holds a limit", () => {
  virtualTime();

  function held() {
    const app = new TestApp();
    const pool = new Workpool(components.workpool, { maxParallelism: 20, limits });
    const enqueue = async (label: string, keys: object, rest: object = {}, how: object = {}) =>
      await app.t.mutation((ctx) =>
        pool.enqueueAction(
          ctx,
          refused,
          { label, times: 0, afterMs: 20_000, ...rest },
          { limits: keys, ...how },
        ),
      );
    const attempts = async () => await app.labels("attempt");
    return { app, pool, enqueue, attempts };
  }

  test("[S212] starts nothing of it until then, whoever else runs, and is itself tried again without a retry", async () => {
    const { app, pool, enqueue, attempts } = held();
    await enqueue("first", { openai: true }, { times: 1, holds: "openai" });
    await app.drive(100);
    await enqueue("later", { openai: true });
    await enqueue("free", {});
    await app.drive(19_000);
    expect(await attempts()).toEqual(["first", "free"]);
    const seen = await app.t.query((ctx) => pool.limits.get(ctx, "openai"));
    expect(seen).toMatchObject({ waiting: 1, paused: { by: "RetryAfter" } });
    await app.drive(2_000);
    expect((await attempts()).toSorted()).toEqual(["first", "first", "free", "later"]);
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S212] that lasts longer than the hold that there is takes its place", async () => {
    const { app, enqueue, attempts } = held();
    await enqueue("short", { openai: true }, { times: 1, holds: "openai", afterMs: 10_000 });
    await enqueue("long", { openai: true }, { times: 1, holds: "openai", afterMs: 40_000 });
    await app.drive(1_000);
    expect(await attempts()).toEqual(["short", "long"]);
    await enqueue("later", { openai: true });
    await app.drive(30_000);
    expect(await attempts()).toEqual(["short", "long"]);
    await app.drive();
    expect((await attempts()).slice(2).toSorted()).toEqual(["later", "long", "short"]);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S212] of keys holds the work's key, and no other", async () => {
    const { app, enqueue, attempts } = held();
    await enqueue("a", { tenant: "a" }, { times: 1, holds: "tenant" });
    await app.drive(100);
    await enqueue("a2", { tenant: "a" });
    await enqueue("b", { tenant: "b" });
    await app.drive(10_000);
    expect(await attempts()).toEqual(["a", "b"]);
    await app.drive();
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S212] does not use up the attempts of its retry, which one without a limit of the work does", async () => {
    const { app, enqueue, attempts } = held();
    const retry = { maxAttempts: 2, initialBackoffMs: 10, base: 1 };
    await enqueue("held", { openai: true }, { times: 4, holds: "openai" }, { retry });
    await enqueue("not its own", { openai: true }, { times: 4, holds: "tenant" }, { retry });
    await app.drive();
    expect((await attempts()).filter((label) => label === "held")).toHaveLength(5);
    expect((await attempts()).filter((label) => label !== "held")).toHaveLength(2);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S212] does not count, also once an attempt has failed that does", async () => {
    const { app, enqueue, attempts } = held();
    const retry = { maxAttempts: 3, initialBackoffMs: 10, base: 1 };
    await enqueue("held", { openai: true }, { times: 9, holds: "openai", upTo: 2 }, { retry });
    await app.drive();
    expect(await attempts()).toHaveLength(2 + 3);
    expect(await app.leftovers()).toEqual(NOTHING_LEFT);
  });

  test("[S212] leaves a pause of an operator alone", async () => {
    const { app, pool, enqueue, attempts } = held();
    await enqueue("first", { openai: true }, { times: 1, holds: "openai" });
    await app.t.mutation((ctx) => pool.limits.pause(ctx, "openai", { by: "ada" }));
    await app.drive(60_000);
    expect(await attempts()).toEqual(["first"]);
    const seen = await app.t.query((ctx) => pool.limits.get(ctx, "openai"));
    expect(seen).toMatchObject({ paused: { by: "ada" } });
    await app.t.mutation((ctx) => pool.limits.resume(ctx, "openai"));
    await app.drive();
    expect(await attempts()).toEqual(["first", "first"]);
  });
});

test("[S213] of many at one moment one is written, none is refused, and all go on after it, together and in no line", async () => {
  const pool = new Workpool(components.workpool, { maxParallelism: 100, limits });
  const calls = {
    start: internalMutation({
      args: { count: v.number() },
      handler: async (ctx, { count }) => {
        const argsList = Array.from({ length: count }, (_, n) => ({
          label: `${n}`,
          times: 1,
          afterMs: 20_000,
          holds: "openai",
        }));
        await pool.enqueueActionBatch(ctx, refused, argsList, { limits: { openai: true } });
      },
    }),
  };
  const modules = {
    "./convex/_generated/api.js": () => import("./convex/_generated/api.js"),
    "./convex/calls.js": async () => calls,
    "./convex/jobs.js": () => import("./convex/jobs.js"),
  };
  const parts = [
    { path: "", schema, modules },
    { path: "workpool", schema: poolSchema, modules: poolModules },
  ];
  const deployment = await Deployment.of(parts, { class: S256 });
  let written = 0;
  let lined = 0;
  const attempts: number[] = [];
  deployment.onCommit(({ writes }) => {
    for (const { table, old, next } of writes) {
      const said = (row?: object) => JSON.stringify((row as { overrides?: [] })?.overrides ?? []);
      if (table.path === "workpool/gate" && said(next) !== said(old) && said(next) !== "[]")
        written += 1;
      if (table.path === "workpool/limited") lined += 1;
      if (table.name === "events" && next !== undefined) attempts.push(deployment.clock.now());
    }
  });
  deployment.at(0, () => deployment.mutation("calls:start", { count: 30 }));
  await deployment.drive();
  expect(written).toBe(1);
  expect(lined).toBe(0);
  expect(attempts).toHaveLength(60);
  expect(attempts[30]! - attempts[0]!).toBeGreaterThanOrEqual(20_000);
  expect(attempts[59]! - attempts[0]!).toBeLessThan(30_000);
  expect(deployment.rows("workpool", "works")).toEqual([]);
  expect(deployment.rows("workpool", "permits")).toEqual([]);
});

test("[S140] the message of a RetryAfter is made well-formed, like others", () => {
  expect(askedBy(new RetryAfter(1_000, "Busy \ud83d"))?.message).toBe("Busy \uFFFD");
});

test.each([
  ["an error", new Error("no \ud83d")],
  ["a cause", new Error("no", { cause: new Error("\ud83d") })],
  ["an error that is not retried", new NonRetryableError("no \ud83d")],
  ["a text", "no \ud83d"],
])("[S140] so is the message of %s, which a work that failed keeps", (_what, thrown) => {
  expect(messageOf(thrown)).toMatch(/^no:? \uFFFD$/);
});

test.each<[string, unknown]>([
  ["options is null", null],
  ["options is 5", 5],
  ["options is a list", ["openai"]],
  ["holds is 5", { holds: 5 }],
  ["holds is true", { holds: true }],
  ['there is no "hold": there is holds, message, data', { hold: "openai" }],
])("[S264] a RetryAfter with options that are none is refused: %s", (said, options) => {
  expect(() => new RetryAfter(1_000, options as never)).toThrow(`A RetryAfter: ${said}`);
});

describe("[S212] retryAfter reads the header of a response", () => {
  const of = (header?: string) => {
    vi.useFakeTimers({ now: Date.parse("Wed, 21 Oct 2026 07:28:00 GMT") });
    const headers = new Headers(header === undefined ? {} : { "Retry-After": header });
    const error = retryAfter(new Response(null, { status: 429, headers }), { holds: "openai" });
    const ms = (error.data["~retryAfter"] as number) - Date.now();
    vi.useRealTimers();
    return { ms, holds: error.data["holds"], message: error.message };
  };

  test.each([
    ["seconds", "7", 7_000],
    ["a fraction of them", "0.5", 500],
    ["an HTTP date", "Wed, 21 Oct 2026 07:29:30 GMT", 90_000],
    ["a date that is over", "Wed, 21 Oct 2026 07:00:00 GMT", 0],
    ["what cannot be read", "soon", 10_000],
    ["no such header", undefined, 10_000],
    ["more than a year", "99999999999", 365 * 24 * 3_600_000],
  ])("%s", (_, header, ms) => {
    expect(of(header)).toEqual({ ms, holds: "openai", message: "Answered with status 429" });
  });
});
