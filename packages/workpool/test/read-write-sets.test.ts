import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { virtualTime } from "./app.js";
import { type Recorded, transactions } from "./host/recording.js";
import { seeded } from "./seeded.js";
import { HostApp, loadHost } from "./host-app.js";

virtualTime();
beforeAll(loadHost);
// Lanes are drawn: in one case of three, two of a hundred ends whose lanes are empty want one work.
beforeEach(() => void vi.spyOn(Math, "random").mockImplementation(seeded(1)));

/**
 * Runs 100 works that all end after 1 s; at the same moment, before any of the ends, others are
 * enqueued. convex-test runs them one after the other: enqueues first, so that none gets a slot
 * that a completion has just freed, as none would that has begun at the same time.
 */
async function atOnce(maxParallelism: number, waiting: number, enqueued: number) {
  const app = new HostApp();
  await app.setMaxParallelism(maxParallelism);
  for (let i = 0; i < 100; i++) await app.enqueue({ label: `r${i}`, ms: 1_000 });
  // The drain has given the last free slots to the last of them.
  await app.drive(1);
  for (let i = 0; i < waiting; i++) await app.enqueue({ label: `w${i}`, ms: 60_000 });
  await app.drive(500);
  const gate = await app.t.run(async (ctx) => (await ctx.db.query("gate").first())!._id);
  const watch = await app.t.run(async (ctx) => (await ctx.db.query("watch").first())!._id);
  transactions.length = 0;
  for (let i = 0; i < enqueued; i++) await app.enqueue({ label: `e${i}`, ms: 60_000 });
  await app.drive(1_000);
  const recorded = transactions.slice();
  expect(recorded.filter(({ name }) => name === "enqueue")).toHaveLength(enqueued);
  expect(recorded.filter(({ name }) => name === "complete")).toHaveLength(100);
  return { recorded, gate: gate as string, watch: watch as string };
}

/** Documents that two of the transactions wrote, and such as one wrote and another read. */
function shared(recorded: Recorded[]): { written: string[]; read: string[] } {
  const writers = new Map<string, Recorded>();
  const written: string[] = [];
  for (const transaction of recorded)
    for (const id of transaction.writes) {
      if (writers.has(id)) written.push(id);
      writers.set(id, transaction);
    }
  const read = recorded.flatMap((transaction) =>
    [...transaction.reads].filter((id) => (writers.get(id) ?? transaction) !== transaction),
  );
  return { written, read };
}

describe("100 works that end at once, and others that are enqueued meanwhile", () => {
  test(
    "write conflicts between enqueuers under load: with slots free, share no document that any of them writes",
    { tags: ["large"] },
    async () => {
      const { recorded, gate, watch } = await atOnce(200, 0, 80);
      expect(shared(recorded)).toEqual({ written: [], read: [] });
      for (const { name, reads, writes, foundNothingIn } of recorded) {
        expect(writes.size).toBe(1);
        expect(reads).toContain(gate);
        // A start in a free slot has the watchdog scheduled, if it is not.
        expect(reads.has(watch)).toBe(name === "enqueue");
        expect(reads.size).toBe(name === "enqueue" ? 3 : 2);
        expect([...foundNothingIn]).toEqual([]);
      }
    },
  );

  test(
    "write conflicts between enqueuers under load: with others waiting, share no document that any of them writes, and write the gate not at all",
    { tags: ["large"] },
    async () => {
      const { recorded, gate } = await atOnce(100, 500, 100);
      expect(shared(recorded)).toEqual({ written: [], read: [] });
      for (const { name, reads, writes, foundNothingIn } of recorded) {
        expect(writes).not.toContain(gate);
        expect([...foundNothingIn]).toEqual([]);
        expect(reads.size).toBeLessThanOrEqual(3);
        expect(writes.size).toBe(name === "enqueue" ? 1 : 2);
      }
    },
  );
});

test("an end that leaves its slot to a drain has read it, so that this does not end at the same moment", async () => {
  const app = new HostApp();
  await app.setMaxParallelism(16);
  for (let i = 0; i < 16; i++) await app.enqueue({ label: `r${i}`, ms: i < 2 ? 1_000 : 60_000 });
  for (let i = 0; i < 2; i++) await app.enqueue({ label: `w${i}`, ms: 60_000 });
  await app.drive(500);
  const drain = await app.t.run(async (ctx) => await ctx.db.query("drain").first());
  expect(drain?.on).toBe(false);
  transactions.length = 0;
  await app.drive(600);
  const [first, second] = transactions.filter(({ name }) => name === "complete");
  // The first one begins the drain.
  expect(first?.writes).toContain(drain?._id);
  expect(second?.writes).not.toContain(drain?._id);
  expect(second?.reads).toContain(drain?._id);
});
