/** @module-tag large */
import { expect, test } from "vitest";
import type { ListedRun, Page } from "../src/index.js";
import { internal } from "./convex/_generated/api.js";
import { useTestApp } from "./harness.js";

const use = useTestApp();

async function list(filter: object, cursor: string | null = null, numItems = 100) {
  return (await use.app.counter.uncounted(() =>
    use.app.t.query(internal.manager.list, { filter, page: { numItems, cursor } }),
  )) as unknown as Page<ListedRun>;
}
const ids = async (filter: object) => (await list(filter)).page.map(({ runId }) => runId);
const rows = async () => await use.app.inComponent((ctx) => ctx.db.query("tags").collect());

test("[S182] a run has the tags of its input and of its steps, and is listed by each, the newest first", async () => {
  const one = await use.app.start("tagging", { org: "acme", plan: "free" });
  const tags = { org: "acme", plan: "free", seats: 1 };
  expect((await list({ tag: { plan: "free" } })).page).toMatchObject([{ runId: one, tags }]);
  await use.app.advance(1);
  const two = await use.app.start("tagging", { org: "acme", seats: 20 });
  const evil = await use.app.start("tagging", { org: "evil" });
  await use.app.drive();
  expect(await ids({ tag: { org: "acme" } })).toEqual([two, one]);
  expect(await ids({ tag: { org: "acme" }, state: "failed" })).toEqual([]);
  expect(await ids({ tag: { org: "acme" }, workflow: "leaf" })).toEqual([]);
  expect(await ids({ tag: { risk: true } })).toEqual([evil]);
  expect(await ids({ tag: { seats: 20 } })).toEqual([two]);
  expect(await ids({ tag: { seats: "20" } })).toEqual([]);
  // The step has changed what the start had given, and the branch has tagged the run around it.
  expect(await ids({ tag: { plan: "free" } })).toEqual([]);
  const later = { org: "acme", plan: "large", risk: false, seats: 20, side: 1 };
  expect((await use.app.status("tagging", two))?.tags).toEqual(later);
  const first = await list({ tag: { org: "acme" } }, null, 1);
  const second = await list({ tag: { org: "acme" } }, first.continueCursor, 1);
  expect([...first.page, ...second.page].map(({ runId }) => runId)).toEqual([two, one]);
  await expect(list({ tag: { org: "acme" }, parent: one })).rejects.toThrow(/not by two of them/);
  for (const tag of [{}, "acme"]) await expect(list({ tag })).rejects.toThrow(/one tag, such as/);
});

test("[S182] a restart with another input changes them, and a removal takes them with the run", async () => {
  const id = await use.app.start("tagging", { org: "acme" });
  await use.app.drive();
  const again = { name: "tagging", runId: id, input: { org: "other" } };
  await use.app.t.mutation(internal.manager.restart, again);
  expect(await ids({ tag: { org: "other" } })).toEqual([id]);
  expect(await ids({ tag: { org: "acme" } })).toEqual([]);
  await use.app.drive();
  await use.app.t.mutation(internal.manager.cleanup, { runId: id });
  await use.app.drive();
  expect(await rows()).toEqual([]);
  const forgotten = { name: "tagging", input: { org: "acme" }, isForgetful: true };
  await use.app.t.mutation(internal.manager.start, forgotten);
  await use.app.drive();
  expect(await ids({})).toEqual([]);
  expect(await rows()).toEqual([]);
});

test("[S182] tags cost a row each, and nothing where there are none", async () => {
  const costs = async (name: string) => {
    use.app.counter.clear();
    const id = await use.app.t.mutation(internal.manager.start, { name, input: { org: "a" } });
    const { documentsRead, documentsWritten } = use.app.counter.totals();
    await use.app.drive();
    use.app.counter.clear();
    await use.app.t.mutation(internal.manager.cleanup, { runId: id });
    return { documentsRead, documentsWritten, removal: use.app.counter.totals() };
  };
  await costs("untagged");
  const none = await costs("untagged");
  // Its input is the same, and its first step is of the same kind.
  const tagged = await costs("tagging");
  expect(tagged.documentsRead).toBe(none.documentsRead);
  expect(tagged.documentsWritten - none.documentsWritten).toBe(2);
  expect(tagged.removal.documentsRead).toBeGreaterThan(none.removal.documentsRead);
});

test("[S182] a tag reads nothing that is sensitive, and is a name with a short value", async () => {
  const cards = [{ number: "4711" }];
  const start = async (name: string, input: unknown) =>
    await use.app.t.mutation(internal.manager.start, { name, input });
  await start("tagsSecrets", { org: "acme", cards });
  expect(await rows()).toMatchObject([{ name: "org", value: "acme" }]);
  await expect(start("tagsSecrets", { org: "leaky", cards })).rejects.toThrow(
    'The tags of workflow "tagsSecrets" read input.cards.number, which is sensitive',
  );
  const many = Object.fromEntries(Array.from({ length: 11 }, (_none, n) => [`t${n}`, n]));
  for (const [tags, problem] of [
    [many, "are 11: a run may have 10"],
    [{ a: { b: 1 } }, 'A tag of workflow "tagsWrongly", "a", is'],
    [{ a: "x".repeat(257) }, "a text of up to 256 characters"],
    [{ "": 1 }, "has the name"],
    // Tags are shown as fields, and these would be none.
    [{ $seats: 1 }, 'has the name "$seats"'],
    [{ _seats: 1 }, 'has the name "_seats"'],
  ] as const)
    await expect(start("tagsWrongly", { tags: Object.entries(tags) })).rejects.toThrow(problem);
  const asked = await use.app.start("tagsWrongly", { tags: [] });
  await use.app.drive();
  expect(await use.app.status("tagsWrongly", asked)).toMatchObject({
    state: "failed",
    error: { message: expect.stringContaining("A query cannot tag") },
  });
});

test("[S182] the step that gives a run its eleventh tag fails", async () => {
  const id = await use.app.start("tagsEach", {});
  await use.app.drive();
  expect(await use.app.status("tagsEach", id)).toMatchObject({
    state: "failed",
    error: { message: expect.stringMatching(/would have 11 tags: it may have 10/) as string },
  });
});
