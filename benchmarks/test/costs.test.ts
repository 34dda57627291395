/** @module-tag large */
import { installTimers, type InstalledTimers } from "@stepwise/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type App, loadOurs } from "../src/apps.js";
import { BackEnd } from "../src/back-end.js";
import type { Chain } from "../src/chain-definitions.js";
import { costOfStep } from "../src/cost.js";
import { Measurement } from "../src/measure.js";

const LENGTHS = [10, 50, 200];
const ACTIONS = ["inlineAction", "referencedAction"] as const;
const FUSED = ["mutation", "query"] as const;
/** Where every step has a transaction of its own. */
const SEPARATE = [...ACTIONS, "isolatedMutation"] as const;

const chains: Chain[] = [
  ...[...SEPARATE, ...FUSED].flatMap((kind) => lengthsOf(kind, [1, ...LENGTHS])),
  ...FUSED.flatMap((kind) => lengthsOf(kind, [20, 40, 180])),
  ...lengthsOf("busyAction", [1, 10]),
  ...lengthsOf("failingAction", [1, 10]),
  ...lengthsOf("fanOut", [1, 100, 1_000]),
  ...lengthsOf("items", [1, 100, 1_000]),
  ...lengthsOf("readingItems", [1, 100]),
  ...lengthsOf("branches", [1, 10, 100]),
  ...lengthsOf("queryBranches", [1, 10]),
  ...lengthsOf("mixedBranches", [1, 10]),
  ...lengthsOf("pairs", [1, 5]),
  ...lengthsOf("cases", [1, 10]),
];

function lengthsOf(kind: Chain["kind"], lengths: readonly number[]): Chain[] {
  return lengths.map((length) => ({ kind, length }));
}

let app: App;
let timers: InstalledTimers;
let measured: Measurement;

beforeAll(async () => {
  app = await loadOurs(chains, ["@convex-dev/component-source"]);
  timers = installTimers({ now: Date.UTC(2030, 0) });
  measured = new Measurement(app, timers);
});
afterAll(() => timers.uninstall());

describe.each(LENGTHS)("in a chain of %i steps", (length) => {
  test("an inline action step takes at most 2 root executions and 4 in all", async () => {
    const step = await measured.step("inlineAction", length);
    expect(step.rootExecutions).toBeLessThanOrEqual(2);
    expect(step.executions).toBeLessThanOrEqual(4);
  });

  test("a referenced action step takes at most 3 root executions", async () => {
    const step = await measured.step("referencedAction", length);
    expect(step.rootExecutions).toBeLessThanOrEqual(3);
  });

  test.each(ACTIONS)(
    "a step that is an %s reads at most 6 documents, writes at most 4",
    async (kind) => {
      const step = await measured.step(kind, length);
      expect(step.documentsRead).toBeLessThanOrEqual(6);
      expect(step.documentsWritten).toBeLessThanOrEqual(4);
    },
  );

  test.each(FUSED)(
    "a fused %s step takes at most 0.1 root executions and 1.5 in all, and writes at most 1.5 documents",
    async (kind) => {
      const step = await measured.step(kind, length);
      expect(step.rootExecutions).toBeLessThanOrEqual(0.1);
      expect(step.executions).toBeLessThanOrEqual(1.5);
      expect(step.documentsWritten).toBeLessThanOrEqual(1.5);
    },
  );

  test("an isolated mutation step takes at most 1 root execution and 3 in all, and reads at most 4 documents", async () => {
    const step = await measured.step("isolatedMutation", length);
    expect(step.rootExecutions).toBeLessThanOrEqual(1);
    expect(step.executions).toBeLessThanOrEqual(3);
    expect(step.documentsRead).toBeLessThanOrEqual(4);
    expect(step.kbRead).toBeLessThanOrEqual(1);
  });

  // What a step reads was handed on with its call, so nothing of this is what it reads itself.
  test.each([...SEPARATE, ...FUSED])("a step that is a %s reads at most 1.5 KB", async (kind) => {
    expect((await measured.step(kind, length)).kbRead).toBeLessThanOrEqual(1.5);
  });

  test.each([...SEPARATE, ...FUSED])("no time passes between steps that are %s", async (kind) => {
    expect((await measured.run(kind, length)).virtualMs).toBe(0);
  });

  test.each([...SEPARATE, ...FUSED])(
    "after the end of a run of %s nothing runs any more",
    async (kind) => {
      // One last sweep after a burst is what watching may take.
      expect((await measured.run(kind, length)).afterwards.rootExecutions).toBeLessThanOrEqual(1);
    },
  );
});

