/** @module-tag large */
import { type Faults, S16, S256 } from "@stepwise/testing";
import { describe, expect, test } from "vitest";
import { isSeat } from "../src/core/ahead.js";
import { deployed, once } from "./deployed.js";

/* Works that wait run in executors: several in one function, which reports their ends together. */

describe("when works wait", () => {
  test(
    "they run in executors: 200 works take few functions of the pool, and each runs once",
    { tags: ["large"] },
    async () => {
      const { deployment, enqueue, events, times, atRest } = await deployed(10);
      deployment.at(0, () => enqueue(0, 200, 200));
      await deployment.drive();
      expect(events("start")).toHaveLength(200);
      expect(once(events("start"))).toBe(200);
      expect(events("ended")).toHaveLength(200);
      expect(times("worker:runAction")).toBe(0);
      expect(times("executor:execute")).toBeLessThanOrEqual(4);
      atRest();
    },
  );

  test(
    "no more run at once than the pool has slots, while one executor follows on another",
    { tags: ["large"] },
    async () => {
      const { deployment, enqueue, times, atRest } = await deployed(4);
      let running = 0;
      let most = 0;
      deployment.onHappening((event) => {
        if (!("path" in event) || event.path.name !== "jobs:sleep") return;
        if (event.what === "began") most = Math.max(most, ++running);
        else if (event.what === "ended") running -= 1;
      });
      deployment.at(0, () => enqueue(0, 60, 2_000));
      await deployment.drive();
      expect(most).toBe(4);
      expect(times("executor:execute")).toBeGreaterThanOrEqual(3);
      atRest();
    },
  );

  test("one at a time, they start in the order in which they came", async () => {
    const { deployment, enqueue, events, rows, times, atRest } = await deployed(1);
    for (let i = 0; i < 20; i++) deployment.at(40 * i, () => enqueue(i, 1, 300));
    await deployment.drive();
    expect(events("start").map(({ label }) => Number(label))).toEqual([...Array(20).keys()]);
    expect(times("executor:execute")).toBeGreaterThanOrEqual(1);
    atRest();
    // The last one gives up its range.
    expect(rows("executors").filter(({ job }) => job !== undefined)).toEqual([]);
  });

  test("one that fails is tried again, and one whose callback throws costs the others nothing", async () => {
    const { deployment, enqueue, events, rows, atRest } = await deployed(5);
    deployment.at(0, () => enqueue(0, 20, 100));
    deployment.at(1, () => enqueue(20, 1, 100, { callback: "throwing" }));
    deployment.at(2, () => enqueue(21, 20, 100));
    await deployment.drive();
    expect(events("ended").map(({ label }) => label)).toEqual(Array(40).fill("success"));
    expect(rows("failedCallbacks")).toHaveLength(1);
    expect(events("start")).toHaveLength(41);
    atRest();
  });

  test("one whose last end is reported alone gives up its range too", async () => {
    let failed = 0;
    const { deployment, enqueue, events, rows, atRest } = await deployed(1, S256, {
      timesOut: ({ name }) =>
        name === "complete:completeTogether" && events("end").length === 4 && failed++ === 0,
    });
    deployment.at(0, () => enqueue(0, 4, 300));
    await deployment.drive();
    expect(failed).toBeGreaterThan(0);
    expect(events("ended")).toHaveLength(4);
    atRest();
    expect(rows("executors").filter(({ job }) => job !== undefined)).toEqual([]);
  });

  test.each([
    ["of 250 KB is run by one, which loads its arguments", 250_000, 0],
    ["of 300 KB has a function of its own", 300_000, 1],
  ])("a work %s", async (_what, bytes, own) => {
    const { deployment, enqueue, events, times, atRest } = await deployed(2);
    deployment.at(0, () => enqueue(0, 10, 300));
    deployment.at(100, () => deployment.mutation("calls:size", { bytes }));
    await deployment.drive();
    expect(events("ended").map(({ label }) => label)).toEqual(Array(11).fill("success"));
    expect(times("worker:runAction")).toBe(own);
    atRest();
  });

  test(
    "a pool that becomes smaller meanwhile, and larger again, reports together as before, and keeps no slot",
    { tags: ["large"] },
    async () => {
      const { deployment, enqueue, events, rows, atRest } = await deployed(20);
      let slots = 20;
      deployment.at(0, () => enqueue(0, 200, 500));
      const failures: string[] = [];
      deployment.onHappening((event) => {
        if (event.what === "failed") failures.push(`${event.path.name}: ${event.error}`);
      });
      deployment.at(2_000, () => deployment.mutation("calls:limit", { maxParallelism: 3 }));
      deployment.at(5_000, () => {
        slots = rows("slots").filter((slot) => !isSeat(slot)).length;
      });
      deployment.at(6_000, () => deployment.mutation("calls:limit", { maxParallelism: 40 }));
      await deployment.drive();
      expect(failures).toEqual([]);
      expect(slots).toBe(3);
      expect(once(events("end"))).toBe(200);
      expect(events("ended")).toHaveLength(200);
      atRest();
    },
  );

  test(
    "what it runs in slots of before the pool became smaller holds up no other work",
    { tags: ["large"] },
    async () => {
      const { deployment, enqueue, events, atRest } = await deployed(20);
      deployment.at(0, () => enqueue(0, 20, 300));
      // An executor gets all of them.
      deployment.at(100, () => enqueue(20, 15, 1_000));
      deployment.at(200, () => enqueue(35, 5, 60_000));
      deployment.at(700, () => deployment.mutation("calls:limit", { maxParallelism: 3 }));
      deployment.at(600, () => enqueue(40, 10, 500));
      await deployment.drive();
      const starts = events("start");
      const late = starts.filter(({ label }) => Number(label) >= 40);
      expect(late).toHaveLength(10);
      expect(Math.max(...late.map(({ at }) => at - starts[0]!.at))).toBeLessThan(15_000);
      atRest();
    },
  );

  test("while the ends of some are reported again and again, no other waits beside a free slot", async () => {
    let failed = false;
    let refused = 0;
    const { deployment, enqueue, events, rows, atRest } = await deployed(10, S256, {
      refuses: ({ name }) =>
        failed && name === "complete:complete" && refused++ < 80 ? "TooManyWrites" : undefined,
    });
    deployment.onHappening((event) => {
      failed ||= event.what === "failed" && event.path.name === "complete:completeTogether";
    });
    deployment.at(0, () => enqueue(0, 10, 300));
    deployment.at(100, () => enqueue(10, 8, 100, { callback: "throwing" }));
    for (let ms = 500; ms < 1_500; ms += 50) deployment.at(ms, () => enqueue(ms, 1, 10));
    await deployment.drive();
    expect(rows("failedCallbacks")).toHaveLength(8);
    expect(refused).toBeGreaterThanOrEqual(80);
    const starts = events("start");
    const late = starts.filter(({ label }) => Number(label) >= 500);
    expect(late).toHaveLength(20);
    for (const { label, at } of late) expect(at - starts[0]!.at - Number(label)).toBeLessThan(300);
    atRest();
  });

  test("ends for which a report has no room are in the next, and no work is taken for lost", async () => {
    const { deployment, enqueue, events, rows, atRest } = await deployed(8);
    deployment.at(0, () => enqueue(0, 8, 300));
    // Two of these callbacks take most of half of a transaction.
    deployment.at(100, () => enqueue(8, 8, 100, { callback: "writesMuch" }));
    await deployment.advance(10_000);
    expect(events("much")).toHaveLength(8);
    expect(events("start")).toHaveLength(16);
    expect(rows("works")).toEqual([]);
    await deployment.drive();
    atRest();
  });

  test("long works among short ones cost no call each 50 ms", async () => {
    const { deployment, enqueue, atRest } = await deployed(4);
    let reports = 0;
    deployment.onHappening((event) => {
      if (event.what === "committed" && event.path.name === "complete:completeTogether")
        reports += 1;
    });
    deployment.at(0, () => enqueue(0, 3, 120_000));
    deployment.at(500, () => enqueue(3, 3, 100));
    deployment.at(1_000, () => enqueue(6, 3, 120_000));
    await deployment.drive();
    expect(reports).toBeLessThan(60);
    atRest();
  });

  test("one that has asked in vain leaves its free slots to whoever comes: none waits beside them", async () => {
    const { deployment, enqueue, events, atRest } = await deployed(4);
    deployment.at(0, () => enqueue(0, 4, 500));
    deployment.at(100, () => enqueue(4, 1, 60_000));
    deployment.at(5_000, () => enqueue(5, 1, 10));
    await deployment.advance(6_000);
    expect(events("ended")).toHaveLength(5);
    await deployment.drive();
    atRest();
  });

  test(
    "one that has begun another in its place takes no more, and begins no third",
    { tags: ["large"] },
    async () => {
      const { deployment, enqueue, events, times, atRest } = await deployed(6);
      // Their ends are apart, so that the last ones of an executor are reported one by one.
      for (let i = 0; i < 12; i++) deployment.at(i, () => enqueue(50 * i, 50, 150 + 17 * i));
      await deployment.drive();
      expect(events("ended")).toHaveLength(600);
      // The first of them has those that found free slots.
      expect(times("executor:execute")).toBe(5);
      atRest();
    },
  );

  test("an executor whose asking fails for good asks ever less often, and gives up", async () => {
    let failed = 0;
    const { deployment, enqueue, events, atRest } = await deployed(4, S256, {
      timesOut: ({ name }) => name === "complete:completeTogether" && ++failed > 0,
    });
    deployment.at(0, () => enqueue(0, 4, 500));
    deployment.at(100, () => enqueue(4, 3, 120_000));
    await deployment.drive();
    expect(failed).toBeGreaterThan(5);
    expect(failed).toBeLessThan(40);
    expect(events("ended").map(({ label }) => label)).toEqual(Array(7).fill("success"));
    atRest();
  });
});

