/** @module-tag large */
import { describe, expect } from "vitest";
import { eventually } from "./app.js";
import { hasBrowser, openWindow, test } from "./browser.js";

describe.skipIf(!hasBrowser)("the list of runs", () => {
  test("a run is opened by its id from the search", async ({ page, button, dialog, ask, open }) => {
    const start = { workflow: "order", input: { items: [], card: "" } };
    const runId = await ask("/write/start", start);
    await open("runs");
    await page.getByLabel("Search").fill(` ${runId} `);
    await page.getByLabel("Search").press("Enter");
    await page.getByRole("region", { name: "Error" }).waitFor();
    expect(page.url()).toContain(`#/runs/${runId}`);
    await button("Restart").click();
    const from = dialog().getByLabel("From");
    // The run's nodes come a moment after the dialog.
    await eventually(async () =>
      expect(await from.locator("option").first().textContent()).toBe("charge, where it failed"),
    );
    expect(await from.inputValue()).toBe("charge");
  });

  test("runs are filtered, and the filter stands in the address", async ({
    page,
    button,
    ask,
    open,
  }) => {
    await ask("/write/start", { workflow: "parcel", input: { item: "a" }, key: "box 1" });
    await open("runs?workflow=parcel&state=completed");
    await page.getByRole("cell", { name: "parcel" }).first().waitFor();
    await page.getByRole("cell", { name: "order" }).first().waitFor({ state: "detached" });
    await page.getByText("More filters").click();
    await page.getByLabel("Key begins with").fill("box");
    await page.getByLabel("Key begins with").press("Enter");
    await page.getByRole("cell", { name: "box 1" }).waitFor();
    await eventually(async () => expect(await page.getByRole("row").count()).toBe(2));
    await page.getByLabel("Created until").fill("2020-01-01T00:00");
    await page.getByText("No runs.").waitFor();
    await page.getByLabel("Created until").fill("");
    await page.getByRole("cell", { name: "box 1" }).waitFor();
    await page.getByLabel("State").selectOption("failed");
    await page.getByText("No runs.").waitFor();
    expect(page.url()).toMatch(/state=failed.*key=box|key=box.*state=failed/);
    await ask("/write/start", { workflow: "order", input: { items: [], card: "" }, key: "poor" });
    await open("runs");
    await page.getByLabel("Search").fill("NO CARD");
    await page.getByLabel("Search").press("Enter");
    await page.getByText(/^Searched all \d+ runs\.$/).waitFor();
    await page.getByText("no card <script>").first().waitFor();
    expect(await page.getByRole("cell", { name: "box 1" }).count()).toBe(0);
    expect(page.url()).toContain("text=NO+CARD");
    await ask("/write/start", {
      workflow: "order",
      input: { items: [], card: "" },
      key: "poor 2",
    });
    // New runs come by themselves, older ones when the search is made again.
    await page.getByRole("cell", { name: "poor 2" }).waitFor();
    await button("Search again").click();
    await page.getByRole("cell", { name: "poor 2" }).waitFor();
    expect(await page.getByRole("cell", { name: "poor 2" }).count()).toBe(1);
    await page.getByLabel("State").selectOption("timedOut");
    await page.getByText("Change the filter").waitFor();
    await page.getByRole("link", { name: "show all runs" }).click();
    await page.getByRole("cell", { name: "poor 2" }).waitFor();
  });

  test("[S181] the list says what runs do and where, and counts and lists them by that", async ({
    page,
    ask,
    open,
  }) => {
    const started = { workflow: "order", input: { items: [], card: "visa" }, key: "asks" };
    const runId = await ask("/write/start", started);
    await ask("/write/start", { ...started, input: { items: [], card: "" }, key: "has failed" });
    await open("runs?workflow=order");
    const row = page.getByRole("row").filter({ hasText: started.key });
    await row.getByText("waiting for an event").waitFor();
    await row.getByText("approval").waitFor();
    const chips = page.getByRole("navigation", { name: "Runs by what they do" });
    const chip = (name: string) => chips.getByRole("link", { name: new RegExp(`${name} [1-9]`) });
    await chip("failed").waitFor();
    await chip("waiting for an event").click();
    await eventually(() => expect(page.url()).toContain("doing=waitingForEvent"));
    await row.waitFor();
    await page.getByRole("row").filter({ hasText: "has failed" }).waitFor({ state: "detached" });
    // A count is of the last seconds.
    await ask("/write/cancel", { runId });
    await row.waitFor({ state: "detached" });
    await chip("failed").click();
    await page.getByRole("row").filter({ hasText: "has failed" }).waitFor();
  });

  test("[S182] runs show their tags, and are found by one", async ({ page, ask, open }) => {
    for (const [org, seats] of [
      ["acme", 3],
      ["other", 3],
    ])
      await ask("/write/start", { workflow: "member", input: { org, seats }, key: org });
    await open("runs");
    await page.getByRole("row").filter({ hasText: "org: acme seats: 3" }).waitFor();
    await page.getByRole("row").filter({ hasText: "org: acme" }).getByRole("link").click();
    await page.locator("dd").getByText("org: acme").waitFor();
    await page.goBack();
    await page.getByText("More filters").click();
    for (const [tag, count] of [
      ["org=acme", 1],
      ["seats=3", 2],
      ['seats="3"', 0],
    ] as const) {
      await page.getByLabel("Tag", { exact: true }).fill(tag);
      await page.getByLabel("Tag", { exact: true }).press("Enter");
      await eventually(async () =>
        expect(await page.getByRole("row").count()).toBe(count === 0 ? 0 : 1 + count),
      );
    }
    await page.getByText("No runs.").waitFor();
  });

  test("the runs at a node are listed while they are there", async ({ page, ask, open }) => {
    const input = { items: [], card: "visa" };
    const start = { workflow: "order", input, key: "to be approved" };
    const runId = await ask("/write/start", start);
    await open("runs?workflow=order");
    await page.getByText("More filters").click();
    await page.getByLabel("At node").selectOption("approval");
    const row = page.getByRole("row").filter({ hasText: "to be approved" });
    await row.waitFor();
    await ask("/write/sendEvent", { runId, name: "approval", payload: { by: "Ada" } });
    await row.waitFor({ state: "detached" });
  });

  test("filters that are changed one right after the other are both taken", async ({
    page,
    open,
  }) => {
    await open("runs?workflow=parcel");
    await page
      .getByRole("cell", { name: "parcel" })
      .or(page.getByText("No runs."))
      .first()
      .waitFor();
    await page.getByText("More filters").click();
    // Without a moment between them, as on a machine that is busy.
    await page.evaluate(() => {
      const field = (name: string) =>
        [...document.querySelectorAll("label")]
          .find((each) => each.textContent.startsWith(name))!
          .querySelector<HTMLInputElement | HTMLSelectElement>("input, select")!;
      const [key, state] = [field("Key begins with"), field("State")];
      key.focus();
      key.value = "box";
      key.blur();
      state.value = "failed";
      state.dispatchEvent(new Event("change", { bubbles: true }));
    });
    await eventually(() => expect(page.url()).toContain("?workflow=parcel&key=box&state=failed"));
  });

  test("an address with a state or workflow that does not exist says so, and offers nothing to do", async ({
    page,
    button,
    ask,
    open,
  }) => {
    await open("runs?state=odd");
    await page.getByRole("alert").getByText('There is no state "odd".').waitFor();
    expect(await button("Restart all").count()).toBe(0);
    // Which nodes there are is known with the workflow.
    expect(await page.getByLabel("At node").isDisabled()).toBe(true);
    const start = { workflow: "parcel", input: { item: "a" }, key: "a state of its own" };
    await ask("/write/start", start);
    await page.getByRole("link", { name: "show all runs" }).click();
    await page.getByRole("cell", { name: start.key }).waitFor();
    await open("workflows/nobodys");
    await page.getByRole("alert").getByText('There is no workflow "nobodys".').waitFor();
    await open("runs?workflow=nobodys");
    await page.getByRole("alert").getByText("Its workflows are: ").waitFor();
    expect(await page.getByRole("region", { name: "Runs" }).count()).toBe(0);
  });

  test("an address that ends in a slash, or is encoded, is read, and one of no page says so", async ({
    page,
    open,
    studio,
  }) => {
    const isHere = (name: string) => page.locator("nav [aria-current=page]", { hasText: name });
    for (const [place, tab] of [
      ["workflows/", "Workflows"],
      ["runs/", "Runs"],
      ["pool/", "Pool"],
      ["", "Runs"],
    ] as const) {
      await open(place);
      await isHere(tab).waitFor();
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect([place, await page.locator("main [role=alert]").count()]).toEqual([place, 0]);
    }
    for (const [place, text] of [
      ["nowhere", 'There is no page "nowhere".'],
      ["pool/deep", 'There is no page "pool/deep".'],
      ["workflows/a%2Fb", 'There is no workflow "a/b".'],
      ["runs/a%2Fb/", "There is no run a/b."],
      ["runs/50%", "There is no run 50%."],
    ] as const) {
      await open(place);
      await page.getByText(text).waitFor();
    }
    await page.goto(`${new URL("/", studio.url).href}#odd`);
    await page.getByText('There is no page "odd".').waitFor();
    await page.getByRole("link", { name: "Show all runs" }).click();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
  });

  test("[S183] all runs of a filter are canceled or restarted, also if the page is closed", async ({
    page,
    button,
    dialog,
    ask,
    open,
  }) => {
    const started: string[] = [];
    for (let n = 0; n < 3; n++) {
      const input = { items: [], card: "visa" };
      started.push((await ask("/write/start", { workflow: "order", input })) as string);
    }
    const states = async () =>
      await Promise.all(
        started.map(async (runId) => (await ask("/read/run", { runId })).state as string),
      );
    await open("runs?workflow=order&state=running");
    await button("Cancel all").click();
    await dialog().getByText("workflow: order, state: running").waitFor();
    await dialog()
      .getByText(/^Runs now: \d+\./)
      .waitFor();
    await dialog()
      .getByLabel(/a second/)
      .fill("2");
    await dialog().getByRole("button", { name: "Cancel all" }).click();
    // A page that is slow sees nothing before the end.
    await page.getByText(/^(?:Cancels runs: [12]|Finished: \d+) canceled$/).waitFor();
    await page.goto("about:blank");
    await eventually(async () =>
      expect(await states()).toEqual(["canceled", "canceled", "canceled"]),
    );
    await open("runs?workflow=order&state=canceled");
    await page
      .getByText(/^Finished: \d+ canceled$/)
      .first()
      .waitFor();
    await button("Close").click();
    await button("Restart all").click();
    await dialog().getByRole("button", { name: "Restart all" }).click();
    await page
      .getByText(/^Finished: \d+ restarted$/)
      .first()
      .waitFor();
    expect(await states()).toEqual(["running", "running", "running"]);
    await page.getByText("What was done to many runs").click();
    const done = page.getByRole("listitem").filter({ hasText: /ago/ });
    await eventually(async () => expect(await done.count()).toBe(2));
  });

  test("a link opens in a new tab, which another tab of the browser tells the token", async ({
    page,
    ask,
    studio,
    browser,
  }) => {
    await ask("/write/start", { workflow: "parcel", input: { item: "a" }, key: "for a tab" });
    const row = page.getByRole("row").filter({ hasText: "for a tab" });
    const [tab] = await Promise.all([
      page.context().waitForEvent("page"),
      row.getByRole("link").click({ modifiers: ["ControlOrMeta"] }),
    ]);
    await tab.getByRole("heading", { name: "parcel for a tab" }).waitFor();
    await tab.reload();
    await tab.getByRole("heading", { name: "parcel for a tab" }).waitFor();
    await tab.close();
    const stranger = await (await openWindow(browser)).newPage();
    await stranger.goto(`${new URL("/", studio.url).href}#/runs`);
    await stranger.getByText("Open the address that the terminal shows").first().waitFor();
    await stranger.context().close();
  });

  test("a long key and a long error leave room for when a run started, and how long it took", async ({
    page,
    ask,
  }) => {
    const key = "k".repeat(300);
    await ask("/write/start", { workflow: "order", input: { items: [], card: "" }, key });
    await page.getByText("no card <script>").first().waitFor();
    const list = page.getByRole("region", { name: "Runs" });
    expect(await list.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
    const why = await page.getByText("no card <script>").first().boundingBox();
    expect(why!.width).toBeGreaterThan(200);
  });
});
