import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const HOUR = 60 * 60_000;

async function send(
  name: string,
  run: string | { key: string },
  event: string,
  payload: unknown,
): Promise<string> {
  return await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
}

async function inbox(): Promise<unknown[]> {
  return await use.app.inComponent(async (ctx) => {
    const kept = await ctx.db.query("inbox").collect();
    return kept.map(({ value }) => value as unknown);
  });
}

describe("sendEvent", () => {
  test("[S69] [S71] the payload is parsed: what the schema makes of it is what the node gives", async () => {
    const id = await use.app.start("approval", {});
    await use.app.drive();
    expect(await send("approval", id, "decision", { by: "Ada" })).toBe("taken");
    expect(await use.app.status("approval", id)).toMatchObject({
      state: "completed",
      output: "Ada true",
    });
    await use.app.expectNothingLeft();
  });

  test("[S69] by the key of the run; one that comes early is kept", async () => {
    await use.app.start("approval", {}, "order 7");
    expect(await send("approval", { key: "order 7" }, "decision", { by: "Ada" })).toBe("kept");
    await use.app.drive();
    const id = await use.app.start("approval", {}, "order 7");
    expect(await use.app.status("approval", id)).toMatchObject({ output: "Ada true" });
    expect(await inbox()).toEqual([]);
  });

  test("[S70] several of one name are taken in their order, one per node", async () => {
    const id = await use.app.start("told", { iterations: 3 });
    for (const text of ["one", "two", "three"])
      expect(await send("told", id, "answer", { text })).toBe("kept");
    await use.app.advance(1_000);
    expect(await use.app.status("told", id)).toMatchObject({
      active: [{ node: "how", chosen: "quietly" }, { node: "how.quietly.rest" }],
    });
    await send("told", id, "answer", { text: "four" });
    await use.app.drive();
    expect(await use.app.status("told", id)).toMatchObject({
      output: { ask: "three", last: { text: "four" } },
    });
  });

  test("[S71] one that does not fit throws in the sender, whose transaction goes on, and the run waits on", async () => {
    const id = await use.app.start("approval", {});
    await use.app.drive();
    const args = { name: "approval", runId: id, event: "decision", payload: { by: 7 } };
    await use.app.t.mutation(internal.manager.sendOrLog, args);
    expect(await use.app.log()).toEqual([
      "asked",
      expect.stringMatching(
        /event "decision" for node "decision" of "approval" does not fit its schema:\n {2}decision\.by: /,
      ),
    ]);
    expect(await use.app.status("approval", id)).toMatchObject({
      state: "running",
      active: [{ node: "decision", state: "waiting", events: ["decision"] }],
    });
    expect(await inbox()).toEqual([]);
    expect(await send("approval", id, "decision", { by: "Ada" })).toBe("taken");
  });

  test("[S71] where nodes of one name have different schemas, that of the node which waits decides", async () => {
    const id = await use.app.start("told", { iterations: 1 });
    await use.app.drive();
    await expect(send("told", id, "answer", { n: 3 })).rejects.toThrow(/does not fit its schema/);
    await send("told", id, "answer", { text: "one", n: 3 });
    await use.app.drive();
    // Here the other one waits, which has a default.
    expect(await send("told", id, "answer", { text: "two" })).toBe("taken");
    expect(await use.app.status("told", id)).toMatchObject({
      output: { ask: "one", last: { text: "two", n: 7 } },
    });
  });

  test(
    "[S71] nodes of one name make of a payload what is too large to be kept for all of them: the sender is told so, and nothing changes",
    { tags: ["large"] },
    async () => {
      const text = "x".repeat(600_000);
      const id = await use.app.start("told", { iterations: 1 });
      await expect(send("told", id, "answer", { text })).rejects.toThrow(
        /Cannot send "answer" to run ".*" of "told": .* 12\d{5} bytes .* at most 1047552 can be kept\. Put it into file storage/,
      );
      expect(await inbox()).toEqual([]);
      expect(await send("told", id, "answer", { text: "early" })).toBe("kept");
      await use.app.drive();
      expect(await send("told", id, "answer", { text })).toBe("taken");
      expect(await use.app.status("told", id)).toMatchObject({
        state: "completed",
        output: { ask: "early", last: { text } },
      });
    },
  );

  test("[S72] anyOf takes the first of any of its names", async () => {
    const id = await use.app.start("awaited", {});
    await use.app.drive();
    expect((await use.app.status("awaited", id))?.active).toMatchObject([
      { node: "first", events: ["paid", "canceled"] },
    ]);
    expect(await send("awaited", id, "canceled", "why")).toBe("taken");
    await expect(send("awaited", id, "canceled", "again")).rejects.toThrow(/past every node/);
    await send("awaited", id, "paid", { cents: 3 });
    expect(await use.app.status("awaited", id)).toMatchObject({
      output: { first: { name: "canceled" }, second: { timedOut: false } },
    });
  });

  test("[S73] after a timeout: refused where no node of that name is left, the run having ended", async () => {
    const id = await use.app.start("awaited", {});
    await send("awaited", id, "paid", { cents: 1 });
    await use.app.drive(async () => {
      const status = await use.app.status("awaited", id);
      return status?.active[0]?.node === "second";
    });
    expect((await use.app.status("awaited", id))?.active).toMatchObject([
      { node: "second", state: "waiting", dueAt: Date.now() + HOUR },
    ]);
    await use.app.advance(HOUR);
    await expect(send("awaited", id, "paid", { cents: 2 })).rejects.toThrow(
      /Cannot send "paid" to run ".*" of "awaited": the run is completed, so it takes no more events/,
    );
  });

  test("[S73] refused where the run goes on, but is past all nodes that take such an event", async () => {
    const id = await use.app.start("told", { iterations: 1 });
    await use.app.drive();
    await send("told", id, "answer", { text: "one" });
    await use.app.drive();
    // The case that would have taken it was not chosen, and its branch is over.
    await expect(send("told", id, "shout", "hey")).rejects.toThrow(/past every node that takes/);
    expect(await inbox()).toEqual([]);
  });

  test("[S73] refused where the run is in another case of the branch than all nodes that take it", async () => {
    const id = await use.app.start("told", { iterations: 1 });
    await use.app.drive();
    await send("told", id, "answer", { text: "one" });
    await use.app.advance(1_000);
    expect(await use.app.status("told", id)).toMatchObject({
      active: [{ node: "how", chosen: "quietly" }, { node: "how.quietly.rest" }],
    });
    await expect(send("told", id, "shout", "hey")).rejects.toThrow(/past every node that takes/);
  });

  test("[S73] refused where as many are kept as there are nodes to come to", async () => {
    const id = await use.app.start("awaited", {});
    for (const cents of [1, 2]) expect(await send("awaited", id, "paid", { cents })).toBe("kept");
    await expect(send("awaited", id, "paid", { cents: 3 })).rejects.toThrow(
      'Cannot send "paid" to run "' + id + '" of "awaited": it keeps 2 of them',
    );
    expect(await send("awaited", id, "canceled", "why")).toBe("kept");
    await use.app.drive();
    expect(await inbox()).toEqual(["why"]);
  });

  test("[S74] an unknown run, one of another workflow, an unknown key", async () => {
    const other = await use.app.start("leaf", { n: 1 });
    for (const run of ["nonsense", other, { key: "none" }])
      await expect(send("approval", run, "decision", { by: "Ada" })).rejects.toThrow(
        /Cannot send "decision" to .* of "approval": there is no such run/,
      );
  });

  test("[S74] a name that no node waits for: the error names the nearest", async () => {
    const id = await use.app.start("approval", {});
    await expect(send("approval", id, "decison", {})).rejects.toThrow(
      'No node of workflow "approval" waits for an event "decison". Did you mean "decision"?',
    );
    await expect(send("approval", id, "payment", {})).rejects.toThrow(
      'waits for an event "payment"; there is "decision"',
    );
  });

  test("[S75] of two senders at once one is taken, the other refused or kept", async () => {
    const id = await use.app.start("approval", {});
    await use.app.drive();
    const both = await Promise.allSettled([
      send("approval", id, "decision", { by: "Ada" }),
      send("approval", id, "decision", { by: "Bob" }),
    ]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const awaited = await use.app.start("awaited", {});
    await use.app.drive(async () => (await use.app.steps(awaited)).includes("first waiting"));
    const two = await Promise.all([
      send("awaited", awaited, "paid", { cents: 1 }),
      send("awaited", awaited, "paid", { cents: 2 }),
    ]);
    expect(two).toEqual(["taken", "taken"]);
    expect(await use.app.status("awaited", awaited)).toMatchObject({ state: "completed" });
  });

  test("[S97] the payload of an event is in no scheduled function's arguments", async () => {
    const id = await use.app.start("told", { iterations: 2 });
    await send("told", id, "answer", { text: "s3cret" });
    await send("told", id, "answer", { text: "s3cret" });
    await use.app.advance(1_000);
    const jobs = await use.app.jobs();
    expect(JSON.stringify(jobs)).not.toContain("s3cret");
  });
});
