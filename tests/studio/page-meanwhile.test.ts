/** @module-tag large */
import { describe, expect } from "vitest";
import { eventually } from "./app.js";
import { hasBrowser, test as inBrowser } from "./browser.js";

/** Holds back what the page asks for, until it is let go. */
const test = inBrowser.extend("hold", ({ tab }) => async (asked: string) => {
  let letGo = () => {};
  const held = new Promise<void>((resolve) => (letGo = resolve));
  await tab.route(asked, async (route) => {
    await held;
    await route.continue();
  });
  return letGo;
});

describe.skipIf(!hasBrowser)("what somebody is in the middle of, while the page changes", () => {
  test("the focus stays on its run when another comes above it", async ({ page, ask }) => {
    const parcel = { workflow: "parcel", input: { item: "a" } };
    await ask("/write/start", { ...parcel, key: "has the focus" });
    const row = page.getByRole("row").filter({ hasText: "has the focus" });
    await row.getByRole("link").focus();
    await ask("/write/start", { ...parcel, key: "comes above" });
    await page.getByRole("cell", { name: "comes above" }).waitFor();
    expect(await row.locator("a:focus").count()).toBe(1);
  });

  test("the search keeps the focus, and goes on from what it has", async ({ page, ask }) => {
    await ask("/write/start", { workflow: "order", input: { items: [], card: "" } });
    await page.getByLabel("Search").fill("no");
    await page.keyboard.press("Enter");
    await page.getByText(/^Searched all/).waitFor();
    await page.keyboard.type(" card");
    // The page has taken the text once it asks for such runs.
    const asked = page.waitForRequest(
      (request) =>
        !request.url().endsWith("/read/run") && request.postData()?.includes('"no card"') === true,
    );
    await page.keyboard.press("Enter");
    await page.waitForURL(/text=no\+card/);
    await asked;
    expect(await page.getByLabel("Search").inputValue()).toBe("no card");
    await page.goBack();
    await eventually(async () => expect(await page.getByLabel("Search").inputValue()).toBe("no"));
  });

  test("what is typed right after Enter stays in the search", async ({ page }) => {
    const search = page.getByLabel("Search");
    await search.fill("no");
    await search.evaluate((field: HTMLInputElement) => {
      field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
      field.value += " card";
    });
    await page.waitForURL(/text=no/);
    await page
      .getByText(/^Searched all|No run/)
      .first()
      .waitFor();
    expect(await search.inputValue()).toBe("no card");
  });

  test("an answer that comes late leaves a dialog that was opened again", async ({
    page,
    ask,
    hold,
    open,
    button,
    dialog,
    send,
  }) => {
    const runId = await ask("/write/start", { workflow: "talk", input: {} });
    const letGo = await hold("**/write/sendEvent");
    await open(`runs/${runId}`);
    await page.getByText("for asked").waitFor();
    await button("Send an event").click();
    await dialog().getByLabel("question").fill("first");
    await send("Send an event");
    await page.keyboard.press("Escape");
    await button("Send an event").click();
    await dialog().getByLabel("question").fill("second");
    letGo();
    await page.getByText("for answered").waitFor();
    await page.getByText('"question": "first"').first().waitFor({ state: "attached" });
    expect(await dialog().getByLabel("question").inputValue()).toBe("second");
  });

  test("a run can be restarted though its workflows cannot be loaded", async ({
    page,
    ask,
    open,
    button,
  }) => {
    const runId = await ask("/write/start", { workflow: "order", input: { items: [], card: "" } });
    await page.goto("about:blank");
    await page.route("**/watch/workflows", async (route) => {
      await route.fulfill({ status: 400, json: { error: "too large" } });
    });
    await open(`runs/${runId}`);
    await button("Restart").waitFor();
  });

  test("an answer that comes late takes nobody away from where they have gone", async ({
    page,
    ask,
    hold,
    choose,
    dialog,
    send,
  }) => {
    const parcel = { workflow: "parcel", input: { item: "a" } };
    const runId = await ask("/write/start", parcel);
    const pool = page.getByRole("heading", { name: "Pool" });
    const stays = async (letGo: () => void, answer: string) => {
      await page.getByRole("link", { name: "Pool" }).click();
      await pool.waitFor();
      await Promise.all([page.waitForResponse(answer), letGo()]);
      // What follows from it has followed by then.
      await page.getByText("Next watchdog check").waitFor();
      await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
      expect(new URL(page.url()).hash).toBe("#/pool");
    };
    const search = await hold("**/read/run");
    await page.getByLabel("Search").fill(runId);
    await page.keyboard.press("Enter");
    await page.waitForURL(/text=/);
    await stays(search, "**/read/run");
    const started = await hold("**/write/start");
    await choose("parcel");
    await dialog().getByLabel("item").fill("b");
    await send();
    await page.keyboard.press("Escape");
    await stays(started, "**/write/start");
  });

  test("a restart is offered once it is known where the run has failed", async ({
    page,
    ask,
    hold,
    open,
    button,
    dialog,
  }) => {
    const order = { workflow: "order", input: { items: [], card: "" } };
    const runId = await ask("/write/start", order);
    await page.goto("about:blank");
    const letGo = await hold("**/watch/workflows");
    await open(`runs/${runId}`);
    await button("Remove").waitFor();
    expect(await button("Restart").count()).toBe(0);
    letGo();
    await button("Restart").click();
    expect(await dialog().getByLabel("From").inputValue()).toBe("charge");
    expect(await dialog().locator("select:focus").count()).toBe(1);
  });

  test("the form of an event stays while the run goes on to wait for another", async ({
    page,
    ask,
    open,
    button,
    dialog,
    send,
  }) => {
    const runId = await ask("/write/start", { workflow: "talk", input: {} });
    await open(`runs/${runId}`);
    await page.getByText("for asked").waitFor();
    await button("Send an event").click();
    await dialog().getByLabel("question").fill("how");
    await ask("/write/sendEvent", { runId, name: "asked", payload: { question: "who" } });
    await page.getByText("for answered").waitFor();
    expect(await dialog().getByLabel("Event").inputValue()).toBe("asked");
    expect(await dialog().getByLabel("question").inputValue()).toBe("how");
    await send("Back");
    // The next one is for what the run waits for then.
    await button("Send an event").click();
    await dialog().getByRole("textbox", { name: "answer" }).fill("me");
    await send("Send an event");
    await page.getByText('"answer": "me"').first().waitFor();
  });

  test("a form that was left stays filled in, and is empty once it was sent", async ({
    page,
    ask,
    open,
    choose,
    button,
    dialog,
    send,
  }) => {
    await choose("parcel");
    await dialog().getByLabel("item").fill("half");
    await page.keyboard.press("Escape");
    await button("Start a run").click();
    expect(await dialog().getByLabel("item").inputValue()).toBe("half");
    await send("Back");
    await open("pool");
    const change = button("Change maxParallelism");
    const slots = dialog().getByLabel("maxParallelism");
    const { maxParallelism: most } = await ask("/read/pool", {});
    for (const now of [most, most + 1]) {
      await page.getByText(`0 of ${now} running`).waitFor();
      await change.click();
      await eventually(async () => expect(await slots.inputValue()).toBe(String(now)));
      await slots.fill(String(now + 1));
      await send("Change");
      await dialog().waitFor({ state: "hidden" });
    }
  });
});
