import { expect, test } from "vitest";
import { api } from "../convex/_generated/api";
import { workflows } from "../convex/_workflows/index";
import { newApp } from "./app";

const { approveExpense } = workflows;

/** An expense that was just handed in; `done` tells what happened, and on which day. */
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
    employee: "ada",
    manager: "grace",
  });
  const [runId = ""] = await kit.runsOf(approveExpense);
  const state = async () =>
    (await t.run(async (ctx) => await ctx.db.get("expenses", expenseId)))?.state;
  const decide = async (approved: boolean) =>
    await t.mutation(api.expenses.decide, { expenseId, approved });
  return { kit, done, runId, state, decide };
}

test("what is approved after a reminder is paid", async () => {
  const { kit, done, runId, state, decide } = await newExpense();
  expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "event", node: "asked.decision" }]);
  await kit.pass("1 day");
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

test("what is rejected is not paid", async () => {
  const { kit, done, state, decide } = await newExpense();
  await kit.settle();
  await decide(false);
  await kit.settle();
  expect(done).toEqual(["day 0: grace is asked, 1", "day 0: refused"]);
  expect(await state()).toBe("rejected");
});

test("what nobody decides is escalated after six days and three mails", async () => {
  const { kit, done, runId, state } = await newExpense();
  await kit.runToEnd(approveExpense, runId);
  expect(done.slice(1)).toEqual([
    "day 2: grace is asked, 2",
    "day 4: grace is asked, 3",
    "day 6: escalated",
  ]);
  expect(await state()).toBe("escalated");
});

test("a decision that comes too late is refused, and says why", async () => {
  const { kit, runId, state, decide } = await newExpense();
  await kit.runToEnd(approveExpense, runId);
  await expect(decide(true)).rejects.toThrow(/completed/);
  expect(await state()).toBe("escalated");
});
