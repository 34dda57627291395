import { describe, expect, test } from "vitest";
import { api, internal } from "../convex/_generated/api";
import { workflows } from "../convex/_workflows/index";
import crons from "../convex/crons";
import type { CustomerRecord } from "../convex/services";
import { newApp } from "./app";

const { importCustomer, importCustomers } = workflows;

const PAGE = 100;

/** Another system with customers, some of whom no mail reaches. */
function source(count: number, isBad: (index: number) => boolean) {
  const { t, kit } = newApp();
  const records = Array.from({ length: count }, (_, index): CustomerRecord => ({
    id: `c${index}`,
    name: `Customer ${index}`,
    email: isBad(index) ? `nobody${index}` : `c${index}@example.com`,
  }));
  kit.stub(importCustomers, "pages.page", ({ loop }) => {
    const from = Number(loop.state.cursor ?? 0);
    const next = from + PAGE < count ? String(from + PAGE) : null;
    return { records: records.slice(from, from + PAGE), next };
  });
  kit.stub(importCustomer, "checked", ({ input }) => {
    if (!input.email.includes("@")) throw new Error(`No mail arrives at ${input.email}`);
  });
  const begin = async () => await t.mutation(api.imports.begin, { source: "crm" });
  const customers = async () =>
    await t.run(async (ctx) => (await ctx.db.query("customers").collect()).length);
  return { t, kit, begin, customers };
}

test(
  "imports the good ones of 1,000 records in 10 pages, and reports what is wrong with the others",
  { tags: ["large"] },
  async () => {
    const { t, kit, begin, customers } = source(1_000, (index) => index % 100 === 42);
    const runId = await begin();
    expect(await kit.runToEnd(importCustomers, runId)).toMatchObject({
      state: "completed",
      output: { imported: 990, failed: 10 },
    });
    expect(await customers()).toBe(990);
    const { report } = await t.query(api.imports.progress, { runId });
    expect(report?.problems).toHaveLength(10);
    expect(report?.problems[9]).toBe("No mail arrives at nobody942");
    expect((await kit.timeline(runId)).slice(0, 12)).toEqual([
      "pages completed",
      "pages.page #1 completed",
      "pages.customers #1 completed",
      "  [0..41] importCustomer completed",
      "    checked completed",
      "    saved completed",
      "  [42] importCustomer failed",
      "    checked failed, 2 attempts",
      "  [43..99] importCustomer completed",
      "    checked completed",
      "    saved completed",
      "pages.sum #1 completed",
    ]);
  },
);

test("a client sees how far it has come", { tags: ["large"] }, async () => {
  const { t, kit, begin } = source(250, (index) => index === 150);
  const runId = await begin();
  expect(await t.query(api.imports.progress, { runId })).toMatchObject({ page: 0, report: null });
  // The bad one is tried once more, so the second page takes a moment. Where works have waited, the
  // next ones may wait 20 ms for their slots.
  await kit.advance("100ms");
  expect(await t.query(api.imports.progress, { runId })).toMatchObject({
    page: 2,
    done: 99,
    of: 100,
  });
  await kit.runToEnd(importCustomers, runId);
  expect(await t.query(api.imports.progress, { runId })).toMatchObject({
    report: { imported: 249, failed: 1 },
  });
});

test(
  "a source that is mostly wrong stops the import, and what was imported before stays",
  { tags: ["large"] },
  async () => {
    const { kit, begin, customers } = source(300, (index) => index >= 100);
    const runId = await begin();
    expect(await kit.runToEnd(importCustomers, runId)).toMatchObject({
      state: "failed",
      error: { kind: "childFailed", node: "pages.customers" },
    });
    expect(await customers()).toBe(100);
  },
);

test("the same source imported twice gives every customer once", { tags: ["large"] }, async () => {
  const { kit, begin, customers } = source(120, () => false);
  for (const runId of [await begin(), await begin()])
    expect(await kit.runToEnd(importCustomers, runId)).toMatchObject({
      output: { imported: 120, failed: 0 },
    });
  expect(await customers()).toBe(120);
});

test("a page that cannot be fetched at first is fetched again", async () => {
  const { kit, begin } = source(10, () => false);
  kit.stub(importCustomers, "pages.page", (_scope, { attempt }) => {
    if (attempt === 1) throw new Error("503");
    return { records: [], next: null };
  });
  const runId = await begin();
  expect(await kit.runToEnd(importCustomers, runId)).toMatchObject({
    output: { imported: 0, failed: 0 },
  });
});

describe("every night", () => {
  /** Runs the cron of one night. @returns all runs so far. */
  const night = async ({ t, kit }: Pick<ReturnType<typeof source>, "t" | "kit">) => {
    await t.mutation(internal.imports.nightly, { source: "crm" });
    return await kit.runsOf(importCustomers);
  };

  test("the cron calls what starts the import", () => {
    expect(Object.values(crons.crons)).toEqual([
      expect.objectContaining({ name: "imports:nightly", args: [{ source: "crm" }] }),
    ]);
  });

  test("an import that has ended is followed by a new one", async () => {
    const app = source(10, () => false);
    for (const count of [1, 2, 3]) {
      const runs = await night(app);
      expect(runs).toHaveLength(count);
      for (const runId of runs) await app.kit.runToEnd(importCustomers, runId);
    }
  });

  test("an import that failed does not stop the next night's", async () => {
    const app = source(10, () => true);
    const [runId = ""] = await night(app);
    expect(await app.kit.runToEnd(importCustomers, runId)).toMatchObject({ state: "failed" });
    expect(await night(app)).toHaveLength(2);
  });

  test("while one still runs, no other starts beside it", async () => {
    const app = source(10, () => false);
    const first = await night(app);
    expect(await night(app)).toEqual(first);
    await app.kit.runToEnd(importCustomers, first[0] ?? "");
    expect(await night(app)).toHaveLength(2);
  });
});
