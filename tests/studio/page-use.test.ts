/** @module-tag large */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect } from "vitest";
import { eventually } from "./app.js";
import { hasBrowser, beyondEdge, test } from "./browser.js";
import { contrastOf } from "./contrast.js";

describe.skipIf(!hasBrowser)("the page of the studio", () => {
  test("everything is done by the keyboard, and the focus stays where it is used", async ({
    page,
    ask,
    dialog,
  }) => {
    const { keyboard } = page;
    const focused = page.locator(":focus");
    const name = async () =>
      await page.evaluate(() => {
        const { activeElement: at } = document;
        if (at === null || at === document.body) return "";
        const label = (at as HTMLInputElement).labels?.[0]?.firstChild?.textContent;
        return (at.getAttribute("aria-label") ?? label ?? at.textContent).trim();
      });
    /** Goes on to what has this name. */
    const reach = async (wanted: string, key = "Tab") => {
      for (let n = 0; n < 60; n++) {
        if ((await name()) === wanted) return;
        await keyboard.press(key);
      }
      expect(await name()).toBe(wanted);
    };
    /** Opens a dialog, which holds the focus and gives it back, and does what it asks about. */
    const act = async (wanted: string, fill = async () => {}) => {
      await page.getByRole("button", { name: wanted, exact: true }).waitFor();
      await reach(wanted);
      await keyboard.press("Enter");
      await dialog().waitFor();
      for (let n = 0; n < 8; n++) {
        await keyboard.press("Tab");
        expect(await focused.count()).toBe(await dialog().locator(":focus").count());
      }
      await keyboard.press("Escape");
      await dialog().waitFor({ state: "hidden" });
      expect(await name()).toBe(wanted);
      await keyboard.press("Enter");
      await dialog().waitFor();
      await fill();
      await reach("Back");
      await reach(wanted);
      await keyboard.press("Enter");
      await dialog().waitFor({ state: "hidden" });
    };

    const input = { items: [], card: "visa" };
    await ask("/write/start", { workflow: "order", input, key: "by keyboard" });
    await page.getByRole("cell", { name: "by keyboard" }).waitFor();
    await page
      .locator("option", { hasText: /^order$/ })
      .first()
      .waitFor({ state: "attached" });
    await reach("Workflow");
    // One letter: on a busy machine the next one may come as another search.
    await keyboard.press("o");
    await page.waitForURL(/workflow=order/);
    await reach("Search");
    await keyboard.type("by key");
    await keyboard.press("Enter");
    await page.waitForURL(/text=by\+key/);
    await page.getByRole("cell", { name: "by keyboard" }).waitFor();
    await reach("order");
    await keyboard.press("Enter");
    await page.getByRole("heading", { name: "order by keyboard" }).waitFor();
    await reach("Copy");
    await keyboard.press("Enter");
    await page.getByText("Copied").waitFor();
    await page.reload();
    await act("Pause");
    await eventually(async () => expect(await name()).toBe("Resume"));
    await act("Resume");
    await eventually(async () => expect(await name()).toBe("Pause"));
    await page.reload();
    await act("Cancel");
    await eventually(async () => expect(await focused.count()).toBe(1));
    await act("Restart");
    await page.getByText("generation 2").waitFor();
    await act("Send an event", async () => {
      await reach("by");
      await keyboard.type("Ada");
    });
    await page.getByText('"by": "Ada"').first().waitFor();
    await act("Remove");
    await page.getByRole("heading", { name: "Runs" }).waitFor();
  });

  test("a button that goes away before it is answered leaves its focus to another", async ({
    page,
    start,
    dialog,
    button,
  }) => {
    await start("order", { items: [], card: "visa" });
    await page.route("**/write/cancel", async (route) => {
      const response = await route.fetch();
      await button("Cancel").waitFor({ state: "detached" });
      await route.fulfill({ response });
    });
    await button("Cancel").click();
    await dialog().getByRole("button", { name: "Cancel" }).press("Enter");
    await button("Restart").waitFor();
    await eventually(async () => expect(await page.locator("button:focus").count()).toBe(1));
  });

  test("nothing on a page moves by itself, whatever the system prefers", async ({
    page,
    start,
    open,
  }) => {
    await start("order", { items: ["a"], card: "" });
    const places = [new URL(page.url()).hash.slice(2), "runs", "workflows/order", "pool"];
    for (const reducedMotion of ["no-preference", "reduce"] as const) {
      await page.emulateMedia({ reducedMotion });
      for (const place of places) {
        await open(place);
        await page.getByRole("heading", { level: 1 }).waitFor();
        const moving = await page.evaluate(() =>
          [...document.querySelectorAll("*")]
            .filter((each) => {
              const { animationName, transitionDuration, scrollBehavior } = getComputedStyle(each);
              return (
                animationName !== "none" || transitionDuration !== "0s" || scrollBehavior !== "auto"
              );
            })
            .map((each) => each.outerHTML.slice(0, 100)),
        );
        expect([place, moving]).toEqual([place, []]);
      }
    }
  });

  test("the page asks no server but its own", async ({ page, start, open, studio }) => {
    const hosts = new Set<string>();
    page.on("request", (request) => hosts.add(new URL(request.url()).host));
    await page.reload();
    await start("order", { items: ["a"], card: "" });
    for (const place of ["runs", "workflows", "pool"]) {
      await open(place);
      await page.getByRole("heading", { level: 1 }).waitFor();
    }
    expect([...hosts]).toEqual([new URL(studio.url).host]);
  });

  test.for(["light", "dark"] as const)(
    "texts can be read in %s colours",
    async (colorScheme, { page, start }) => {
      await start("order", { items: ["a"], card: "" });
      await page.getByText("2 errors").waitFor();
      await page.emulateMedia({ colorScheme });
      for (const each of ["body", "h1", "nav a", "dt", ".stepwise-name", ".stepwise-result"])
        await eventually(async () =>
          expect(await contrastOf(page.locator(each).first()), each).toBeGreaterThanOrEqual(4.5),
        );
    },
  );

  test("on a phone nothing is wider than the screen", async ({
    page,
    button,
    dialog,
    start,
    open,
  }) => {
    const long = "aNameThatIsLongerThanAPhoneIsWideAndHasNoPlaceToBreak";
    await start(long, {});
    const [, run = ""] = page.url().split("#/");
    await page.setViewportSize({ width: 390, height: 800 });
    const places = {
      runs: page.getByRole("link", { name: long }).first(),
      [`workflows/${long}`]: page.getByRole("img", { name: `Graph of ${long}` }),
      pool: page.getByRole("meter"),
      [run]: page.getByRole("region", { name: `Timeline of ${long}` }).getByText("completed"),
    };
    for (const [place, shows] of Object.entries(places)) {
      await open(place);
      await shows.first().waitFor();
      expect([place, await beyondEdge(page)]).toEqual([place, []]);
    }
    await open("runs");
    await button("Start a run").click();
    await dialog().getByLabel("Workflow").selectOption(long);
    const box = await dialog().boundingBox();
    expect(box!.x).toBeGreaterThan(0);
    expect(box!.x + box!.width).toBeLessThan(390);
    expect(await dialog().evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
  });

  test("a page needs one connection for all that is live, and none while it is out of sight", async ({
    page,
    button,
    start,
    ask,
  }) => {
    const streams = new Set<unknown>();
    page.on("request", (request) => /live|watch/.test(request.url()) && streams.add(request));
    for (const event of ["requestfinished", "requestfailed"] as const)
      page.on(event as "requestfinished", (request) => streams.delete(request));
    await page.reload();
    await start("order", { items: ["a"], card: "visa" });
    await button("Restart").or(button("Cancel")).waitFor();
    await eventually(() => expect(streams.size).toBe(1));
    const see = async (isHidden: boolean) =>
      await page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
      }, isHidden);
    await see(true);
    await eventually(() => expect(streams.size).toBe(0));
    await ask("/write/cancel", { runId: page.url().split("/").at(-1) });
    await see(false);
    await button("Remove").waitFor();
    await eventually(() => expect(streams.size).toBe(1));
    await eventually(async () => expect(await page.getByRole("alert").count()).toBe(0));
  });

  test("a page of another origin neither shows nor reads nor steers, even with the token", async ({
    page,
    ask,
    studio,
  }) => {
    const before = (await ask("/read/runs", { cursor: null })).page.length;
    const evil = createServer((_request, response) => {
      response.setHeader("content-type", "text/html");
      response.end(`<iframe src="${studio.url}"></iframe>`);
    });
    await new Promise<void>((listening) => evil.listen(0, "127.0.0.1", listening));
    const refused: string[] = [];
    page.on("console", (message) => refused.push(message.text()));
    await page.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}`);
    const { url, token } = studio;
    const answers = await page.evaluate(
      async ([address, authorization]) => {
        const send = async (path: string, body: string, how: RequestInit) =>
          await fetch(new URL(path, address), { method: "POST", body, ...how }).then(
            async (response) => await response.text(),
            () => "failed",
          );
        const opened = window.open(address)!;
        /** Until it has opened, it is an empty page of this origin. */
        const look = async (): Promise<string> => {
          for (;;) {
            try {
              const text = opened.document.body.innerText;
              if (text !== "") return text;
            } catch {
              return "failed";
            }
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        };
        return [
          await send("/read/runs", '{ "cursor": null }', { headers: { authorization } }),
          await send("/write/start", '{ "workflow": "slow", "input": {} }', { mode: "no-cors" }),
          await look(),
        ];
      },
      [url, `Bearer ${token}`] as const,
    );
    expect(answers).toEqual(["failed", "", "failed"]);
    await eventually(() => expect(refused.join()).toContain("frame-ancestors"));
    expect((await ask("/read/runs", { cursor: null })).page.length).toBe(before);
    evil.close();
  });
});
