/** @module-tag large */
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect } from "vitest";
import { rm } from "../../scripts/folders.mjs";
import { eventually, openStudio, writeOdd } from "./app.js";
import { beyondEdge, hasBrowser, shown, test as inBrowser } from "./browser.js";

const test = inBrowser
  // oxlint-disable-next-line no-empty-pattern -- Vitest reads here what is asked for.
  .extend("app", { scope: "file" }, async ({}, { onCleanup }) => {
    const app = await writeOdd();
    onCleanup(() => app.remove());
    return app;
  })
  .extend("studio", { scope: "file" }, async ({ app }, { onCleanup }) => {
    const studio = await openStudio(app);
    onCleanup(() => studio.close());
    return studio;
  })
  .extend("until", ({ ask }) => async (runId: string, state: string) => {
    await eventually(async () => expect((await ask("/read/run", { runId })).state).toBe(state));
  });

/** Looks at a page as a whole, at both widths and in both colours. */
async function looked(page: Page, name: string) {
  for (const [width, height] of [
    [1440, 900],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    for (const colorScheme of ["dark", "light"] as const) {
      await page.emulateMedia({ colorScheme });
      await shown(page, `odd-${name}-${width}-${colorScheme}`);
    }
    expect(await beyondEdge(page), `${name}, ${width}`).toEqual([]);
  }
}

const text = `${"🚀👩‍👩‍👧‍👦 مرحبا بالعالم ‮ ".repeat(3)}${"x".repeat(300)}`;

describe.skipIf(!hasBrowser)("stores of other kinds", () => {
  test("[S242] the run of a branch, an item or a case is sent the events that it takes, by their forms", async ({
    page,
    start,
    open,
    button,
    dialog,
    ask,
    until,
  }) => {
    const sent = async (runId: string, fields: Record<string, string>, name?: string) => {
      await open(`runs/${runId}`);
      await button("Send an event").click();
      if (name !== undefined) await dialog().getByLabel("Event").selectOption(name);
      for (const [field, value] of Object.entries(fields))
        await dialog().getByLabel(field).fill(value);
      const title = await dialog().getByRole("heading").innerText();
      const events = await dialog().getByLabel("Event").locator("option").allInnerTexts();
      await dialog().getByRole("button", { name: "Send an event" }).click();
      await dialog().waitFor({ state: "detached" });
      return [title, events];
    };
    const childrenOf = async (parent: string, wanted: number) =>
      await eventually(async () => {
        const { page: runs } = await ask("/read/runs", { parent, cursor: null });
        expect(runs).toHaveLength(wanted);
        return runs as { runId: string; within: string }[];
      });
    const runId = await start("panel", { papers: ["a", "b"] });
    const [legal, money] = await childrenOf(runId, 2);
    expect(await sent(runId, { by: "Ada" })).toEqual(["Send an event to panel", ["closing"]]);
    expect(await sent(legal!.runId, { by: "Bo" })).toEqual([
      "Send an event to panel › both › legal",
      ["verdict"],
    ]);
    expect(await sent(money!.runId, { cents: "5" })).toEqual([
      "Send an event to panel › both › money",
      ["verdict", "card"],
    ]);
    const [card] = await childrenOf(money!.runId, 2);
    await looked(page, "branch");
    expect(await sent(card!.runId, { last4: "4242" })).toEqual([
      "Send an event to panel › both › money › paid › card",
      ["card"],
    ]);
    const all = await childrenOf(runId, 4);
    const items = all.filter(({ within }) => within === "read");
    for (const item of items)
      expect(await sent(item.runId, { text: "fine" })).toEqual([
        expect.stringContaining("Send an event to panel › read"),
        ["remark"],
      ]);
    await until(runId, "completed");
    await open(`runs/${runId}`);
    await page.getByRole("region", { name: "Timeline of panel" }).waitFor();
    await looked(page, "panel");
  });

  test("odd names and texts, many nodes, restarts, removed workflows and limits stay in the frame", async ({
    page,
    app,
    ask,
    open,
    button,
    until,
  }) => {
    const started = async (workflow: string, input: unknown, key?: string): Promise<string> => {
      const runId = await ask("/write/start", { workflow, input, key });
      expect(runId).toEqual(expect.any(String));
      return runId;
    };
    const failing = await started("oddly", { text }, text);
    const many = await started("many", {}, "many");
    const gone = await started("gone", {}, "gone");
    const sorts = await started("sorts", { kind: "bike", bad: 2 }, "tolerated");
    const broken = await started("sorts", { kind: "bike", bad: 12 }, "broken");
    const ended = await started("sorts", { kind: "car", bad: 0 }, "ended");
    await until(failing, "failed");
    await until(many, "completed");
    await until(sorts, "completed");
    await until(broken, "failed");
    await until(ended, "completed");
    for (let generation = 2; generation < 5; generation++) {
      await ask("/write/restart", { runId: broken, from: "parts" });
      await until(broken, "failed");
    }
    const asked = async (what: string, args: object) =>
      expect(await ask(`/write/${what}`, args), what).toBe(null);
    await asked("pauseLimit", { name: "org", lasts: "1h" });
    await asked("pauseLimit", { name: "org", key: text.slice(0, 60), lasts: "1h" });
    await asked("overrideLimit", { name: "org", key: "acme", perKey: 3 });
    await started("call", { org: text.slice(0, 60) }, "call");
    for (let n = 0; n < 6; n++) await started("nap", {}, `nap ${n}`);
    const where = { workflow: "nap", state: "running" };
    await ask("/write/startBulk", { do: "cancel", where, perSecond: 1 });
    for (const [name, runId] of Object.entries({ failing, many, gone, sorts, broken, ended })) {
      await open(`runs/${runId}`);
      await page.getByRole("region", { name: /^Timeline of/ }).waitFor();
      await page.getByRole("img", { name: /^Graph of/ }).waitFor();
      await looked(page, name);
    }
    await open("runs");
    await page.getByRole("row").nth(5).waitFor();
    // No run is at its node for longer than it goes on.
    const ages = await page
      .getByRole("row")
      .filter({ hasText: /waiting for an event|queued/ })
      .evaluateAll((rows) =>
        rows.map((row) => [...row.querySelectorAll("time")].map(({ innerText }) => innerText)),
      );
    expect(ages.length).toBeGreaterThan(0);
    for (const [at, began] of ages)
      expect(Number.parseInt(at!)).toBeLessThanOrEqual(Number.parseInt(began!));
    await looked(page, "list");
    await open("pool");
    await page.getByText("org").first().waitFor();
    await looked(page, "pool");
    for (const workflow of ["many", "oddly", "sorts", "panel"]) {
      await open(`workflows/${workflow}`);
      await page.getByRole("img", { name: `Graph of ${workflow}` }).waitFor();
      await looked(page, `workflow-${workflow}`);
    }
    await rm(join(app.functionsDir, "removed.workflow.ts"));
    await eventually(async () => {
      const known: { name: string }[] = await ask("/read/workflows", {});
      expect(known.map(({ name }) => name)).not.toContain("gone");
    });
    await open(`runs/${gone}`);
    await page.getByText("not in the app any more, so its nodes are not shown").waitFor();
    await button("Cancel").waitFor();
    // Both need the workflow.
    expect(await button("Send an event").count()).toBe(0);
    expect(await page.locator(".problem").allInnerTexts()).toEqual([]);
    await looked(page, "removed");
  });
});
