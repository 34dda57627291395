import { expect, test } from "vitest";
import { api } from "../convex/_generated/api";
import { workflows } from "../convex/_workflows/index";
import { newApp } from "./app";

const { approveExpense } = workflows;

/** A submitted expense; `done` lists what happened, with the days. */
async function newExpense() {
  const { t, kit, days } = newApp();
  const done: string[] = [];
  const note = (what: string) => void done.push(`day ${days()}: ${what}`);
  kit.stub(approveExpense, "asked.mail", ({ loop, expense }) =>
    note(`${expense.manager} is asked, ${loop.iteration}`),
  );
  kit.stub(approveExpense, "consequence.approved.payment", ({ expense }) =>
    note(`${expense.employee} gets ${expense.cents}`),
  );
  kit.stub(approveExpense, "consequence.rejected.refusal", () => note("refused"));
  kit.stub(approveExpense, "consequence.escalated.escalation", () => note("escalated"));
  const expenseId = await t.mutation(api.expenses.submit, {
    what: "A train to Bern",
    cents: 12_300,
    manager: "grace",
  });
  const [runId = ""] = await kit.runsOf(approveExpense);
  const state = async () =>
    (await t.run(async (ctx) => await ctx.db.get("expenses", expenseId)))?.state;
  const decide = async (approved: boolean) =>
    await t
      .withIdentity({ subject: "grace" })
      .mutation(api.expenses.decide, { expenseId, approved });
  return { t, expenseId, kit, done, runId, state, decide };
}

test("an expense that is approved after a reminder is paid", async () => {
  const { kit, done, runId, state, decide } = await newExpense();
  expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "event", node: "asked.decision" }]);
  await kit.advance("1 day");
  await decide(true);
  await kit.settle();
  expect(done).toEqual([
    "day 0: grace is asked, 1",
    "day 2: grace is asked, 2",
    "day 3: ada gets 12300",
  ]);
  expect(await state()).toBe("approved");
  expect(await kit.runToEnd(approveExpense, runId)).toMatchObject({ state: "completed" });
});

test("an expense that is rejected is not paid", async () => {
  const { kit, done, state, decide } = await newExpense();
  await kit.settle();
  await decide(false);
  await kit.settle();
  expect(done).toEqual(["day 0: grace is asked, 1", "day 0: refused"]);
  expect(await state()).toBe("rejected");
});

test("an expense that nobody decides on is escalated after six days and three mails", async () => {
  const { kit, done, runId, state } = await newExpense();
  await kit.runToEnd(approveExpense, runId);
  expect(done.slice(1)).toEqual([
    "day 2: grace is asked, 2",
    "day 4: grace is asked, 3",
    "day 6: escalated",
  ]);
  expect(await state()).toBe("escalated");
});

test("a decision that comes too late is refused with the reason", async () => {
  const { kit, runId, state, decide } = await newExpense();
  await kit.runToEnd(approveExpense, runId);
  await expect(decide(true)).rejects.toThrow(/completed/);
  expect(await state()).toBe("escalated");
});

test("only the manager decides, and only those involved see the run", async () => {
  const { t, expenseId, kit } = await newExpense();
  await kit.settle();
  const decision = { expenseId, approved: true };
  await expect(t.mutation(api.expenses.decide, decision)).rejects.toThrow("Only the manager");
  expect(await t.query(api.expenses.status, { expenseId })).toMatchObject({
    state: "running",
    active: [{ node: "asked" }, { node: "asked.decision", events: ["decision"] }],
  });
  const steps = await t.query(api.expenses.timeline, { expenseId });
  expect(steps.map(({ node }) => node)).toContain("asked.mail");
  expect(steps.filter((step) => "output" in step)).toEqual([]);
  const other = t.withIdentity({ subject: "eve" });
  await expect(other.query(api.expenses.timeline, { expenseId })).rejects.toThrow("not your");
  expect(await other.query(api.expenses.list, {})).toEqual([]);
});
