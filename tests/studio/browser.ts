import { existsSync } from "node:fs";
import { chromium, type Browser, type Page } from "playwright-core";
import { PATIENCE_MS } from "./app.js";

/** Debian's package `chromium`. */
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
export const hasBrowser = existsSync(executablePath);

export const openBrowser = async (): Promise<Browser> =>
  await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"], timeout: 0 });

/**
 * Opens a window. It costs more than a second of processor time, as Chromium loads pages of its own
 * for each: tests share one.
 */
export async function openPage(browser: Browser): Promise<Page> {
  const page = await browser.newPage();
  page.context().setDefaultTimeout(PATIENCE_MS);
  return page;
}

/** Leaves what a window shows, and makes it as it was when it opened. */
export async function leavePage(page: Page): Promise<void> {
  await page.goto("about:blank");
  await page.setViewportSize({ width: 1200, height: 900 });
  await page.emulateMedia({ colorScheme: null });
}
