/** @module-tag large */
import { describe, expect } from "vitest";
import { eventually, openStudio } from "./app.js";
import { hasBrowser, shown, test as inBrowser } from "./browser.js";

const test = inBrowser.override("studio", { scope: "file" }, async ({ app }, { onCleanup }) => {
  const run = ["run", "anything", "--input", '{ "value": "the first" }', "--studio"];
  const studio = await openStudio(app, run);
  onCleanup(() => studio.close());
  return studio;
});

describe.skipIf(!hasBrowser)("the page of a run", () => {
  test("run --studio opens the studio on the run", async ({ page }) => {
    await page.getByRole("heading", { name: "anything", exact: true }).waitFor();
    await page.getByText('"the first"', { exact: true }).first().waitFor();
  });

  test("a run is started from the page, gets an event, and is followed to its end", async ({
    page,
    button,
    dialog,
    start,
  }) => {
    await start("order", { items: ["a", "b", "c"], card: "visa" });
    await button("Send an event").click();
    const send = dialog().getByRole("button", { name: "Send an event" });
    await dialog().getByLabel("Write JSON").check();
    const payload = dialog().getByLabel("Payload, as JSON");
    for (const [json, problem] of [
      ['{\n  "by": "Ada" "at": 1 }', "line 2 column 15"],
      ['{ "by": Ada }', "Unexpected token 'A'"],
      ['{ "by": 5 }', "approval.by"],
    ] as const) {
      await payload.fill(json);
      await send.click();
      await dialog().getByRole("alert").getByText(problem).waitFor();
    }
    await dialog().getByLabel("Write JSON").uncheck();
    await dialog().getByLabel("by").fill("Ada");
    await send.click();
    const timeline = page.getByRole("region", { name: "Timeline of order" });
    await timeline.getByText("✓ completed").first().waitFor();
    await page.getByText('"by": "Ada"').first().waitFor();
    const child = timeline.getByRole("link", { name: "parcel #2" });
    await child.waitFor();
    await shown(page, "run");
    await timeline.getByText("3 of 3 done").click();
    await child.waitFor({ state: "hidden" });
    await timeline.getByText("3 of 3 done").click();
    await child.click();
    await page.getByText("Child of").waitFor();
    await page.goBack();
    await page.getByRole("link", { name: "List and filter its children" }).click();
    await eventually(async () => expect(await page.getByRole("row").count()).toBe(4));
    await page.getByLabel("State").selectOption("failed");
    await page.getByText("No runs.").waitFor();
    await button("Children of a run ×").click();
    await page
      .getByRole("cell", { name: "order" })
      .or(page.getByText("No runs."))
      .first()
      .waitFor();
  });

  test("a run that fails shows why, as text, and can be restarted", async ({
    page,
    button,
    dialog,
    start,
  }) => {
    await start("order", { items: [], card: "" });
    await page.getByText("2 errors").click();
    await page.getByText("Attempt 2: no card <script>alert(1)</script>").waitFor();
    await page.getByText("order › charge (thrown, attempt 2)").waitFor();
    await eventually(async () => expect(await page.title()).toMatch(/^order – .* – Stepwise$/));
    await shown(page, "failed");
    await button("Restart").click();
    await dialog().getByRole("button", { name: "Restart" }).click();
    await page.getByText("generation 2").waitFor();
  });

  test("a run is paused, resumed, canceled and removed", async ({
    page,
    button,
    dialog,
    start,
    ask,
  }) => {
    await start("order", { items: [], card: "visa" });
    for (const [name, next] of [
      ["Pause", "Resume"],
      ["Resume", "Pause"],
      ["Cancel", "Remove"],
    ] as const) {
      await button(name).click();
      await dialog().getByRole("button", { name }).click();
      await button(next).waitFor();
    }
    const log = page.getByRole("region", { name: "Steering" }).getByRole("listitem");
    await eventually(async () =>
      expect((await log.allTextContents()).map((line) => line.trim().split(" ").at(-1))).toEqual([
        "paused",
        "resumed",
        "canceled",
      ]),
    );
    const runId = page.url().split("/").at(-1);
    await button("Remove").click();
    await dialog().getByRole("button", { name: "Remove" }).click();
    await page.getByRole("heading", { name: "Runs" }).waitFor();
    expect(await ask("/read/run", { runId })).toBeNull();
  });

  test("a run that fails shows the causes of its error, and what went wrong while it was undone", async ({
    page,
    start,
  }) => {
    await start("trip", { seats: ["1A"] });
    const [run, child, undone] = [
      "trip › tickets › 0 (childFailed",
      "ticket › reserve",
      "trip › hotel › compensate",
    ];
    const shownError = page.locator(".failure");
    // The run fails before its compensation does.
    for (const text of [run, undone]) await shownError.getByText(text).first().waitFor();
    const [whole, ...inside] = await shownError.allInnerTexts();
    expect(inside).toEqual([
      expect.stringMatching(`^Caused by ${child} \\(thrown, attempt 1\\)`),
      expect.stringMatching(`^While undoing ${undone} \\(thrown, attempt 1\\)`),
    ]);
    for (const text of ['"taken": "1A"', "the hotel keeps the money"])
      expect(whole).toContain(text);
    const timeline = page.getByRole("region", { name: "Timeline of trip" });
    const hotel = timeline.getByRole("listitem").filter({ hasText: /^hotel(?! ›)/ });
    await hotel.getByText("not undone").waitFor();
    await page.getByText(/^hotel: .*, not undone$/).waitFor({ state: "attached" });
    await shown(page, "causes");
  });

  test("a race shows both cases while they go on, and then which won and what was undone", async ({
    page,
    start,
    button,
    dialog,
  }) => {
    await start("quarrel", {});
    const timeline = page.getByRole("region", { name: "Timeline of quarrel" });
    const rowOf = (name: string) => timeline.getByRole("listitem").filter({ hasText: name }).last();
    await rowOf("answered").getByText("waiting").waitFor();
    await rowOf("lapsed").getByText("sleeping").waitFor();
    // The event that a case waits for is sent to its run.
    await button("Send an event").click();
    await dialog().getByLabel("Payload, as JSON").fill('"yes"');
    await dialog().getByRole("button", { name: "Send an event" }).click();
    await page.getByText('"case": "answered"').first().waitFor();
    await rowOf("answered").getByText("completed").waitFor();
    await rowOf("lapsed").getByText("canceled").waitFor();
    await timeline.getByText("1 of 2 done, 1 canceled").waitFor();
    await page.getByRole("img", { name: "Graph of quarrel" }).waitFor();
    await shown(page, "race");
    await timeline.getByRole("link", { name: "lapsed" }).click();
    await page.getByRole("heading", { name: "quarrel › decided › lapsed" }).waitFor();
    const lapsed = page.getByRole("region", { name: "Timeline of quarrel" });
    await lapsed.getByText("book › compensate").waitFor();
    await lapsed
      .getByRole("listitem")
      .filter({ hasText: /› book(?! ›)/ })
      .first()
      .getByText("undone")
      .waitFor();
  });

  test("what is sensitive is not on the page, which says so", async ({ page, ask, open }) => {
    const start = { workflow: "vault", input: { isOpen: true } };
    const runId = await ask("/write/start", start);
    await ask("/write/sendEvent", { runId, name: "code", payload: { pin: "s3cret" } });
    await open(`runs/${runId}`);
    await page.getByText("Output: sensitive, and not shown").waitFor();
    await page.getByText("Results of its nodes").click();
    for (const node of ["code", "open"])
      await page.getByText(`${node}: sensitive, and not shown`, { exact: true }).waitFor();
    expect(await page.content()).not.toContain("s3cret");
  });

  test("texts from outside are shown as text, and cut if they are long", async ({
    page,
    ask,
    open,
  }) => {
    const script = "<img src=x onerror=alert(1)>";
    const value = { [script]: script.repeat(30_000) };
    const input = { value };
    const runId = await ask("/write/start", { workflow: "anything", input, key: script });
    await open("runs?workflow=anything");
    await page.getByRole("cell", { name: script }).waitFor();
    await open(`runs/${runId}`);
    await page.getByText("characters more").first().waitFor();
    const length = await page.evaluate(() => document.body.textContent.length);
    expect(length).toBeLessThan(100_000);
    let deep: unknown = "at the bottom";
    for (let depth = 0; depth < 12; depth++) deep = [deep];
    const start = { workflow: "anything", input: { value: deep } };
    await open(`runs/${await ask("/write/start", start)}`);
    await page.getByText("at the bottom").first().waitFor();
    // It would be read as "pay exe.png".
    const turned = { workflow: "anything", input: { value: "pay \u202Egnp.exe" } };
    await open(`runs/${await ask("/write/start", { ...turned, key: turned.input.value })}`);
    await page.getByRole("heading", { name: "pay \\u202egnp.exe" }).waitFor();
    await page.getByText('"value": "pay \\u202egnp.exe"').first().waitFor();
    await open(`runs/${encodeURIComponent(script)}`);
    await page.getByText("There is no run").waitFor();
    await open(`runs?state=${encodeURIComponent(script)}&workflow=__proto__`);
    await page.getByRole("alert").first().waitFor();
    expect(await page.locator("img").count()).toBe(0);
  });
});
