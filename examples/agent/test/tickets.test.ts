import { expect, test } from "vitest";
import { api } from "../convex/_generated/api";
import { workflows } from "../convex/_workflows/index";
import { newApp } from "./app";

const { support } = workflows;

/** A customer's question; the model answers by this script, turn by turn. */
async function newTicket() {
  const { t, kit } = newApp();
  const refunds: string[] = [];
  const heard: string[] = [];
  const script = [
    { text: "I look.", tool: { name: "findOrder" as const, orderId: "A-17" } },
    { text: "I refund it.", tool: { name: "refund" as const, orderId: "A-17" } },
    { text: "Done.", tool: null },
  ];
  kit.stub(support, "turns.reply", ({ loop }) => {
    heard.push(loop.state.messages.at(-1)?.text ?? "");
    return script[loop.iteration - 1]!;
  });
  kit.stub(support, "turns.next.refund.refunded", ({ reply, approval }) => {
    if (approval.timedOut || !approval.event.approved) return "nobody has approved this refund";
    refunds.push(reply.tool?.orderId ?? "");
    return "refunded";
  });
  await t.run(async (ctx) => {
    await ctx.db.insert("orders", { number: "A-17", what: "a kettle", state: "lost" });
  });
  const ticketId = await t.mutation(api.tickets.ask, { question: "Where is A-17?" });
  const [runId = ""] = await kit.runsOf(support);
  await kit.settle();
  const colleague = t.withIdentity({ subject: "grace", role: "colleague" });
  const decide = async (approved: boolean) =>
    await colleague.mutation(api.tickets.decide, { ticketId, approved });
  const progress = async () => await t.query(api.tickets.progress, { ticketId });
  return { t, kit, ticketId, runId, refunds, heard, decide, progress };
}

test("the agent uses tools, and refunds only after a colleague approved", async () => {
  const { kit, runId, refunds, heard, decide, progress } = await newTicket();
  expect(await progress()).toEqual({ answer: null, waitsForApproval: true });
  expect(refunds).toEqual([]);
  await decide(true);
  expect(await kit.runToEnd(support, runId)).toMatchObject({ state: "completed", output: "Done." });
  expect(refunds).toEqual(["A-17"]);
  expect(heard).toEqual(["Where is A-17?", "a kettle: lost", "refunded"]);
  expect(await progress()).toEqual({ answer: "Done.", waitsForApproval: false });
});

test.each(["refused", "ignored for a day"])("a refund that is %s is not made", async (how) => {
  const { kit, runId, refunds, heard, decide } = await newTicket();
  if (how === "refused") await decide(false);
  expect(await kit.runToEnd(support, runId)).toMatchObject({ state: "completed" });
  expect(refunds).toEqual([]);
  expect(heard.at(-1)).toBe("nobody has approved this refund");
});

test("a customer cannot approve a refund, nor see another customer's question", async () => {
  const { t, ticketId } = await newTicket();
  await expect(t.mutation(api.tickets.decide, { ticketId, approved: true })).rejects.toThrow(
    "Only colleagues",
  );
  const other = t.withIdentity({ subject: "grace" });
  await expect(other.query(api.tickets.progress, { ticketId })).rejects.toThrow(
    "not your question",
  );
});
