import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import type { DataSource } from "@stepwise/studio";
import { serveStudio } from "@stepwise/studio";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { expect, test as base } from "vitest";
import { openStudio, type OpenStudio, PATIENCE_MS, writeShopWithTrips } from "./app.js";

/** Debian's package `chromium`. */
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
export const hasBrowser = existsSync(executablePath);

/** Where pictures for the docs go, if they are wanted. */
const pictures = process.env["STUDIO_PICTURES"];

/**
 * Tests in a browser. `tab` is an empty tab of their own, and `page` one that shows a studio's list
 * of runs. Each file opens one browser, window and studio for all its tests: a window costs a second
 * of processor time, and a studio three.
 */
export const test = base
  // oxlint-disable-next-line no-empty-pattern -- Vitest reads here what is asked for.
  .extend("browser", { scope: "file" }, async ({}, { onCleanup }) => {
    const browser = await openBrowser();
    onCleanup(() => browser.close());
    return browser;
  })
  .extend("window", { scope: "file" }, async ({ browser }, { onCleanup }) => {
    const window = await openWindow(browser);
    onCleanup(() => window.close());
    // A window is closed with its last tab.
    await window.newPage();
    return window;
  })
  // oxlint-disable-next-line no-empty-pattern -- Vitest reads here what is asked for.
  .extend("app", { scope: "file" }, async ({}, { onCleanup }) => {
    const app = await writeShopWithTrips();
    onCleanup(() => app.remove());
    return app;
  })
  .extend("studio", { scope: "file" }, async ({ app }, { onCleanup }): Promise<OpenStudio> => {
    const studio = await openStudio(app);
    onCleanup(() => studio.close());
    return studio;
  })
  .extend("tab", async ({ window }, { onCleanup }) => {
    const faults: string[] = [];
    const tab = await window.newPage();
    tab.on("pageerror", (error) => faults.push(error.message));
    tab.on("dialog", (dialog) => {
      faults.push(dialog.message());
      void dialog.dismiss();
    });
    onCleanup(async () => {
      // A test may have opened others.
      for (const each of window.pages().slice(1)) await each.close();
      expect(faults).toEqual([]);
    });
    return tab;
  })
  .extend("page", async ({ tab, studio }) => {
    await tab.goto(studio.url);
    return tab;
  })
  .extend("open", ({ page, studio }) => async (place: string) => {
    await page.goto(`${new URL("/", studio.url).href}#/${place}`);
  })
  .extend(
    "button",
    ({ tab }) =>
      (name: string) =>
        tab.getByRole("button", { name, exact: true }),
  )
  .extend(
    "dialog",
    ({ tab }) =>
      () =>
        tab.getByRole("dialog"),
  )
  /** Opens the form that starts a run of a workflow. */
  .extend("choose", ({ page, dialog, button }) => async (workflow: string) => {
    await page.getByRole("link", { name: "Runs", exact: true }).click();
    await button("Start a run").click();
    await dialog().getByLabel("Workflow").selectOption(workflow);
  })
  /** Presses the button of the form, which has the name of the one that opened it. */
  .extend("send", ({ dialog }) => async (name = "Start a run") => {
    await dialog().getByRole("button", { name, exact: true }).click();
  })
  /** Returns the run that the page comes to show. */
  .extend("shownRun", ({ page }) => async (workflow: string): Promise<string> => {
    await page.getByRole("heading", { name: workflow, exact: true }).waitFor();
    return page.url().split("/").at(-1)!;
  })
  .extend(
    "start",
    ({ choose, send, shownRun, dialog }) =>
      async (workflow: string, input: unknown) => {
        await choose(workflow);
        await dialog().getByLabel("Write JSON").check();
        await dialog().getByLabel("Input, as JSON").fill(JSON.stringify(input));
        await send();
        return await shownRun(workflow);
      },
  )
  /** Asks the studio what its page would. */
  .extend("ask", ({ studio }) => async (path: string, args: unknown): Promise<any> => {
    const headers = { authorization: `Bearer ${studio.token}` };
    const body = JSON.stringify(args);
    const response = await fetch(new URL(path, studio.url), { method: "POST", headers, body });
    return await response.json();
  })
  /** Opens a place of a studio whose source always gives the same. */
  .extend("openAnswers", ({ tab }, { onCleanup }) => {
    const opened: Awaited<ReturnType<typeof serveAnswers>>[] = [];
    onCleanup(async () => {
      for (const each of opened) await each.close();
    });
    return async (
      answers: Answers,
      { place = "runs", ...of }: Served & { place?: string } = {},
    ) => {
      const served = await serveAnswers(answers, of);
      opened.push(served);
      await tab.goto(served.url);
      if (place !== "runs") await tab.goto(`${new URL("/", served.url).href}#/${place}`);
      return served;
    };
  });

export async function openBrowser(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu"];
  return await chromium.launch({ executablePath, args });
}

/** Opens a window, which shares nothing with others. */
export async function openWindow(browser: Browser): Promise<BrowserContext> {
  const window = await browser.newContext({ viewport: { width: 1200, height: 900 } });
  window.setDefaultTimeout(PATIENCE_MS);
  return window;
}

/** Takes a picture of a page, if pictures are wanted. */
export async function shown(page: Page, name: string): Promise<void> {
  if (pictures === undefined) return;
  await mkdir(pictures, { recursive: true });
  await page.screenshot({ path: `${pictures}/${name}.png` });
}

/** Returns what is beyond the right edge of a page that must be scrolled to the side. */
export const beyondEdge = async (page: Page): Promise<string[]> =>
  await page.evaluate(() =>
    document.documentElement.scrollWidth <= innerWidth
      ? []
      : [...document.querySelectorAll("body *")]
          .filter((each) => each.getBoundingClientRect().right > innerWidth)
          .map((each) => each.outerHTML.slice(0, 100)),
  );

type Answers = Readonly<Record<string, unknown>>;
interface Served {
  port?: number;
  token?: string;
  plans?: () => unknown;
}

/** Serves a studio whose source always gives the same. */
export async function serveAnswers(answers: Answers, of: Served = {}) {
  const source = {
    read: async (name: string) => answers[name],
    watch: (name: string, _args: unknown, onValue: (value: unknown) => void) => {
      onValue(answers[name]);
      return () => {};
    },
  } as unknown as DataSource;
  return await serveStudio({ source, title: "", plans: () => undefined, ...of });
}
