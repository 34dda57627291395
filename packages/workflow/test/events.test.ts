import { describe, expect, test } from "vitest";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();
const pause = async (runId: string) => await use.app.t.mutation(internal.manager.pause, { runId });

const resume = async (runId: string) =>
  await use.app.t.mutation(internal.manager.resume, { runId });

async function send(name: string, run: string, event: string, payload: unknown): Promise<string> {
  return await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });
}

describe("events", () => {
  test("[S69] [S70] a step sends its own run the event that has just let that go on: it is for the next node", async () => {
    const id = await use.app.start("echoes", {});
    await use.app.drive();
    expect(await send("echoes", id, "word", 1)).toBe("taken");
    await use.app.drive();
    expect(await use.app.status("echoes", id)).toMatchObject({ state: "completed", output: 2 });
    expect(await use.app.log()).toEqual(["said 1"]);
    const said = use.app.counter.calls.filter(({ name }) => name.endsWith("echoes:said"));
    expect(said).toHaveLength(1);
  });

  test("[S69] two runs tell each other in turn: each is told once at a time", async () => {
    const one = await use.app.start("player", { name: "one", throws: 2 });
    const two = await use.app.start("player", { name: "two", throws: 1 });
    await use.app.drive();
    expect(await send("player", one, "ball", [two, one])).toBe("taken");
    await use.app.drive();
    expect(await use.app.log()).toEqual(["one 2", "two 1", "one 0"]);
    expect(await use.app.status("player", one)).toMatchObject({ state: "completed", output: 2 });
    expect(await use.app.status("player", two)).toMatchObject({ state: "completed", output: 1 });
    await use.app.expectNothingLeft();
  });

  test("[S73] [S103] a paused run at its last node of the name keeps one; the next is refused", async () => {
    const id = await use.app.start("approval", {});
    await use.app.drive();
    await pause(id);
    expect(await send("approval", id, "decision", { by: "Ada" })).toBe("kept");
    await expect(send("approval", id, "decision", { by: "Eve" })).rejects.toThrow(
      /keeps 1 of them/,
    );
    await resume(id);
    await use.app.drive();
    expect(await use.app.status("approval", id)).toMatchObject({ state: "completed" });
  });

  test("[S73] refused where the node stands in a branch whose chosen case is empty", async () => {
    const id = await use.app.start("choosy", { asks: false });
    await use.app.advance(100);
    await expect(send("choosy", id, "answer", "yes")).rejects.toThrow(/past every node/);
    const other = await use.app.start("choosy", { asks: true });
    await use.app.advance(100);
    expect(await send("choosy", other, "answer", "yes")).toBe("taken");
  });
});

const HOUR = 60 * 60_000;

async function cancel(runId: string): Promise<void> {
  await use.app.t.mutation(internal.runs.cancel, { runId });
}

describe("events", () => {
  const call = async (run: string, payload: string) =>
    await use.app.t.mutation(internal.manager.sendEvent, {
      name: "patientTwice",
      run,
      event: "call",
      payload,
    });

  test("[S73] one that comes after the time for it is kept for a later node of its name", async () => {
    const id = await use.app.start("patientTwice", {});
    await use.app.advance(HOUR + 1_000);
    expect(await call(id, "late")).toBe("kept");
    await use.app.drive();
    expect(await use.app.status("patientTwice", id)).toMatchObject({
      output: { call: { timedOut: true }, again: { name: "call", value: "late" } },
    });
  });

  test("[S73] nothing waits for its timeout any more when an event has come", async () => {
    const id = await use.app.start("patient", { leaves: [] });
    await use.app.advance(2 * 3_600_000);
    expect(await send("patient", id, "decision", "yes")).toBe("taken");
    await use.app.advance(61_000);
    expect(await use.app.status("patient", id)).toMatchObject({ state: "completed" });
    await use.app.expectNothingLeft();
  });

  test("[S85] nothing waits for an event any more when its run is canceled", async () => {
    const id = await use.app.start("patientTwice", {});
    await use.app.advance(1_000);
    await cancel(id);
    await use.app.drive();
    await use.app.expectNothingLeft();
    await expect(call(id, "late")).rejects.toThrow(
      /the run is canceled, so it takes no more events/,
    );
  });
});
