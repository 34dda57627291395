/** @module-tag large */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { eventually } from "./app.js";
import { hasBrowser, beyondEdge, shown, test } from "./browser.js";

describe.skipIf(!hasBrowser)("the workflows and the pool", () => {
  test("a workflow's graph, its costs and changes, and the pool, are shown", async ({ page }) => {
    await page.getByRole("link", { name: "Workflows" }).click();
    // The list of runs, which may still be shown, has links of this name too.
    const workflows = page.getByRole("navigation", { name: "Workflows" });
    await workflows.getByRole("link", { name: "order", exact: true }).click();
    await page.getByRole("img", { name: "Graph of order" }).waitFor();
    await page
      .getByRole("cell", { name: "parcels.finalize" })
      .or(page.getByRole("cell", { name: "charge" }))
      .first()
      .waitFor();
    await page.getByText("The deployed plan is the one in your code.").waitFor();
    await page.getByText(/^Compared with /).waitFor();
    await shown(page, "workflows");
    await page.getByRole("link", { name: "Pool" }).click();
    await page.getByRole("meter", { name: "Slots in use" }).waitFor();
    for (const tile of ["Steps in the queue", "Waiting for a retry", "Next watchdog check"])
      await page.getByText(tile).waitFor();
  });

  test("a limit and a key are changed, paused and given back from the page of the pool", async ({
    page,
    dialog,
    ask,
    open,
  }) => {
    let release = () => {};
    const held = { held: new Promise<void>((resolve) => (release = resolve)) };
    Object.assign(globalThis, held);
    for (const org of ["acme", "acme", "acme", "other"])
      await ask("/write/start", { workflow: "call", input: { org } });
    await eventually(async () =>
      expect((await ask("/read/limits", {}))[1]).toMatchObject({ running: 2, waiting: 2 }),
    );
    await open("pool");
    const limits = page.getByRole("region", { name: "Limits" });
    const keys = limits.getByRole("list", { name: "Keys of org" });
    await limits.getByText(/^2 of 4 running, 1 for each key, 2 waiting, the first/).waitFor();
    await keys.getByText(/^1 of 1 running, 2 waiting, the first/).waitFor();
    await keys.getByText("1 of 1 running, 0 waiting").waitFor();
    const say = async (name: string, fill?: () => Promise<unknown>) => {
      const opens = limits.getByRole("button", { name, exact: true });
      await opens.click();
      await fill?.();
      const text = (await opens.textContent())!;
      await dialog().getByRole("button", { name: text, exact: true }).click();
      await dialog().waitFor({ state: "hidden" });
    };
    await say("Change org: acme", async () => {
      await dialog().getByLabel("For this key").fill("2");
      await dialog().getByLabel("Holds").selectOption("for 1 hour");
    });
    await keys.getByText(/^2 of 2 running, 1 waiting, the first/).waitFor();
    await keys
      .getByText(/^Overridden by studio .*, until .*:.* The code says 1 for each/)
      .waitFor();
    await say("Reset org: acme");
    await keys.getByText(/^2 of 1 running, 1 waiting/).waitFor();
    await say("Pause org");
    await limits.getByText(/^Paused by studio .*, until somebody ends it.$/).waitFor();
    // Its keys are paused with it, and go on with it.
    expect(await keys.getByRole("button", { name: /^Resume/ }).count()).toBe(0);
    await say("Resume org");
    await say("Change another key of org", async () => {
      await dialog().getByLabel("Key", { exact: true }).fill("third");
      await dialog().getByLabel("For this key").fill("3");
    });
    await keys.getByText("0 of 3 running, 0 waiting").waitFor();
    await say("Reset org: third");
    await keys.getByText("third", { exact: true }).waitFor({ state: "detached" });
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await beyondEdge(page)).toEqual([]);
    release();
  });

  test("what others do is shown on an open page at once", async ({ page, button, ask, open }) => {
    let release = () => {};
    const held = { held: new Promise<void>((resolve) => (release = resolve)) };
    Object.assign(globalThis, held);
    const row = page.getByRole("row").filter({ hasText: "of others" });
    const runId = await ask("/write/start", { workflow: "slow", input: {}, key: "of others" });
    await row.getByText("running").waitFor();
    await page.getByRole("link", { name: "Pool" }).click();
    const meter = page.getByRole("meter", { name: "Slots in use" });
    await eventually(async () => expect(await meter.getAttribute("value")).toBe("1"));
    await ask("/write/pause", { runId });
    await open(`runs/${runId}`);
    await button("Resume").waitFor();
    await ask("/write/resume", { runId });
    await button("Pause").waitFor();
    await open("pool");
    await eventually(async () => expect(await meter.getAttribute("value")).toBe("1"));
    release();
    await eventually(async () => expect(await meter.getAttribute("value")).toBe("0"));
    await open("runs");
    await row.getByText("completed").waitFor();
    await ask("/write/cleanup", { runId });
    await row.waitFor({ state: "detached" });
  });

  test("a save shows on the page, and the runs stay", async ({ page, ask, open, app }) => {
    await ask("/write/start", { workflow: "parcel", input: { item: "a" }, key: "before a save" });
    const file = join(app.functionsDir, "trips.workflow.ts");
    const text = await readFile(file, "utf8");
    const isShown = async (step: string) =>
      await eventually(async () => {
        await open("runs");
        await open("workflows/shout");
        await page.getByText(`${step}: `).waitFor({ state: "attached", timeout: 5_000 });
      });
    await writeFile(file, text.replace('.step("say"', '.step("whisper"'));
    await isShown("whisper");
    await open("runs");
    await page.getByRole("cell", { name: "before a save" }).waitFor();
    // The next test begins when this has been taken in too.
    await writeFile(file, text);
    await isShown("say");
  });
});
