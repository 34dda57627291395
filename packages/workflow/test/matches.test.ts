/** @module-tag large */
import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

async function send(name: string, run: string, event: string, payload: unknown): Promise<string> {
  return await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
}
const steer = async (what: "pause" | "resume", runId: string) =>
  await use.app.t.mutation(internal.manager[what], { runId });
const restart = async (name: string, runId: string) =>
  await use.app.t.mutation(internal.manager.restart, { name, runId });

const mine = { order: "a", cents: 900 };
const other = { order: "b", cents: 900 };
const small = { order: "b", cents: 50 };

describe("a node that matches", () => {
  test("[S155] takes what is meant for it, and leaves the rest for a later node", async () => {
    const id = await use.app.start("paid", { order: "a" });
    await use.app.drive();
    expect(await send("paid", id, "payment", small)).toBe("kept");
    expect(await use.app.status("paid", id)).toMatchObject({
      active: [{ node: "payment", state: "waiting" }],
      kept: [{ name: "payment", count: 1 }],
    });
    expect(await send("paid", id, "payment", mine)).toBe("taken");
    await use.app.drive();
    expect(await use.app.status("paid", id)).toMatchObject({
      state: "completed",
      output: {
        payment: mine,
        tip: { timedOut: false, event: { name: "payment", value: small } },
      },
      kept: [],
    });
    await use.app.expectNothingLeft();
  });

  test("[S155] of what came early it takes the first that is meant for it", async () => {
    const id = await use.app.start("paid", { order: "a" });
    for (const payload of [small, mine])
      expect(await send("paid", id, "payment", payload)).toBe("kept");
    await use.app.drive();
    expect(await use.app.status("paid", id)).toMatchObject({
      output: { payment: mine, tip: { event: { name: "payment", value: small } } },
    });
  });

  test("[S155] one that came early for another keeps out none that is meant for it", async () => {
    const id = await use.app.start("answeredTo", {});
    for (const to of ["q8", "q9", "q7"])
      expect(await send("answeredTo", id, "answer", { to, text: to })).toBe("kept");
    await use.app.drive();
    expect(await use.app.status("answeredTo", id)).toMatchObject({ output: "q7" });
  });

  test("[S155] [S103] a paused one keeps what is meant for it beside what is not", async () => {
    const id = await use.app.start("answeredTo", {});
    await use.app.drive();
    await steer("pause", id);
    for (const to of ["q8", "q7"])
      expect(await send("answeredTo", id, "answer", { to, text: to })).toBe("kept");
    await steer("resume", id);
    await use.app.drive();
    expect(await use.app.status("answeredTo", id)).toMatchObject({ output: "q7" });
  });

  test("[S69] [S168] a race in a loop takes one in each iteration, of ever so many that came early", async () => {
    const id = await use.app.start("heard", {});
    for (const line of ["a", "b", "c"]) expect(await send("heard", id, "line", line)).toBe("kept");
    await use.app.drive();
    expect(await use.app.status("heard", id)).toMatchObject({ output: ["a", "b", "c"] });
  });

  test("[S155] [S168] a race in a loop keeps what is meant for a later iteration", async () => {
    const id = await use.app.start("heard", {});
    await use.app.advance(1_000);
    for (const [part, how] of [
      [3, "kept"],
      [2, "kept"],
      [1, "taken"],
    ] as const)
      expect(await send("heard", id, "part", part)).toBe(how);
    await use.app.drive();
    expect(await use.app.status("heard", id)).toMatchObject({ output: [1, 2, 3] });
  });

  test("[S73] [S155] of a name that has no match of its own, one is kept for each node", async () => {
    const id = await use.app.start("paid", { order: "a" });
    expect(await send("paid", id, "refund", { cents: 1 })).toBe("kept");
    await expect(send("paid", id, "refund", { cents: 2 })).rejects.toThrow(/keeps 1 of them/);
  });

  test("[S155] reads each event once that it leaves", async () => {
    const id = await use.app.start("numbered", { of: 2 });
    await use.app.drive();
    const many = 101;
    for (let number = many; number > 0; number--)
      expect(await send("numbered", id, "part", { number: number + 1, text: "" })).toBe("kept");
    const looks = () => use.app.counter.totals(({ name }) => name === "events:look").documentsRead;
    const before = looks();
    expect(await send("numbered", id, "part", { number: 0, text: "" })).toBe("taken");
    await use.app.drive();
    // Each of three further pages reads the last one of the page before again.
    expect(looks() - before).toBeLessThanOrEqual(many + 3);
    expect(await use.app.status("numbered", id)).toMatchObject({ kept: [{ count: 100 }] });
  });

  test("[S155] what no node takes is refused, and changes nothing", async () => {
    const id = await use.app.start("paid", { order: "a" });
    await use.app.drive();
    await send("paid", id, "payment", mine);
    await use.app.drive(async () => (await use.app.status("paid", id))?.active[0]?.node === "tip");
    await expect(send("paid", id, "payment", other)).rejects.toThrow(
      /^Cannot send "payment" to run ".*": "tip" waits for another one, and no node after it takes this one/,
    );
    // A name without a `match` of its own is taken as ever.
    expect(await send("paid", id, "refund", { cents: 1 })).toBe("taken");
    expect(await use.app.status("paid", id)).toMatchObject({ state: "completed", kept: [] });
  });

  test("[S155] the wait goes on as before when an event was not meant for it: its time, too", async () => {
    const id = await use.app.start("paid", { order: "a" });
    await use.app.drive();
    await send("paid", id, "payment", mine);
    await use.app.advance(1_000);
    for (let n = 0; n < 3; n++)
      await expect(send("paid", id, "payment", other)).rejects.toThrow(/waits for another one/);
    await use.app.drive();
    expect(await use.app.status("paid", id)).toMatchObject({
      state: "completed",
      output: { tip: { timedOut: true } },
    });
    await use.app.expectNothingLeft();
  });

  test("[S155] [S103] a paused one that keeps what is not for it has the time that is left", async () => {
    const id = await use.app.start("paid", { order: "a" });
    await use.app.drive();
    await send("paid", id, "payment", mine);
    await use.app.advance(1_000);
    const active = async () => (await use.app.status("paid", id))?.active;
    const [{ dueAt } = {}] = (await active()) ?? [];
    await steer("pause", id);
    await use.app.advance(60_000);
    expect(await send("paid", id, "payment", other)).toBe("kept");
    await steer("resume", id);
    await use.app.advance(1_000);
    expect(dueAt).toBeDefined();
    expect(await active()).toMatchObject([{ node: "tip", state: "waiting", dueAt }]);
  });

  test("[S155] it sees the scope; one that waits alone refuses what is not for it", async () => {
    const id = await use.app.start("answeredTo", {});
    await use.app.drive();
    await expect(send("answeredTo", id, "answer", { to: "q8", text: "no" })).rejects.toThrow(
      /"answer" waits for another one/,
    );
    expect(await send("answeredTo", id, "answer", { to: "q7", text: "yes" })).toBe("taken");
    await use.app.drive();
    expect(await use.app.status("answeredTo", id)).toMatchObject({ output: "yes" });
  });

  test(
    "[S155] in a loop each iteration takes its own, of ever so many that wait",
    { tags: ["large"] },
    async () => {
      const of = 60;
      const id = await use.app.start("numbered", { of });
      await use.app.drive();
      for (let number = of - 1; number > 0; number--)
        expect(await send("numbered", id, "part", { number, text: `${number}` })).toBe("kept");
      expect(await send("numbered", id, "part", { number: 0, text: "0" })).toBe("taken");
      await use.app.drive();
      expect(await use.app.status("numbered", id)).toMatchObject({
        state: "completed",
        output: Array.from({ length: of }, (_, number) => `${number}`),
      });
      await use.app.expectNothingLeft();
    },
  );

  test("[S155] a paused run keeps what comes, and asks when it is resumed", async () => {
    const id = await use.app.start("paid", { order: "a" });
    await use.app.drive();
    await steer("pause", id);
    expect(await send("paid", id, "payment", small)).toBe("kept");
    expect(await send("paid", id, "payment", mine)).toBe("kept");
    await steer("resume", id);
    await use.app.drive();
    expect(await use.app.status("paid", id)).toMatchObject({
      output: { payment: mine, tip: { event: { name: "payment", value: small } } },
    });
  });

  test("[S155] [S134] a restart gives each node back what it had taken", async () => {
    const id = await use.app.start("paid", { order: "a" });
    await use.app.drive();
    await send("paid", id, "payment", small);
    await send("paid", id, "payment", mine);
    await use.app.drive();
    const { output } = (await use.app.status("paid", id)) as { output: unknown };
    await restart("paid", id);
    await use.app.drive();
    expect(await use.app.status("paid", id)).toMatchObject({ state: "completed", output });
  });
});