describe("a step costs the same in a long run as in a short one", () => {
  const COUNTS = [
    "rootExecutions",
    "executions",
    "documentsRead",
    "documentsWritten",
    "kbRead",
  ] as const;

  test.each(SEPARATE.flatMap((kind) => COUNTS.map((count) => [kind, count] as const)))(
    "%s: %s at 200 steps as at 10",
    async (kind, count) => {
      const [short, long] = [await measured.step(kind, 10), await measured.step(kind, 200)];
      expect(short[count]).toBeGreaterThan(0);
      expect(difference(short[count], long[count])).toBeLessThan(0.02);
    },
  );

  // Twenty steps share a transaction, so twenty are compared with twenty.
  test.each(FUSED.flatMap((kind) => COUNTS.map((count) => [kind, count] as const)))(
    "fused %s: %s of the steps from 181 to 200 as of those from 21 to 40",
    async (kind, count) => {
      const step = async (from: number, to: number) =>
        costOfStep(await measured.run(kind, to), await measured.run(kind, from), to - from)[count];
      const [short, long] = [await step(20, 40), await step(180, 200)];
      expect(short).toBeGreaterThan(0);
      expect(difference(short, long)).toBeLessThan(0.02);
    },
  );
});

describe("a child of a fan-out, or an item of an each, with a single action", () => {
  test.each(["fanOut", "items"] as const)(
    "[S250] %s: of 1,000 takes at most 2.2 root executions, reads at most 12 documents and writes at most 6",
    { tags: ["large"] },
    async (shape) => {
      const each = await measured.shape(shape, 1_000);
      expect(each.rootExecutions).toBeLessThanOrEqual(2.2);
      expect(each.documentsRead).toBeLessThanOrEqual(12);
      expect(each.documentsWritten).toBeLessThanOrEqual(6);
      const ofFewer = await measured.shape(shape, 100);
      expect(each.documentsRead / ofFewer.documentsRead).toBeLessThan(1.1);
      expect(each.documentsWritten / ofFewer.documentsWritten).toBeLessThan(1.1);
    },
  );
});

test.each([10, 100])(
  "[S250] a branch of a parallel of %i takes at most 2.2 root executions, reads at most 12 documents and writes at most 6",
  async (branches) => {
    const each = await measured.shape("branches", branches);
    expect(each.rootExecutions).toBeLessThanOrEqual(2.2);
    expect(each.documentsRead).toBeLessThanOrEqual(12);
    expect(each.documentsWritten).toBeLessThanOrEqual(6);
  },
);

test("[S240] a parallel of two queries takes no root execution, nor does one more branch that is a query", async () => {
  expect((await measured.shape("pairs", 5)).rootExecutions).toBe(0);
  const branch = await measured.shape("queryBranches", 10);
  expect(branch.rootExecutions).toBe(0);
  expect(branch.documentsRead).toBeLessThanOrEqual(9);
  expect(branch.documentsWritten).toBeLessThanOrEqual(4);
  expect((await measured.shape("mixedBranches", 10)).rootExecutions).toBe(2);
});

test("[S252] one more case of a race of 10, which is canceled, takes at most 1 root execution, reads at most 14 documents and writes at most 6", async () => {
  const each = await measured.shape("cases", 10);
  expect(each.rootExecutions).toBeLessThanOrEqual(1);
  expect(each.documentsRead).toBeLessThanOrEqual(14);
  expect(each.documentsWritten).toBeLessThanOrEqual(6);
});

test("[S250] an item that reads a value from around it reads one document more, and writes none", async () => {
  const [alone, reading] = [
    await measured.shape("items", 100),
    await measured.shape("readingItems", 100),
  ];
  expect(reading.documentsRead - alone.documentsRead).toBeLessThan(1.1);
  expect(reading.documentsWritten).toBeCloseTo(alone.documentsWritten, 1);
  expect(reading.rootExecutions).toBeCloseTo(alone.rootExecutions, 1);
});

