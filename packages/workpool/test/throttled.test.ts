/** @module-tag large */
import { Deployment, type Faults, S16 } from "@stepwise/testing";
import { v } from "convex/values";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  enqueueSettling,
  reportSettled,
  settle,
  settlingArgs,
  Workpool,
} from "../src/client/index.js";
import { reportBy } from "../src/core/report.js";
import { modules as poolModules, schema as poolSchema } from "../src/test.js";
import { components, internal } from "./convex/_generated/api.js";
import { internalAction, internalMutation } from "./convex/_generated/server.js";
import schema from "./convex/schema.js";

/* Results are kept while the deployment refuses to write. */

const pool = new Workpool(components.workpool, { maxParallelism: 6, logLevel: "ERROR" });
const onComplete = internal.callbacks.ended;
const RESULT = 200_000;

const calls = {
  large: internalMutation({
    args: { label: v.string() },
    handler: async (ctx, { label: context }) => {
      const options = { onComplete, context };
      await pool.enqueueAction(ctx, internal.jobs.large, { bytes: RESULT }, options);
    },
  }),
  settling: internalMutation({
    args: { label: v.string() },
    handler: async (ctx, { label: context }) => {
      const { act } = here;
      const options = { onComplete, context };
      await enqueueSettling(components.workpool, ctx, "action", act, [{}], options);
    },
  }),
  act: internalAction({
    args: settlingArgs,
    handler: async (ctx, { token, slot }) => {
      const text = "x".repeat(RESULT);
      await reportSettled(components.workpool, ctx, here.settled, { token, slot, text });
    },
  }),
  settled: internalMutation({
    args: { ...settlingArgs, text: v.string() },
    handler: async (ctx, { text, ...held }) => {
      await settle(components.workpool, ctx, held, { kind: "success", returnValue: text });
    },
  }),
};
// The module has no generated types.
const here = (internal as any).calls;

async function deployed(faults: Faults, of = S16): Promise<Deployment> {
  const modules = {
    ...import.meta.glob("./convex/**/*.{ts,js}"),
    "./convex/calls.js": async () => calls,
  };
  const parts = [
    { path: "", schema, modules },
    { path: "workpool", schema: poolSchema, modules: poolModules },
  ];
  return await Deployment.of(parts, { class: of, faults });
}

interface Ended {
  readonly what: string;
  readonly data: { readonly context: string; readonly result: { readonly kind: string } };
}
const ends = (deployment: Deployment) =>
  deployment
    .rows<Ended>("", "events")
    .filter(({ what }) => what === "ended")
    .map(({ data }) => data.result.kind);

const successes = (count: number) => Array.from({ length: count }, () => "success");

describe.each(["large", "settling"])("works that return much (%s)", (how) => {
  test(
    "[S132] more is written than the class takes in a second: no result is lost",
    { tags: ["large"] },
    async () => {
      const bytesPerSecond = S16.bytesPerSecond / 4;
      const deployment = await deployed({}, { ...S16, bytesPerSecond });
      const refusals: string[] = [];
      deployment.onHappening((event) => event.what === "refused" && refusals.push(event.why));
      let enqueued = 0;
      for (let n = 0; n < 60; n += 1)
        deployment.at(50 * n, async () => {
          // Its own call may be refused too, which it is told.
          await deployment.mutation(`calls:${how}`, { label: `${n}` });
          enqueued += 1;
        });
      await deployment.drive();
      expect(refusals).toContain("TooManyWrites");
      expect(deployment.rows("workpool", "works")).toEqual([]);
      expect(enqueued).toBeGreaterThan(10);
      expect(ends(deployment)).toEqual(successes(enqueued));
    },
  );

  test.each(["TooManyWrites", "TooManyConcurrentRequests"] as const)(
    "[S132] %s for minutes: it is reported once that is over",
    async (why) => {
      let isRefused = false;
      const deployment = await deployed({ refuses: () => (isRefused ? why : undefined) });
      deployment.at(0, () => deployment.mutation(`calls:${how}`, { label: "a" }));
      deployment.onHappening((event) => event.what === "began" && (isRefused = true));
      deployment.at(180_000, () => (isRefused = false));
      await deployment.drive();
      expect(ends(deployment)).toEqual(successes(1));
    },
  );
});

describe("a report", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const failing = (message: string) => vi.fn(() => Promise.reject(new Error(message)));

  test("[S132] of which every way is refused is scheduled at the end of the action's time", async () => {
    const ways = [failing("TooManyWrites"), failing("TooManyWrites")];
    const later = vi.fn(async () => {});
    const since = Date.now();
    const reported = reportBy(ways, since, later);
    await vi.runAllTimersAsync();
    await reported;
    expect(later).toHaveBeenCalledOnce();
    expect(Date.now() - since).toBeGreaterThan(8.5 * 60_000);
    expect(Date.now() - since).toBeLessThan(10 * 60_000);
    // No pause is longer than 3 s: it may be accepted at any time.
    expect(ways[0]!.mock.calls.length).toBeGreaterThan((8.5 * 60) / 3);
    expect(ways[1]).not.toHaveBeenCalled();
  });

  test.each([
    'Documents read from or written to the "slots" table changed while this mutation was being run',
    "The connection was lost.",
    "Your request couldn't be completed. Try again later.",
    "Function execution timed out",
  ])(
    "[S132] whose first way fails (%s) goes the next, for as long as it takes",
    async (message) => {
      let fails = 5;
      const last = vi.fn(async () => {
        if (fails-- > 0) throw new Error(message);
      });
      const reported = reportBy([failing(message), last], Date.now(), failing("never"));
      await vi.runAllTimersAsync();
      await reported;
      expect(last).toHaveBeenCalledTimes(6);
    },
  );

  test.each([
    "Value is too large (1.2 MiB > maximum size 1 MiB)",
    "Arguments for complete are too large (actual: 17 MiB, limit: 16 MiB)",
    "Uncaught Error: no",
    "ArgumentValidationError: Object is missing the required field `slot`",
  ])("[S132] that cannot be taken is given up at once: %s", async (message) => {
    const later = vi.fn(async () => {});
    const since = Date.now();
    const refused = expect(
      reportBy([failing("x"), failing(message)], since, later),
    ).rejects.toThrow(message);
    await vi.runAllTimersAsync();
    await refused;
    expect(Date.now()).toBe(since);
    expect(later).not.toHaveBeenCalled();
  });
});