describe("loss", () => {
  test("an end hands its slot on if a drain has not come for a second", async () => {
    // What is lost is found by a sweep half a minute later.
    const faults: Faults = { timesOut: ({ name }) => name === "watchdog:drainQueue" };
    const { deployment, enqueue, events } = await deployed(2, S256, faults);
    // These have functions of their own.
    for (const work of [0, 1]) deployment.at(300 * work, () => enqueue(work, 1, 1_500));
    deployment.at(500, () => enqueue(2, 2, 1_500));
    await deployment.advance(5_000);
    expect(events("ended")).toHaveLength(4);
  });

  test.each(["dies at start", "dies before report", "dies after report"] as const)(
    "[S156] an executor that %s: its works are tried again, and the others do not wait for ever",
    async (fault) => {
      let deaths = 0;
      const dies = {
        action: ({ name }: { name: string }) =>
          name === "executor:execute" && deaths++ === 0 ? fault : undefined,
      };
      const { deployment, enqueue, events, atRest } = await deployed(5, S256, dies);
      deployment.at(0, () => enqueue(0, 40, 200));
      await deployment.drive();
      expect(events("ended").map(({ label }) => label)).toEqual(Array(40).fill("success"));
      expect(once(events("end"))).toBe(40);
      atRest();
    },
  );

  test(
    "every executor dies while works come: each work ends, and the pool comes to rest",
    { tags: ["large"] },
    async () => {
      let deaths = 0;
      const dies = {
        action: ({ name }: { name: string }) =>
          name === "executor:execute" && deaths++ < 6 ? ("dies before report" as const) : undefined,
      };
      const { deployment, enqueue, events, atRest } = await deployed(30, S256, dies);
      for (let i = 0; i < 20; i++) deployment.at(200 * i, () => enqueue(10 * i, 10, 500));
      await deployment.drive();
      expect(events("ended")).toHaveLength(200);
      atRest();
    },
  );
});