describe("on a pool that is warm", () => {
  test.each([...SEPARATE, ...FUSED])(
    "start and end of a run of %s together read at most 12 documents and write at most 10",
    async (kind) => {
      const back = new BackEnd(app, timers);
      await back.runChain(kind, 1);
      const short = await back.runChain(kind, 1);
      const step = costOfStep(await back.runChain(kind, 10), short, 9);
      expect(short.totals.documentsRead - step.documentsRead).toBeLessThanOrEqual(12);
      expect(short.totals.documentsWritten - step.documentsWritten).toBeLessThanOrEqual(10);
    },
  );

  test("a second run takes no more than the first, but for reading what the watchdog left", async () => {
    const back = new BackEnd(app, timers);
    const [first, second] = [
      await back.runChain("inlineAction", 10),
      await back.runChain("inlineAction", 10),
    ];
    for (const count of ["rootExecutions", "executions", "documentsWritten"] as const)
      expect(second.totals[count]).toBeLessThanOrEqual(first.totals[count]);
    expect(second.totals.documentsRead).toBeLessThanOrEqual(first.totals.documentsRead + 3);
  });
});

describe("what is added by what goes on in a step", () => {
  test("a retry takes 1 root execution besides those of its attempt", async () => {
    const attempt = await measured.step("inlineAction", 10);
    const step = await measured.step("failingAction", 10);
    expect(step.rootExecutions).toBeLessThanOrEqual(2 * attempt.rootExecutions + 1);
  });

  test("a retry is waited for: as long as its backoff", async () => {
    const { waitMs } = await measured.step("failingAction", 10);
    // 100 ms, times a random factor from 0.5 to 1.5.
    expect(waitMs).toBeGreaterThanOrEqual(50);
    expect(waitMs).toBeLessThanOrEqual(150);
  });

  test.each([7, 250, 10_000])("an action of %i ms is followed by the next at once", async (ms) => {
    expect((await measured.run("busyAction", 10, ms)).virtualMs).toBe(10 * ms);
  });

  test("half an hour of actions takes at most 6 root executions more than a moment, to watch them", async () => {
    const executions = async (ms: number) =>
      (await measured.run("busyAction", 10, ms)).totals.rootExecutions;
    const watching = (await executions(180_000)) - (await executions(7));
    expect(watching).toBeGreaterThan(0);
    expect(watching).toBeLessThanOrEqual(6);
  });
});

describe("a sweep of the watchdog takes 2 executions, nested ones too", () => {
  test("the last one, after a run", async () => {
    expect((await measured.afterwards("inlineAction", 10)).executions).toBeLessThanOrEqual(2);
  });

  test("each of those during half an hour of actions", async () => {
    const { totals } = await measured.run("busyAction", 10, 180_000);
    const shorter = await measured.run("busyAction", 10, 7);
    const sweeps = totals.rootExecutions - shorter.totals.rootExecutions;
    expect(totals.executions - shorter.totals.executions).toBeLessThanOrEqual(2 * sweeps);
  });
});

describe("when nothing is left to do", () => {
  test.each(chains.filter(({ length }) => length === 10))(
    "no job of a run of $kind is pending, and no limit of a deployment was exceeded",
    async ({ kind, length }) => {
      const back = new BackEnd(app, timers);
      await back.runChain(kind, length);
      expect(await back.pendingJobs()).toBe(0);
      expect(back.counter.violations).toEqual([]);
    },
  );

  test("a job that is pending is seen", async () => {
    const back = new BackEnd(app, timers);
    await back.startChain("inlineAction", 10);
    // The first action, the watchdog, and the one in reserve.
    expect(await back.pendingJobs()).toBe(3);
    expect(timers.nextTimer()).toBe(true);
    await back.counter.drive({ timers });
    expect(await back.pendingJobs()).toBe(0);
  });
});

/** Relative to the first. */
function difference(one: number, other: number): number {
  return Math.abs(other - one) / one;
}
