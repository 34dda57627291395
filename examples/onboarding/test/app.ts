import { testKit } from "@stepwise/workflow/test";
import { convexTest } from "convex-test";
import { afterEach, beforeEach, vi } from "vitest";
import schema from "../convex/schema";

const modules = import.meta.glob(["../convex/**/*.ts", "../convex/**/*.js"]);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** The app on a back end of its own, in virtual time, with all limits of a transaction. */
export function newApp() {
  const visitor = convexTest({ schema, modules, transactionLimits: true });
  const begun = Date.now();
  return {
    /** Calls as a user who is signed in. */
    t: visitor.withIdentity({ subject: "ada" }),
    kit: testKit(visitor, vi),
    /** How many days of virtual time have passed. */
    days: () => (Date.now() - begun) / 86_400_000,
  };
}
