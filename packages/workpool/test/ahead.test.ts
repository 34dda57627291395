import { S16, S256 } from "@stepwise/testing";
import { describe, expect, test } from "vitest";
import { isSeat } from "../src/core/ahead.js";
import { type Held, once, watched } from "./deployed.js";

/* Works ahead: an executor that runs short works has more than it has slots for. */

describe("works ahead", () => {
  test.each([
    ["in one range", 20, S256],
    ["in three", 70, S256],
    ["on the smallest class, whose scheduler has fewer places", 50, S16],
  ] as const)(
    "[S272] where short works wait, the slots %s are used for seven eighths of the time, and no more run at once",
    { tags: ["large"] },
    async (_where, slots, of) => {
      const { deployment, enqueue, events, rows, seen, atRest } = await watched(slots, of);
      for (let i = 0; i < 20; i++) deployment.at(10 * i, () => enqueue(slots * i, slots, 200));
      await deployment.drive();
      expect(seen.most).toBe(slots);
      // At first an executor begins, and at last there are none to begin.
      expect(seen.inAllMs / slots / (seen.to - seen.from)).toBeGreaterThan(7 / 8);
      expect(once(events("start"))).toBe(20 * slots);
      expect(events("start")).toHaveLength(20 * slots);
      const counted = rows("slots").map(({ counts }) => counts?.succeeded ?? 0);
      expect(counted.reduce((sum, each) => sum + each, 0)).toBe(20 * slots);
      expect(rows("slots")).toHaveLength(slots);
      atRest();
    },
  );

  test(
    "[S272] nor do more with mutations among them, which begin at once",
    { tags: ["large"] },
    async () => {
      const { deployment, enqueue, events, rows, seen, atRest } = await watched(6);
      let held = 0;
      deployment.onCommit(() => {
        const inSlots = rows("slots").filter((slot: Held) => slot.work && !isSeat(slot));
        held = Math.max(held, inSlots.length);
      });
      for (let i = 0; i < 40; i++) {
        deployment.at(40 * i, () => enqueue(3 * i, 3, 60 + 7 * (i % 9)));
        deployment.at(40 * i, () => deployment.mutation("calls:write", { count: 1 + (i % 3) }));
      }
      await deployment.drive();
      expect([seen.most, held]).toEqual([6, 6]);
      expect(events("ended")).toHaveLength(120);
      atRest();
    },
  );

  test("[S272] a pool of one runs one at a time, in the order in which they came", async () => {
    const { deployment, enqueue, events, seen, atRest } = await watched(1);
    for (let i = 0; i < 40; i++) deployment.at(40 * i, () => enqueue(i, 1, 150));
    await deployment.drive();
    expect(seen.most).toBe(1);
    expect(events("start").map(({ label }) => Number(label))).toEqual([...Array(40).keys()]);
    atRest();
  });

  test("[S273] if works turn out long, those ahead go back to the queue, and run once", async () => {
    const { deployment, enqueue, events, rows, ahead, seen, atRest } = await watched(8);
    const { clock } = deployment;
    const since = new Map<string, number>();
    let longest = 0;
    let wentBack = 0;
    deployment.onCommit(({ writes }) => {
      for (const { work } of ahead())
        if (work !== undefined && !since.has(work)) since.set(work, clock.now());
      for (const { table, old, next } of writes)
        if (table.path === "workpool/waiting" && old === undefined)
          wentBack += Number(since.delete(String(next?.["work"])));
    });
    deployment.at(0, () => enqueue(0, 200, 100));
    deployment.at(50, () => enqueue(200, 16, 20_000));
    deployment.at(60, () => enqueue(216, 10, 100));
    for (let ms = 0; ms < 30_000; ms += 20)
      deployment.at(ms, () => {
        const works = new Set(ahead().map(({ work }: Held) => work));
        // Those in seats have begun if no slot of the executor has one that has not.
        if (seen.running === rows("slots").filter(({ work }) => work !== undefined).length) return;
        for (const [work, at] of since)
          if (works.has(work)) longest = Math.max(longest, clock.now() - at);
      });
    await deployment.drive();
    expect(wentBack).toBeGreaterThan(0);
    expect(longest).toBeLessThan(700);
    expect(seen.most).toBe(8);
    expect(events("start")).toHaveLength(226);
    expect(events("ended").map(({ label }) => label)).toEqual(Array(226).fill("success"));
    atRest();
  });

  test("[S108] a report that comes twice gives a work back once", { tags: ["large"] }, async () => {
    const { deployment, enqueue, rows, events, atRest } = await watched(8, S256, {
      call: ({ name }) => (name === "complete:completeTogether" ? { againMs: 1 } : undefined),
    });
    const twice = new Set<string>();
    let wentBack = 0;
    deployment.onCommit(({ by, writes }) => {
      const joined = writes.filter(
        ({ table, old }) => table.path === "workpool/waiting" && old === undefined,
      );
      if (by.endsWith("completeTogether")) wentBack += joined.length;
      const works = rows("waiting").map(({ work }: Held) => work!);
      for (const [index, work] of works.entries())
        if (works.indexOf(work) !== index) twice.add(work);
    });
    deployment.at(0, () => enqueue(0, 120, 100));
    deployment.at(50, () => enqueue(120, 16, 5_000));
    await deployment.drive();
    expect(wentBack).toBeGreaterThan(0);
    expect([...twice]).toEqual([]);
    // What the second report takes is lost, and tried again.
    expect(events("ended")).toHaveLength(136);
    atRest();
  });

  test(
    "[S274] one that is canceled never begins, and is told so within a second",
    { tags: ["large"] },
    async () => {
      const { deployment, enqueue, events, rows, atRest } = await watched(10);
      let ids: string[] = [];
      const late: string[] = [];
      const ended: number[] = [];
      deployment.at(0, async () => void (ids = await enqueue(0, 300, 200)));
      const cancelLast = async () => {
        const begun = new Set(events("start").map(({ label }) => label));
        const held = rows("slots").flatMap(({ work }: Held) => (work === undefined ? [] : [work]));
        // The last one begins last.
        const work = held.toSorted((a, b) => ids.indexOf(a) - ids.indexOf(b)).at(-1)!;
        const label = `${ids.indexOf(work)}`;
        if (begun.has(label)) return;
        late.push(label);
        await deployment.mutation("calls:cancel", { id: work });
      };
      for (let i = 0; i < 40; i++) deployment.at(2_000 + 37 * i, cancelLast);
      deployment.at(4_500, () => void ended.push(canceled().length));
      const canceled = () => events("ended").filter(({ label }) => label === "canceled");
      await deployment.drive();
      const started = events("start").map(({ label }) => label);
      expect(ended).toEqual([new Set(late.filter((label) => !started.includes(label))).size]);
      expect(canceled().length).toBe(ended[0]);
      expect(canceled().length).toBeGreaterThan(5);
      expect(events("ended")).toHaveLength(300);
      atRest();
    },
  );

  test("[S274] a paused pool gives them back: after half a second none begins, until it goes on", async () => {
    const { deployment, enqueue, events, ahead, rows, seen, atRest } = await watched(10);
    deployment.at(0, () => enqueue(0, 300, 200));
    const running: number[] = [];
    deployment.at(2_000, () => deployment.mutation("calls:limit", { maxParallelism: 0 }));
    for (const ms of [2_600, 8_000])
      deployment.at(ms, () => {
        running.push(seen.running, ahead().length);
        expect(rows("slots").filter(({ work }) => work !== undefined)).toEqual([]);
      });
    deployment.at(9_000, () => deployment.mutation("calls:limit", { maxParallelism: 10 }));
    await deployment.drive();
    expect(running).toEqual([0, 0, 0, 0]);
    expect(once(events("start"))).toBe(300);
    expect(events("start")).toHaveLength(300);
    atRest();
  });
});
