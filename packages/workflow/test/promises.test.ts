import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { permitsFor } from "@stepwise/workpool/core";
import type { ComponentApi } from "../src/component/_generated/component.js";
import { NonRetryableError, RetryAfter, WorkflowManager } from "../src/index.js";
import { keyMade } from "../src/runtime/keys.js";
import { standingOf } from "../src/runtime/standing.js";
import { tagging, tagsOf } from "../src/runtime/tags.js";
import { workflows } from "./convex/_workflows/index.js";

/* An async function that is called without `await`: its promise is refused, whatever becomes of it. */

const ctx = {} as never;
const parts = ["lib", "steering", "views", "listing", "limits"];
const components = Object.fromEntries(parts.map((name) => [name, {}])) as unknown;
const manager = new WorkflowManager(components as ComponentApi) as any;
const { leaf } = workflows as Record<string, any>;
const flow = (options: object) => ({ name: "flow", definition: { options } }) as any;
const page = { numItems: 1, cursor: null };

const left = vi.fn();
let others: NodeJS.UnhandledRejectionListener[] = [];
beforeEach(() => {
  others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", left);
});
afterEach(() => {
  process.removeAllListeners("unhandledRejection");
  for (const each of others) process.on("unhandledRejection", each);
});

test.each<[string, (promise: Promise<never>) => unknown]>([
  ["key is a Promise", (key) => manager.start(ctx, leaf, { n: 1 }, { key })],
  ["runAt is a Promise", (runAt) => manager.start(ctx, leaf, { n: 1 }, { runAt })],
  ["runAfter is a Promise", (runAfter) => manager.start(ctx, leaf, { n: 1 }, { runAfter })],
  ["onComplete is a Promise", (onComplete) => manager.start(ctx, leaf, { n: 1 }, { onComplete })],
  ["options is a Promise", (options) => manager.start(ctx, leaf, { n: 1 }, options)],
  ['The input of workflow "leaf" is a Promise', (input) => manager.start(ctx, leaf, input)],
  ["input.n: Invalid input: ", (n) => manager.start(ctx, leaf, { n })],
  ["no list, but a Promise", (inputs) => manager.startBatch(ctx, leaf, inputs)],
  ["each input, and is a Promise", (key) => manager.startBatch(ctx, leaf, [{ n: 1 }], { key })],
  ["and not by a Promise", (run) => manager.status(ctx, leaf, run)],
  ["and not by { key: a Promise }", (key) => manager.status(ctx, leaf, { key })],
  ["and not by a Promise", (run) => manager.cancel(ctx, run)],
  ["and not by a Promise", (run) => manager.steps(ctx, leaf, run, page)],
  ["tag is { org: a Promise", (org) => manager.list(ctx, { tag: { org } }, page)],
  ["until is a Promise", (until) => manager.limits.pause(ctx, "tenant", { until })],
  ['"name", is a Promise', (tag) => tagging(ctx, {} as ComponentApi, "r")("name", tag as never)],
  ['tags of workflow "flow" are a Promise', (tags) => tagsOf(flow({ tags: () => tags }), {})],
  ['"t", is a Promise', (t) => tagsOf(flow({ tags: () => ({ t }) }), {})],
  [
    "key of the one of workflow",
    (key) => keyMade({ name: "flow" }, { option: "one", key: () => key, sensitive: [] }, {}),
  ],
  ["key of the fairness", (key) => standingOf(flow({ fairness: { key: () => key } }), {})],
  ["priority of workflow", (priority) => standingOf(flow({ priority: () => priority }), {})],
  ["a Promise", (tenant) => permitsFor({ tenant } as any, { tenant: { perKey: 1 } })],
  ["a Promise", (all) => permitsFor({ all } as any, { all: { total: 1 } })],
  [
    "The time of a RetryAfter is a Promise",
    (after) => {
      throw new RetryAfter(after as never);
    },
  ],
  [
    "a Promise",
    (message) => {
      throw new NonRetryableError(message as never);
    },
  ],
])("[S141] %s", async (message, call) => {
  left.mockClear();
  const promise = (async (): Promise<never> => {
    throw new Error("it fails");
  })();
  const told = await (async () => call(promise))().then(
    () => "accepted",
    (error: Error) => error.message,
  );
  // Node tells of a promise without a handler once nothing else is to be done.
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(told).toContain(message);
  expect(told).toMatch(/promise/i);
  expect(left).not.toHaveBeenCalled();
});
