import { describe, expect, test } from "vitest";
import type { ListedRun, Page, TimelineEntry, Wait } from "../src/index.js";
import { internal } from "./convex/_generated/api.js";
import { TestApp, useTestApp } from "./harness.js";

// On the smallest class one start in 256, by chance, joins the queue beside free slots.
const use = useTestApp({ deploymentClass: "s256" });
const SECOND = 1_000;
const HOUR = 60 * 60 * SECOND;

async function timeline(name: string, runId: string): Promise<TimelineEntry[]> {
  const args = { name, runId, page: { numItems: 100, cursor: null } };
  const found = await use.app.counter.uncounted(() =>
    use.app.t.query(internal.manager.steps, args),
  );
  return (found as unknown as Page<TimelineEntry>).page;
}

async function children(parent: string): Promise<ListedRun[]> {
  const args = { filter: { parent }, page: { numItems: 100, cursor: null } };
  return ((await use.app.t.query(internal.manager.list, args)) as unknown as Page<ListedRun>).page;
}

async function waits(runId: string, page?: { numItems: number; cursor: string | null }) {
  const args = page === undefined ? { runId } : { runId, page };
  return (await use.app.t.query(internal.manager.waits, args)) as unknown as Page<Wait>;
}

const send = async (name: string, run: string, event: string, payload: unknown) =>
  await use.app.t.mutation(internal.manager.sendEvent, { name, run, event, payload });

/** Takes all slots of the pool for so long. */
async function busy(ms: number): Promise<void> {
  for (let n = 0; n < 10; n++) await use.app.start("leaf", { n, ms });
  await use.app.advance(1);
}

