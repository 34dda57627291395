import { readFileSync } from "node:fs";
import { register } from "@stepwise/workflow/test";
import { Counter, vitestTimers } from "@stepwise/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { api } from "../convex/_generated/api";
import type { Id } from "../convex/_generated/dataModel";
import { workflow, workflows } from "../convex/_workflows/index";
import schema from "../convex/schema";
import { analyzeText } from "../convex/text";

const modules = import.meta.glob(["../convex/**/*.ts", "../convex/**/*.js"]);
const licence = readFileSync(new URL("../input/gpl-3.txt", import.meta.url), "utf8");

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function app() {
  const counter = new Counter();
  const visitor = counter.convexTest({ schema, modules });
  register(visitor);
  const t = visitor.withIdentity({ name: "Ada" });
  const upload = async (text: string) =>
    await t.run(async (ctx) => await ctx.storage.store(new Blob([text])));
  const finish = async (runId: string) => {
    await counter.drive({
      timers: vitestTimers(vi),
      done: async () => (await t.query(api.documents.progress, { runId }))?.state !== "running",
      patienceMs: 100,
    });
    expect(counter.violations).toEqual([]);
    return await t.query(api.documents.progress, { runId });
  };
  return { t, counter, upload, finish };
}

test("an uploaded document gets one report, on all its sections", async () => {
  const { t, upload, finish } = app();
  const storageId = await upload(licence);
  const runId = await t.mutation(api.documents.upload, { title: "GPL", storageId });
  expect(await t.query(api.documents.report, { storageId })).toBeNull();
  expect(await finish(runId)).toMatchObject({ state: "completed", words: 5607 });
  const report = await t.query(api.documents.report, { storageId });
  expect(report).toMatchObject({ title: "GPL", sections: 19 });
  expect(report?.analysis.longestSentence).toEqual(analyzeText(licence).longestSentence);
});

test("the same document analysed twice is one run and one report", async () => {
  const { t, upload, finish } = app();
  const storageId = await upload("1. One.\n\nA text.\n\n2. Two.\n\nAnother text.");
  const first = await t.mutation(api.documents.upload, { title: "Text", storageId });
  await finish(first);
  expect(await t.mutation(api.documents.upload, { title: "Text", storageId })).toBe(first);
  expect(await t.run(async (ctx) => await ctx.db.query("reports").collect())).toHaveLength(1);
});

test("a section whose first attempt fails is analysed at the second, and nothing is missing", async () => {
  const { t, upload, finish } = app();
  const input = { title: "GPL", storageId: await upload(licence), rehearseFaultIn: 4 };
  const runId = await t.mutation(
    async (ctx) => await workflow.start(ctx, workflows.analyzeDocument, input),
  );
  expect(await finish(runId)).toMatchObject({ state: "completed", words: 5607 });
});

test("a document without text has an empty report", async () => {
  const { t, upload, finish } = app();
  const storageId = await upload("");
  const runId = await t.mutation(api.documents.upload, { title: "Empty", storageId });
  expect(await finish(runId)).toMatchObject({ state: "completed", words: 0 });
});

test("a file that is not there fails the run, saying so", async () => {
  const { t, upload, finish } = app();
  const storageId = await upload("gone soon");
  await t.run(async (ctx) => await ctx.storage.delete(storageId as Id<"_storage">));
  const runId = await t.mutation(api.documents.upload, { title: "Gone", storageId });
  expect(await finish(runId)).toMatchObject({
    state: "failed",
    error: expect.stringContaining("There is no file"),
  });
});

test("a document without a title is refused", async () => {
  const { t, upload } = app();
  const storageId = await upload("text");
  await expect(t.mutation(api.documents.upload, { title: "", storageId })).rejects.toThrow(
    /analyzeDocument.*[^]*input\.title/,
  );
});

test("nothing is known of a run that never was", async () => {
  const { t } = app();
  expect(await t.query(api.documents.progress, { runId: "nothing" })).toBeNull();
});
