/** @module-tag large */
import type { Locator } from "playwright-core";
import { describe, expect } from "vitest";
import { eventually } from "./app.js";
import { hasBrowser, beyondEdge, shown, test as inBrowser } from "./browser.js";
import { contrastOf } from "./contrast.js";
import { openOnCall, seeded } from "./on-call.js";

const test = inBrowser
  .extend("onCall", { scope: "file" }, async ({ app }, { onCleanup }) => {
    const opened = await openOnCall(app);
    onCleanup(() => opened.close());
    return opened;
  })
  .extend("chip", ({ tab }) => (name: string | RegExp) => {
    const chips = tab.getByRole("navigation", { name: "Runs by what they do" });
    return chips.getByRole("link", { name });
  })
  .extend(
    "row",
    ({ tab }) =>
      (text: string) =>
        tab.getByRole("row").filter({ hasText: text }),
  )
  /**
   * Waits for something that is seen without scrolling, but for a phone, and that can be read in
   * light and in dark colours. Returns where it is.
   */
  .extend("seen", ({ tab }) => async (what: Locator): Promise<number> => {
    await what.waitFor();
    for (const colorScheme of ["light", "dark"] as const) {
      await tab.emulateMedia({ colorScheme });
      // A row that has just been replaced has no colours.
      await eventually(async () =>
        expect(await contrastOf(what), `${String(what)}, ${colorScheme}`).toBeGreaterThan(4.5),
      );
    }
    // What is above it may still be loading.
    return await eventually(async () => {
      const { y, height } = (await what.boundingBox())!;
      expect(y).toBeGreaterThanOrEqual(0);
      const { width, height: inView } = tab.viewportSize()!;
      if (width > 390) expect(y + height).toBeLessThanOrEqual(inView);
      expect(await beyondEdge(tab)).toEqual([]);
      return y;
    });
  });

