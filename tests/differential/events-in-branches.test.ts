import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Deployment, Releases } from "../edits/deployed.js";

const DEFINITIONS = `
import { defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
export const routed = defineWorkflow({ input: z.object({ way: z.enum(["asks", "waits"]) }) })
  .branch("how", {
    on: ({ input }) => input.way,
    cases: {
      asks: (b) => b
        .loop("again", {
          initial: () => null,
          body: (c) => c.event("answer", { schema: z.string(), timeout: "1m" }),
          until: () => true,
          maxIterations: 3,
        })
        .sleep("after", "1h"),
      waits: (b) => b.sleep("wait", "1h"),
    },
  });
`;

const releases = new Releases();

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});
afterAll(async () => {
  await releases.remove();
});

describe("events for nodes in a loop that is in a case of a branch", () => {
  test.each([
    ["where the run is in another case", "waits"],
    ["where the loop is over", "asks"],
  ])("[S73] [S74] are refused %s", { tags: ["large"] }, async (_where, way) => {
    vi.useRealTimers();
    const version = await releases.release({ "routed.workflow.ts": DEFINITIONS });
    vi.useFakeTimers();
    const app = new Deployment(version);
    const runId = (await app.call("start", { name: "routed", input: { way } })) as string;
    const answer = { name: "routed", runId, event: "answer", value: "yes" };
    expect(await app.call("send", answer)).toBe("kept");
    const isAsleep = async () =>
      (await app.see(runId)).active.some(
        ({ node, state }) => state === "waiting" && node !== "how.asks.again.answer",
      );
    await app.drive(isAsleep);
    await expect(app.call("send", answer)).rejects.toThrow("past every node");
    await app.drive();
    expect((await app.see(runId)).state).toBe("completed");
  });
});