describe("when an attempt began", () => {
  test("[S147] time in the queue is told apart from the time that an action took", async () => {
    await busy(18 * SECOND);
    const begun = Date.now();
    const id = await use.app.start("labours", { ms: 500 });
    await use.app.advance(10 * SECOND);
    const [queued] = (await use.app.status("labours", id))!.active;
    expect(queued).toMatchObject({ state: "pending", queuedAt: begun });
    expect(queued).not.toHaveProperty("beganAt");
    await use.app.advance(8 * SECOND + 100);
    const [runs] = (await use.app.status("labours", id))!.active;
    expect(runs).toMatchObject({ state: "running", queuedAt: begun });
    const beganAt = runs!.beganAt!;
    expect(beganAt).toBeGreaterThanOrEqual(begun + 18 * SECOND - 10);
    expect(beganAt).toBeLessThanOrEqual(begun + 18 * SECOND + 10);
    await use.app.drive();
    const [done] = await timeline("labours", id);
    expect(done).toMatchObject({ state: "completed", startedAt: begun, beganAt });
    expect(done).toMatchObject({ queuedMs: beganAt - begun, durationMs: 500 });
  });

  test("[S147] of each attempt: how long it waited for a slot, and how long it ran", async () => {
    const id = await use.app.start("labours", { ms: 500, goodAttempt: 3 });
    await use.app.advance(100);
    // The second attempt comes due while the others have all slots.
    await use.app.advance(400);
    await busy(5 * SECOND);
    await use.app.drive();
    const [{ retries, queuedMs, durationMs, startedAt, endedAt } = { errors: [] } as never] =
      await timeline("labours", id);
    expect(retries).toMatchObject([
      { attempt: 1, queuedMs: 0, durationMs: 500, beganAt: startedAt },
      { attempt: 2, durationMs: 500 },
    ]);
    const [first, second] = retries!;
    expect(second!.queuedMs).toBeGreaterThan(4 * SECOND);
    expect(second!.beganAt).toBe(first!.nextAt + second!.queuedMs!);
    expect(queuedMs).toBeGreaterThanOrEqual(second!.queuedMs!);
    expect(queuedMs! + durationMs!).toBe(endedAt! - startedAt!);
  });

  test("[S147] one that is canceled in the queue has waited, and never began; one that runs had begun", async () => {
    const ids: string[] = [];
    for (let n = 0; n < 11; n++) ids.push(await use.app.start("labours", { ms: 60 * SECOND }));
    const begun = Date.now();
    await use.app.advance(5 * SECOND);
    for (const runId of ids) await use.app.t.mutation(internal.runs.cancel, { runId });
    const first = (await timeline("labours", ids[0]!))[0]!;
    expect(first).toMatchObject({ state: "canceled", beganAt: begun, queuedMs: 0 });
    expect(first.durationMs).toBe(5 * SECOND);
    const last = (await timeline("labours", ids[10]!))[0]!;
    expect(last).toMatchObject({ state: "canceled", queuedMs: 5 * SECOND, durationMs: 0 });
    expect(last).not.toHaveProperty("beganAt");
    await use.app.drive();
  });

  test("[S147] a run that was started for later has reached its first node when it began", async () => {
    const createdAt = Date.now();
    const later = { input: { ms: 500 }, runAfter: "1h" };
    const id = await use.app.t.mutation(internal.manager.start, { name: "labours", ...later });
    expect(await use.app.status("labours", id)).toMatchObject({ state: "pending", createdAt });
    await use.app.drive();
    const [work] = await timeline("labours", id);
    expect(work).toMatchObject({ startedAt: createdAt + HOUR, queuedMs: 0, durationMs: 500 });
    expect(await use.app.status("labours", id)).toMatchObject({
      createdAt,
      startedAt: createdAt + HOUR,
    });
    const input = { question: "When?" };
    const asked = { name: "asks", input, runAfter: "1h" };
    const waiting = await use.app.t.mutation(internal.manager.start, asked);
    const due = Date.now() + HOUR;
    await use.app.advance(HOUR + SECOND);
    expect((await use.app.status("asks", waiting))?.active).toMatchObject([{ since: due }]);
  });

  test("[S147] a child that waits for its turn has not begun, and one that never did took no time", async () => {
    const createdAt = Date.now();
    const leaves = [0, 1, 2].map((n) => ({ n, ms: 10 * SECOND }));
    const id = await use.app.start("twoAtOnce", { leaves });
    await use.app.drive();
    const [, , third] = await children(id);
    expect(third).toMatchObject({ createdAt, startedAt: createdAt + 10 * SECOND });
    const stopped = await use.app.start("stopped", { of: 5 });
    await use.app.drive();
    const all = await children(stopped);
    expect(all.map(({ state }) => state)).toEqual([
      "canceled",
      "failed",
      "canceled",
      "canceled",
      "canceled",
    ]);
    expect(all.map(({ startedAt, endedAt }) => endedAt! - startedAt > 0)).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("an attempt that did not report", () => {
  test("[S147] one that timed out has begun when it did, and one that was lost when it got its slot", async () => {
    const begun = Date.now();
    const slow = await use.app.start("slowRetries", {});
    const lost = await use.app.start("recovers", { ms: 20 * 60 * SECOND });
    await use.app.advance(2 * SECOND);
    // Its machine dies.
    await use.app.inComponent(async (ctx) => {
      const slots = await ctx.db.query("slots").collect();
      const steps = await ctx.db.query("steps").collect();
      const work = steps.find(({ run }) => run === lost)?._id;
      const slot = slots.find((each) => each.work === work)!;
      const job = await ctx.scheduler.runAfter(HOUR, "x:gone" as never, {});
      await ctx.scheduler.cancel(job);
      await ctx.db.patch("slots", slot._id, { job });
    });
    await use.app.drive(async () => (await use.app.status("recovers", lost))?.state !== "running");
    const [act] = await timeline("recovers", lost);
    expect(act).toMatchObject({ errors: [{ kind: "lost" }], beganAt: begun, queuedMs: 0 });
    await use.app.drive();
    const [tried] = await timeline("slowRetries", slow);
    expect(tried?.retries?.map(({ durationMs }) => durationMs)).toEqual([800, 800, 800]);
    expect(tried?.retries?.map(({ queuedMs }) => queuedMs)).toEqual([0, 0, 0]);
  });

  test("[S147] one whose completion failed had begun when it says", async () => {
    const app = new TestApp({ settle: ({ slot }) => slot !== undefined });
    const begun = Date.now();
    const id = await app.start("leaf", { n: 1, ms: 5 * SECOND });
    await app.drive();
    const args = { name: "leaf", runId: id, page: { numItems: 10, cursor: null } };
    const found = (await app.t.query(internal.manager.steps, args)) as unknown as {
      page: TimelineEntry[];
    };
    expect(found.page[0]).toMatchObject({ beganAt: begun, queuedMs: 0 });
  });
});

test("[S148] children that were canceled are not counted as failed, and children count from 0", async () => {
  const id = await use.app.start("stopped", { of: 14 });
  await use.app.drive();
  const counts = { total: 14, done: 0, failed: 1, canceled: 13, running: 0 };
  expect((await timeline("stopped", id))[0]).toMatchObject({ children: counts });
  expect(await use.app.status("stopped", id)).toMatchObject({
    error: { message: expect.stringContaining('Child 1 of "all"') as string, key: "1" },
  });
  const failed = (await children(id)).filter(({ state }) => state === "failed");
  expect(failed.map(({ index }) => index)).toEqual([1]);
});

describe("a wait for events", () => {
  test("[S149] tells which of its events came, and whether its time was over", async () => {
    const came = await use.app.start("asks", { question: "Yes?" });
    const late = await use.app.start("asks", { question: "No?" });
    await use.app.advance(SECOND);
    await send("asks", came, "no", "never");
    await use.app.drive();
    const [answer] = await timeline("asks", came);
    expect(answer).toMatchObject({ state: "completed", event: "no", events: ["yes", "no"] });
    expect(answer).not.toHaveProperty("isTimedOut");
    const [over] = await timeline("asks", late);
    expect(over).toMatchObject({ state: "completed", isTimedOut: true });
    expect(over).not.toHaveProperty("event");
  });

  test("[S149] one that takes a single event names that", async () => {
    for (const [payload, outcome] of [
      ["hello", { event: "answer" }],
      [undefined, { isTimedOut: true }],
    ] as const) {
      const id = await use.app.start("patiently", { wait: HOUR });
      await use.app.advance(SECOND);
      if (payload !== undefined) await send("patiently", id, "answer", payload);
      await use.app.drive();
      const [, answer] = await timeline("patiently", id);
      expect(answer).toMatchObject({ node: "answer", state: "completed", ...outcome });
      expect(Object.keys(answer!)).not.toContain(payload === undefined ? "event" : "isTimedOut");
    }
  });

  test("[S149] [S97] one that is sensitive does not tell which came", async () => {
    const id = await use.app.start("asksQuietly", {});
    await use.app.advance(SECOND);
    await send("asksQuietly", id, "no", "never");
    await use.app.drive();
    const [answer] = await timeline("asksQuietly", id);
    expect(answer).toMatchObject({ state: "completed", isSensitive: true });
    expect(answer).not.toHaveProperty("event");
    expect(JSON.stringify(await use.app.tree(id))).not.toContain('"came"');
  });

  test("[S149] so does one whose event came before it", async () => {
    const input = { question: "Early?" };
    const id = await use.app.t.mutation(internal.manager.start, {
      name: "asks",
      input,
      runAfter: "1h",
    });
    await send("asks", id, "yes", "sure");
    await use.app.drive();
    expect((await timeline("asks", id))[0]).toMatchObject({ state: "completed", event: "yes" });
  });
});

describe("the waits of a tree", () => {
  test("[S150] have their run, their place, their events, the run's input and until when they wait", async () => {
    const id = await use.app.start("desk", { note: "hello" });
    await use.app.advance(SECOND);
    const { page, isDone } = await waits(id);
    expect(isDone).toBe(true);
    const begun = page[0]!.since;
    const wait = { workflow: "asks", node: "answer", events: ["yes", "no"], since: begun };
    const dueAt = begun + HOUR;
    expect(page).toMatchObject([
      { path: "rooms/left/turns.research#1/0/answer", input: { question: "Left?" } },
      { path: "rooms/right/turns.research#1/0/answer", input: { question: "Right?" } },
      { path: "rooms/right/turns.research#1/1/answer", input: { question: "Really?" } },
    ]);
    for (const one of page) expect(one).toMatchObject({ ...wait, dueAt });
    const [left] = await children(id);
    expect((await waits(left!.runId)).page.map(({ path }) => path)).toEqual([
      "turns.research#1/0/answer",
    ]);
    expect((await waits(page[1]!.runId)).page.map(({ path }) => path)).toEqual(["answer"]);
    // They are what is sent to.
    for (const { runId } of page) await send("asks", runId, "yes", "fine");
    await use.app.advance(SECOND);
    const sure = await waits(id);
    expect(sure.page.map(({ path }) => path).sort()).toEqual([
      "rooms/left/turns.sure#1/answer",
      "rooms/right/turns.sure#1/answer",
    ]);
    await use.app.drive();
    expect((await waits(id)).page).toEqual([]);
    expect((await waits("nonsense")).page).toEqual([]);
  });

  test(
    "[S150] in pages: each once, however large the inputs are",
    { tags: ["large"] },
    async () => {
      const length = 300_000;
      const questions = Array.from({ length: 24 }, (_none, n) => `${n} `);
      const id = await use.app.start("agent", { questions, length });
      // So much is inserted in several transactions.
      await use.app.advance(30 * SECOND);
      for (const numItems of [5, 100]) {
        const found: Wait[] = [];
        let cursor: string | null = null;
        for (;;) {
          const next: Page<Wait> = await waits(id, { numItems, cursor });
          found.push(...next.page);
          expect(next.page.length).toBeLessThanOrEqual(numItems);
          if (next.isDone) break;
          cursor = next.continueCursor;
        }
        const asked = found.map(({ input }) => (input as { question: string }).question);
        expect(asked.map((question) => question.slice(0, 3))).toEqual(
          questions.map((question) => question.padEnd(3, "?")),
        );
      }
      await use.app.t.mutation(internal.runs.cancel, { runId: id });
      await use.app.drive();
    },
  );

  test("[S150] a run that waits itself, and is paused", async () => {
    const id = await use.app.start("asks", { question: "Alone?" });
    await use.app.advance(SECOND);
    await use.app.t.mutation(internal.manager.pause, { runId: id });
    expect((await waits(id)).page).toMatchObject([
      { runId: id, path: "answer", input: { question: "Alone?" }, paused: true },
    ]);
  });

  test("[S259] a branch and a case have the input of the run around them, an item its own", async () => {
    const id = await use.app.start("asksInside", { question: "Inside?", pin: "1234" });
    await use.app.advance(SECOND);
    const { page } = await waits(id);
    const question = { question: "Inside?" };
    expect(page.map(({ node, input }) => [node, input])).toEqual([
      ["all.left.first", question],
      ["all.right.either.ask.second", question],
      ["all.list.items.third", { item: "a", index: 0 }],
    ]);
    const of = await use.app.status("asksInside", page[0]!.runId);
    expect(of?.input).toEqual(question);
    for (const [at, event] of ["first", "second", "third"].entries())
      await send("asksInside", page[at]!.runId, event, "well");
    await use.app.drive();
    expect((await use.app.status("asksInside", id))?.state).toBe("completed");
  });

  test("[S150] status has the input of its run, small or large, as its schema has parsed it", async () => {
    for (const length of [1, 100_000]) {
      const question = "?".repeat(length);
      const id = await use.app.start("asks", { question });
      expect(await use.app.status("asks", id)).toMatchObject({ input: { question } });
    }
    const parsed = await use.app.start("labours", { ms: 1 });
    expect(await use.app.status("labours", parsed)).toMatchObject({
      input: { ms: 1, goodAttempt: 1 },
    });
    await use.app.drive();
  });
});