describe.skipIf(!hasBrowser)("on call, over 400 runs", () => {
  test.for([
    [1440, 900],
    [390, 844],
  ] as const)(
    "two clicks tell what is wrong, why, what to do, and what the pool does: %i px, light and dark",
    async ([width, height], { tab: page, onCall, chip, row, seen, button, dialog }) => {
      const { canceled, ...wrong } = seeded;
      await page.setViewportSize({ width, height });
      await page.goto(onCall.url);
      const runs = page.getByRole("link", { name: "Runs", exact: true });
      /** From the list, with two clicks at most. */
      const from = async (first: Locator, second?: Locator) => {
        await runs.click();
        await first.click();
        await second?.click();
      };
      const picture = async (name: string) => {
        for (const colorScheme of ["dark", "light"] as const) {
          await page.emulateMedia({ colorScheme });
          await shown(page, `${name}-${width}-${colorScheme}`);
        }
      };

      // 1. What is wrong now?
      for (const [name, count] of Object.entries(wrong))
        await seen(chip(new RegExp(`${name} ${count}$`)));
      await seen(chip(new RegExp(`running ${onCall.slots}$`)));
      await seen(row("slow").first());
      const filters = page.locator("form.filter > label");
      for (const name of ["Workflow", "State", "Search"])
        await seen(filters.filter({ hasText: name }));
      expect(await page.getByLabel("Key begins with").isVisible()).toBe(false);
      await picture("list");
      for (const [name, key, at] of [
        ["waiting for an event", "order 6", "approval"],
        ["sleeping", "nap 2", "rest"],
        ["waiting for a retry", "patient 1", "ask"],
        ["queued", "slow", "wait"],
        ["failed", "rental 1", "drive"],
      ] as const) {
        await from(chip(name));
        const found = row(key).first();
        await seen(found.getByText(name));
        const where = found.getByRole("cell", { name: new RegExp(`${at} .* ago$`) });
        await seen(where);
        const date = await where.locator("time").getAttribute("title");
        expect(date).toContain(String(new Date().getFullYear()));
      }
      // A run without a key shows what it was started with.
      await seen(row("car 0").getByText('{"car":"car 0"}'));
      await page.getByLabel("Search", { exact: true }).fill("NO CARD");
      await page.keyboard.press("Enter");
      await seen(row("no card").first());

      // 2. Why?
      await from(chip("failed"), row("rental 1").getByRole("link"));
      const error = await seen(page.getByRole("region", { name: "Error" }));
      await seen(page.getByText("rental › drive (thrown, attempt 2)"));
      await seen(page.getByText("the car 1 does not start").first());
      const timeline = page.getByRole("region", { name: "Timeline of rental" });
      const state = timeline.getByRole("status");
      expect(await seen(state)).toBeLessThan(error);
      expect(await seen(timeline.getByText("undone").first())).toBeGreaterThan(error);
      await seen(timeline.getByText("rent › compensate"));
      await timeline.getByText("0", { exact: true }).waitFor();
      // It failed, waited, and failed again.
      const bars = timeline.getByRole("img", { name: /attempt 1.*attempt 2/ }).locator("span");
      const strokes = await bars.evaluateAll((all) =>
        all.map((each) => getComputedStyle(each).borderTopStyle),
      );
      expect(new Set(strokes)).toEqual(new Set(["none", "dashed"]));
      const failedIn = await colorOf(state);
      await picture("undone");
      // 3. What may I do?
      for (const name of ["Restart", "Run again", "Remove"]) await seen(button(name));
      await seen(button("Copy").first());
      await button("Restart").click();
      const nodes = dialog().getByLabel("From");
      await eventually(async () =>
        expect(await nodes.locator("option:checked").textContent()).toBe("drive, where it failed"),
      );
      await dialog().getByLabel("Edit the input").check();
      await eventually(async () =>
        expect(await dialog().getByLabel("car").inputValue()).toBe("car 1"),
      );
      await picture("restart");
      await page.keyboard.press("Escape");

      await from(chip("failed"), row("trip").getByRole("link"));
      await seen(page.getByText("Caused by ticket › reserve"));
      await seen(page.getByText("Its failed children"));
      await page.getByRole("link", { name: /^ticket/ }).click();
      await seen(page.locator("dd").getByRole("link", { name: "trip › trip" }));
      await from(chip("stalled"), row("lost").getByRole("link"));
      await seen(page.getByText("its scheduled function was lost"));
      const lost = page.getByRole("region", { name: "Timeline of slow" }).getByRole("listitem");
      await seen(lost.getByText("stalled"));
      await seen(button("Repair"));
      await picture("stalled");
      await from(chip("waiting for an event"), row("order 1").getByRole("link"));
      await seen(button("Send an event"));
      await picture("waiting");
      await from(chip("failed"), button("Restart all"));
      await seen(dialog().getByText(`Runs now: ${seeded.failed}.`));
      await picture("bulk");
      await dialog().getByRole("button", { name: "Back" }).click();
      await runs.click();
      await page.getByLabel("State").selectOption("canceled");
      const stopped = row("canceled");
      await eventually(async () => expect(await stopped.count()).toBe(canceled));
      expect(await colorOf(stopped.first().locator(".badge"))).not.toBe(failedIn);

      // 4. Is the pool the cause?
      await from(page.getByRole("link", { name: "Pool" }));
      const alert = page.getByText("All slots are in use, and steps wait for one.");
      await seen(alert);
      const full = page.getByText(`${onCall.slots} of ${onCall.slots}`, { exact: true });
      expect(await colorOf(full)).toBe(await colorOf(alert));
      expect(await page.getByRole("meter").getAttribute("optimum")).toBe("0");
      const oldest = page.locator("dl > div").filter({ hasText: "The oldest has waited" });
      await seen(oldest.getByText(/\d+ (?:m?s|min)/));
      await seen(button("Change maxParallelism"));
      await page.getByText(/^slow: 5, the first .* ago$/).waitFor();
      const holder = page.getByRole("listitem").filter({ hasText: /^slow › wait, .* ago$/ });
      await eventually(async () => expect(await holder.count()).toBe(onCall.slots));
      await picture("pool");
    },
  );

  test("a stalled run is repaired, and the pool gets more slots", async ({
    tab: page,
    onCall,
    chip,
    row,
    button,
    dialog,
  }) => {
    await page.goto(onCall.url);
    await page.getByRole("link", { name: "Pool" }).click();
    await button("Change maxParallelism").click();
    const slots = dialog().getByLabel("maxParallelism");
    await slots.fill(String(onCall.slots + 20));
    await dialog().getByRole("button", { name: "Change" }).click();
    const used = `${onCall.slots + seeded.queued} of ${onCall.slots + 20}`;
    await page.getByText(used, { exact: true }).waitFor();
    expect(await page.getByText("All slots are in use").count()).toBe(0);
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await chip("stalled").click();
    await row("lost").getByRole("link").click();
    await button("Repair").click();
    await dialog().getByRole("button", { name: "Repair" }).click();
    // It has a button of that name, too.
    await dialog().waitFor({ state: "detached" });
    await button("Repair").waitFor({ state: "detached" });
    await page.getByText("its scheduled function was lost").waitFor({ state: "detached" });
  });
});

const colorOf = async (of: Locator) =>
  await of.evaluate((element) => getComputedStyle(element).color);
