import { expect, test } from "vitest";
import { api } from "../convex/_generated/api";
import { workflows } from "../convex/_workflows/index";
import { newApp } from "./app";

const { drip } = workflows;

/** A lead that has just signed up; `sent` lists the mails with their days. */
async function newLead() {
  const { t, kit, days } = newApp();
  const sent: string[] = [];
  const send = (mail: string) => void sent.push(`day ${days()}: ${mail}`);
  kit.stub(drip, "mails.mail", ({ loop }) => send(`mail ${loop.iteration}`));
  kit.stub(drip, "ending.customer.thanks", () => send("thanks"));
  const leadId = await t.mutation(api.leads.signUp, { email: "ada@example.com" });
  const [runId = ""] = await kit.runsOf(drip);
  const lead = async () => await t.run(async (ctx) => await ctx.db.get("leads", leadId));
  const convert = async () => await t.mutation(api.leads.convert, { leadId, plan: "pro" });
  return { t, kit, sent, runId, lead, convert };
}

test("a lead that does not answer gets all mails, three days apart, and is shelved", async () => {
  const { kit, sent, runId, lead } = await newLead();
  expect(await kit.runToEnd(drip, runId)).toMatchObject({ state: "completed" });
  expect(sent).toEqual(["day 0: mail 1", "day 3: mail 2", "day 6: mail 3", "day 9: mail 4"]);
  expect(await lead()).toMatchObject({ state: "cold", mailsSent: 4 });
});

test("a lead who becomes a customer gets no more mails, except a thank-you", async () => {
  const { kit, sent, runId, lead, convert } = await newLead();
  await kit.advance("4 days");
  await convert();
  await kit.settle();
  expect(sent).toEqual(["day 0: mail 1", "day 3: mail 2", "day 4: thanks"]);
  expect(await kit.timeline(runId)).toEqual([
    "mails completed",
    "mails.mail #1 completed",
    "mails.converted #1 timed out",
    "mails.noted #1 completed",
    "mails.mail #2 completed",
    "mails.converted #2 completed",
    "mails.noted #2 completed",
    "ending completed",
    "ending.customer.thanks completed",
  ]);
  expect(await kit.skipToNextTimer()).toEqual([]);
  expect(await lead()).toMatchObject({ state: "customer", mailsSent: 2 });
});

test("a conversion that comes while a mail is retried is not lost", async () => {
  const { kit, sent, runId, convert } = await newLead();
  kit.stub(drip, "mails.mail", (_scope, { attempt }) => {
    if (attempt < 3) throw new Error("The mail server is down");
  });
  expect(await kit.skipToNextTimer()).toMatchObject([{ kind: "retry", node: "mails.mail" }]);
  await convert();
  expect(await kit.runToEnd(drip, runId)).toMatchObject({ state: "completed" });
  expect(sent).toEqual([expect.stringContaining("thanks")]);
  expect((await kit.timeline(runId))[1]).toBe("mails.mail #1 completed, 3 attempts");
});

test("a lead can become a customer after the last mail", async () => {
  const { kit, runId, lead, convert } = await newLead();
  await kit.runToEnd(drip, runId);
  await convert();
  expect(await lead()).toMatchObject({ state: "customer" });
});
