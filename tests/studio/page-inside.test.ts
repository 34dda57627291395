/** @module-tag large */
import { describe, expect } from "vitest";
import { convexConfig } from "../../packages/codegen/test/dev-server/app.js";
import { eventually, openStudio, writeShop } from "./app.js";
import { hasBrowser, shown, test as inBrowser } from "./browser.js";

/** Runs of which each part waits, or works, in runs of its own. */
const inside = `
  import { defineWorkflow } from "@stepwise/workflow";
  import { z } from "zod";

  const none = z.object({});
  const said = z.object({ by: z.string() });
  const ofOrg = { input: z.object({ org: z.string() }), limits: { org: ({ input }) => input.org } };
  const held = { action: async () => await globalThis.held };

  export const asks = defineWorkflow({ input: none })
    .each("people", { of: () => [1, 2], body: (b) => b.event("said", { schema: said }) });
  export const rests = defineWorkflow({ input: none }).parallel("both", {
    branches: {
      short: (b) => b.step("pack", { query: () => 1 }).sleep("day", "1d"),
      long: (b) => b.sleep("week", "7d"),
    },
  });
  export const races = defineWorkflow({ input: none }).race("first", {
    cases: {
      paid: (b) => b.sleep("hour", "1h").event("money", { schema: said }),
      lapsed: (b) => b.sleep("year", "365d"),
    },
  });
  export const nested = defineWorkflow({ input: none }).parallel("outer", {
    branches: {
      one: (b) => b.each("inner", { of: () => [1, 2], body: (c) => c.sleep("night", "1d") }),
      two: (b) => b.step("done", { query: () => 2 }),
    },
  });
  export const works = defineWorkflow({ input: none })
    .each("items", { of: () => [1, 2], body: (b) => b.step("work", held) });
  export const dials = defineWorkflow(ofOrg)
    .each("numbers", { of: () => [1, 2], body: (b) => b.step("dial", held) });
  export const single = defineWorkflow({
    input: none,
    one: { key: () => "it", otherwise: "wait" },
  }).sleep("pause", "1d");
  export const parts = defineWorkflow({ input: z.object({ bad: z.number(), many: z.number() }) })
    .each("made", {
      of: ({ input }) => Array.from({ length: input.many }, (_, n) => n),
      tolerate: { failures: 1_000 },
      body: (b) => b
        .step("cut", {
          action: async (_ctx, { each, input }) => {
            if (each.item < input.bad) throw new Error("part " + each.item + " broke");
            return each.item;
          },
        })
        .step("painted", { query: () => 1 }),
    });
`;
const limits = `
  import { defineConfig } from "@stepwise/workflow";
  export default defineConfig({ limits: { org: { perKey: 1, total: 4 } } });
`;

/** What the graph says of each node; undefined of one that no run has reached. */
type Graph = Readonly<Record<string, string | undefined>>;

const test = inBrowser
  // oxlint-disable-next-line no-empty-pattern -- Vitest reads here what is asked for.
  .extend("app", { scope: "file" }, async ({}, { onCleanup }) => {
    const files = { "inside.workflow.ts": inside, "stepwise.config.ts": limits };
    const app = await writeShop(convexConfig(), files);
    onCleanup(() => app.remove());
    return app;
  })
  .extend("studio", { scope: "file" }, async ({ app }, { onCleanup }) => {
    // What holds a slot never ends.
    Object.assign(globalThis, { held: new Promise(() => {}) });
    const studio = await openStudio(app);
    onCleanup(() => studio.close());
    return studio;
  })
  .extend("graph", ({ tab }) => async () => {
    const titles = await tab.locator("figure.stepwise-graph title").allTextContents();
    const said = titles.map((each) => /^(\S+)(?:: (.*))?$/.exec(each) ?? []);
    return Object.fromEntries(said.map(([, name, label]) => [name, label])) as Graph;
  });

describe.skipIf(!hasBrowser)("runs inside a run", () => {
  test("[S270] the page of a run has the same word above it as the list, whatever its parts do", async ({
    page,
    start,
    open,
    ask,
  }) => {
    const isAt = async (runId: string) =>
      await eventually(async () =>
        expect((await ask("/read/place", { runId }))?.path).toEqual(expect.any(String)),
      );
    const runs: [runId: string, word: string][] = [];
    for (const [workflow, input, word] of [
      ["asks", {}, "waiting for an event"],
      ["rests", {}, "sleeping"],
      ["races", {}, "sleeping"],
      ["nested", {}, "sleeping"],
      ["works", {}, "running"],
      ["dials", { org: "a" }, "running"],
      ["dials", { org: "a" }, "queued"],
      ["single", {}, "sleeping"],
      ["single", {}, "waiting for its turn"],
    ] as const) {
      const runId = await start(workflow, input);
      await isAt(runId);
      runs.push([runId, word]);
    }
    const paused = await start("rests", {});
    await isAt(paused);
    await ask("/write/pause", { runId: paused });
    runs.push([paused, "sleeping, paused"]);
    const words: Record<string, [list: string, head: string]> = {};
    await open("runs");
    for (const [runId, word] of runs) {
      const row = page.getByRole("row").filter({ has: page.locator(`a[href="#/runs/${runId}"]`) });
      const badge = row.locator(".badge");
      await eventually(async () => expect(await badge.innerText()).toContain(` ${word}`));
      words[runId] = [await badge.innerText(), ""];
    }
    for (const [runId] of runs) {
      await open(`runs/${runId}`);
      const [inList] = words[runId]!;
      const head = page.getByRole("region", { name: /^Timeline of/ }).getByRole("status");
      await eventually(async () => expect(await head.innerText()).toBe(inList));
    }
  });

  test("[S271] the graph of a run shows what happened in its branches, items and cases", async ({
    page,
    start,
    open,
    ask,
    graph,
  }) => {
    const says = async (nodes: Graph) =>
      await eventually(async () => expect(await graph()).toMatchObject(nodes));
    const rests = await start("rests", {});
    await says({ "both.short.pack": "completed", "both.short.day": "sleeping" });
    await says({ both: "waiting", "both.long.week": "sleeping" });
    await shown(page, "graph-inside");
    const { page: branches } = await ask("/read/runs", { parent: rests, cursor: null });
    await open(`runs/${branches[0].runId}`);
    await says({ "both.short.pack": "completed", "both.long.week": "not in this run" });
    await start("races", {});
    await says({ "first.paid.hour": "sleeping", "first.lapsed.year": "sleeping" });
    expect((await graph())["first.paid.money"]).toBe(undefined);
    // What is inside a branch again is counted: its list is on the page of the branch.
    await start("nested", {});
    const inner = "in outer › one › inner: 0 of 2 done, 2 in progress";
    await says({ "outer.two.done": "completed", "outer.one.inner.night": inner });
    await start("parts", { bad: 2, many: 6 });
    await says({ "made.cut": "2 failed, 4 completed", "made.painted": "4 completed, 2 skipped" });
    // A list that is not open is not read for the graph.
    await start("parts", { bad: 3, many: 20 });
    const counts = "in made: 17 of 20 done, 3 failed";
    await says({ made: "completed", "made.cut": counts, "made.painted": counts });
    await page.getByText("17 of 20 done").first().click();
    await says({ "made.cut": "3 failed, 17 completed" });
    await page.getByText("17 of 20 done").first().click();
    await says({ "made.cut": counts });
  });
});
