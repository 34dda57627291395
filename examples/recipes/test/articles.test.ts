import { expect, test } from "vitest";
import { api } from "../convex/_generated/api";
import { workflows } from "../convex/_workflows/index";
import { newApp } from "./app";

const { research, writeArticle } = workflows;

/** An agent whose reviewer is content with the draft of a number. */
async function newArticle({ questions = ["why", "how", "who"], goodDraft = 2 } = {}) {
  const { t, kit, hours } = newApp();
  kit.stub(writeArticle, "questions", () => questions);
  kit.stub(research, "pages", ({ input }) => [`https://example.com/${input.question}`]);
  kit.stub(research, "answer", ({ input }) => `because of ${input.question}`);
  kit.stub(writeArticle, "draft.text", ({ findings, loop }) =>
    loop.iteration === 1
      ? findings.map(({ text }) => text).join(", ")
      : `${loop.state.text}; ${loop.state.notes}`,
  );
  kit.stub(writeArticle, "draft.reviewed", ({ text, loop }) => ({
    text,
    isGood: loop.iteration === goodDraft,
    notes: `note ${loop.iteration}`,
  }));
  const runId = await t.mutation(api.articles.order, { topic: "rivers" });
  const articles = async () => await t.run(async (ctx) => await ctx.db.query("articles").collect());
  return { t, kit, hours, runId, articles };
}

test("planned, researched, written, revised by the reviewer's notes", async () => {
  const { kit, runId, articles } = await newArticle();
  expect(await kit.runToEnd(writeArticle, runId)).toMatchObject({ state: "completed" });
  expect(await articles()).toMatchObject([
    {
      text: "because of why, because of how, because of who; note 1",
      sources: ["https://example.com/why", "https://example.com/how", "https://example.com/who"],
      isGood: true,
    },
  ]);
  expect(await kit.timeline(runId)).toEqual([
    "questions completed",
    "findings completed",
    "  [0..2] research completed",
    "    pages completed",
    "    answer completed",
    "    finalize completed",
    "findings.finalize completed",
    "draft completed",
    "draft.text #1 completed",
    "draft.reviewed #1 completed",
    "draft.text #2 completed",
    "draft.reviewed #2 completed",
    "finalize completed",
  ]);
});

test("after three drafts it is good enough, and says that it is not good", async () => {
  const { kit, runId, articles } = await newArticle({ goodDraft: 4 });
  await kit.runToEnd(writeArticle, runId);
  expect(await articles()).toMatchObject([
    { isGood: false, text: expect.stringContaining("note 2") },
  ]);
  expect(await kit.timeline(runId)).toContain("draft.reviewed #3 completed");
});

test("a question that cannot be answered is left out", async () => {
  const { kit, runId, articles } = await newArticle();
  kit.stub(research, "answer", ({ input }) => {
    if (input.question === "how") throw new Error("no idea");
    return input.question;
  });
  await kit.runToEnd(writeArticle, runId);
  expect((await articles())[0]?.sources).toHaveLength(2);
});

test("an agent that finds out nothing writes nothing", async () => {
  const { kit, runId, articles } = await newArticle();
  kit.stub(research, "pages", () => {
    throw new Error("The search is down");
  });
  expect(await kit.runToEnd(writeArticle, runId)).toMatchObject({
    state: "failed",
    error: { kind: "childFailed", cause: { message: "The search is down", attempt: 3 } },
  });
  expect(await articles()).toEqual([]);
});

test("a model that hangs is given up after two minutes, and asked again", async () => {
  const { t, kit, runId, hours } = await newArticle({ questions: ["why"] });
  kit.stub(writeArticle, "questions", async (_scope, { attempt }) => {
    if (attempt === 1) await new Promise(() => {});
    return ["why"];
  });
  await kit.settle();
  expect(await t.query(api.articles.doing, { runId })).toEqual(["questions"]);
  await kit.runToEnd(writeArticle, runId);
  expect(hours() * 60).toBeGreaterThan(2);
  expect(hours() * 60).toBeLessThan(2.1);
  expect(await kit.timeline(runId)).toContain("questions completed, 2 attempts");
});

test("all together it may take an hour", async () => {
  const { kit, runId, hours, articles } = await newArticle();
  kit.stub(research, "pages", async () => await new Promise<never>(() => {}));
  expect(await kit.runToEnd(writeArticle, runId)).toMatchObject({ state: "timedOut" });
  expect(hours()).toBe(1);
  expect(await articles()).toEqual([]);
});
