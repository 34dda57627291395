import { Counter } from "@stepwise/testing";
import { testKit } from "@stepwise/workflow/test";
import { afterEach, beforeEach, vi } from "vitest";
import schema from "../convex/schema";

const modules = import.meta.glob(["../convex/**/*.ts", "../convex/**/*.js"]);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/**
 * The app in virtual time, on a back end with indexes: convex-test reads a whole table for each
 * query, which is too slow for 2,000 runs.
 */
export function newApp() {
  const visitor = new Counter().convexTest({ schema, modules });
  const begun = Date.now();
  return {
    /** Calls as a user who is signed in. */
    t: visitor.withIdentity({ subject: "ada" }),
    kit: testKit(visitor, vi),
    /** How many hours of virtual time have passed. */
    hours: () => (Date.now() - begun) / 3_600_000,
  };
}
