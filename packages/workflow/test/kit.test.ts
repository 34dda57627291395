import { convexTest } from "convex-test";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { testKit } from "../src/test.js";
import { workflows } from "./convex/_workflows/index.js";
import schema from "./convex/schema.js";

const modules = import.meta.glob(["./convex/**/*.{ts,js}", "!./convex/**/*.*.ts"]);

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function app() {
  const t = convexTest({ schema, modules, transactionLimits: true });
  return { t, kit: testKit(t, vi) };
}

test("x", async () => {
  const { kit } = app();
  kit.stub(workflows.saga, "charge", ({ reserve }) => ({ cents: reserve.id }));
  const id = await kit.start(workflows.saga, { fail: "ship" });
  console.log(await kit.skipToNextTimer());
  console.log(await kit.runToEnd(workflows.saga, id));
  console.log(await kit.timeline(id));
  const id2 = await kit.start(workflows.tolerant, { bad: 2, of: 4 });
  console.log(await kit.runToEnd(workflows.tolerant, id2));
  console.log(await kit.timeline(id2));
});