describe("canceling", () => {
  test("a work of an executor that has not begun never runs; the others of it do", async () => {
    // One place, and a lone work has it.
    const one = { ...S256, scheduledAtOnce: 1 };
    const { deployment, enqueue, events, rows, atRest } = await deployed(4, one);
    let ids: string[] = [];
    deployment.at(0, () => enqueue(0, 4, 1_000));
    deployment.at(200, async () => void (ids = await enqueue(4, 4, 1_000)));
    // What the app has scheduled comes before the executor.
    for (let ms = 0; ms < 8_000; ms += 200)
      deployment.at(0, () => deployment.mutation("calls:waitAt", { ms, forMs: 300 }));
    let canceled: string | undefined;
    // As soon as an executor that has not begun holds it.
    for (let ms = 1_000; ms < 30_000; ms += 20)
      deployment.at(ms, async () => {
        if (canceled !== undefined) return;
        const pending = new Set(
          rows("_scheduled_functions")
            .filter(({ name, state }) => /executor/.test(name) && state.kind === "pending")
            .map(({ _id }) => _id),
        );
        const held = rows("slots").find(({ job, work }) => pending.has(job) && ids.includes(work));
        if (held === undefined) return;
        canceled = held.work;
        await deployment.mutation("calls:cancel", { id: held.work });
      });
    await deployment.drive();
    expect(canceled).toBeDefined();
    const jobs = rows("_scheduled_functions").filter(({ name }) => /executor/.test(name));
    expect(jobs.filter(({ state }) => state.kind === "canceled")).toEqual([]);
    const gone = `${4 + ids.indexOf(canceled!)}`;
    expect(events("start").map(({ label }) => label)).not.toContain(gone);
    expect(
      events("ended")
        .map(({ label }) => label)
        .toSorted(),
    ).toEqual(["canceled", ...Array(7).fill("success")]);
    atRest();
  });

  test("a work that an executor runs goes on to its end, and is not tried again", async () => {
    const { deployment, enqueue, events, atRest } = await deployed(2);
    let ids: string[] = [];
    deployment.at(0, async () => void (ids = await enqueue(0, 6, 1_000)));
    deployment.at(1_500, () => deployment.mutation("calls:cancel", { id: ids[3]! }));
    await deployment.drive();
    expect(once(events("end"))).toBe(6);
    expect(events("ended").map(({ label }) => label)).toEqual(Array(6).fill("success"));
    atRest();
  });
});