describe("a match that cannot say", () => {
  const bad = { order: "a", cents: -1 };

  test("[S155] throws in the sender, and the run waits on", async () => {
    const id = await use.app.start("paid", { order: "a" });
    await use.app.drive();
    await expect(send("paid", id, "payment", bad)).rejects.toThrow(
      /the match of "payment" failed: -1 cents$/,
    );
    expect(await use.app.status("paid", id)).toMatchObject({ state: "running", kept: [] });
    expect(await send("paid", id, "payment", mine)).toBe("taken");
  });

  test("[S155] fails the node that comes to an event which waits, and that stays", async () => {
    const id = await use.app.start("paid", { order: "a" });
    expect(await send("paid", id, "payment", bad)).toBe("kept");
    await use.app.drive();
    expect(await use.app.status("paid", id)).toMatchObject({
      state: "failed",
      error: { node: "payment", message: "-1 cents" },
      kept: [{ name: "payment", count: 1 }],
    });
  });

  test("[S155] is told if it gives no boolean, and not told of what is sensitive", async () => {
    const id = await use.app.start("unsure", {});
    await use.app.drive();
    await expect(send("unsure", id, "word", "x")).rejects.toThrow(
      /the match of "word" failed: The match of "word" gave .*: it must give true or false/,
    );
    const secret = await use.app.start("hushed", {});
    await use.app.drive();
    const sent = send("hushed", secret, "word", "hush");
    await expect(sent).rejects.toThrow(/the match of "word" failed: The message is not shown/);
  });
});
