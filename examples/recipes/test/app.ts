import { Counter } from "@stepwise/testing";
import { testKit } from "@stepwise/workflow/test";
import { convexTest, type TestConvex } from "convex-test";
import { afterEach, beforeEach, vi } from "vitest";
import schema from "../convex/schema";

const modules = import.meta.glob(["../convex/**/*.ts", "../convex/**/*.js"]);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The app on a back end of its own, in virtual time, with every limit of a transaction on. */
export function newApp() {
  return withKit(convexTest({ schema, modules, transactionLimits: true }));
}

/**
 * The same for thousands of runs: convex-test looks through all documents for each query, the back end of this repository's counter has indexes.
 * It knows some more limits, too.
 */
export function newLargeApp() {
  return withKit(new Counter().convexTest({ schema, modules }));
}

function withKit(visitor: TestConvex<typeof schema>) {
  const begun = Date.now();
  const hours = () => (Date.now() - begun) / 3_600_000;
  return {
    /** Calls as a user who is signed in. */
    t: visitor.withIdentity({ name: "Ada" }),
    kit: testKit(visitor, vi),
    /** How many hours of virtual time have gone by. */
    hours,
    days: () => hours() / 24,
  };
}