describe("a burst on the smallest class", () => {
  test.each([6, 100])(
    "with a pool of %i: each enqueue loses once at most, but for a few",
    { tags: ["large"] },
    async (maxParallelism) => {
      const { deployment, enqueue, events, times, atRest } = await deployed(maxParallelism, S16);
      await deployment.advance(120_000);
      let conflicts = 0;
      deployment.onHappening((event) => {
        if (event.what === "conflict" && event.path.name === "calls:sleep") conflicts += 1;
      });
      for (let i = 0; i < 300; i++) deployment.at(0, () => enqueue(i, 1, 200));
      await deployment.drive();
      expect(events("ended")).toHaveLength(300);
      expect(conflicts).toBeLessThan(1.1 * 300);
      expect(times("worker:runAction") + times("watchdog:carry")).toBeLessThan(30);
      atRest();
    },
  );

  test("actions that follow on mutations leave two places to the app", async () => {
    const { deployment, enqueue, atRest, rows } = await deployed(12, S16);
    deployment.at(0, () => enqueue(0, 2, 20_000));
    deployment.at(50, () => deployment.mutation("calls:write", { count: 20 }));
    deployment.at(100, () => enqueue(2, 20, 20_000));
    await deployment.advance(5_000);
    const running = rows("_scheduled_functions").filter(({ state }) => state.kind === "inProgress");
    expect(running.length).toBeLessThanOrEqual(6);
    await deployment.drive();
    atRest();
  });

  test("a lone short work costs no drain", async () => {
    const { deployment } = await deployed(6, S16);
    await deployment.advance(120_000);
    const names: string[] = [];
    deployment.onHappening((event) => {
      if (event.what === "committed") names.push(event.path.name);
    });
    deployment.at(0, () => deployment.mutation("calls:size", { bytes: 10 }));
    await deployment.drive();
    expect(names).toContain("complete:complete");
    expect(names).not.toContain("watchdog:drainQueue");
  });
});
