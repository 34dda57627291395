/** @module-tag large */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

/** Debian's package `chromium`. */
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
/** Where pictures for the docs go, if you want them. */
const pictures = process.env["APPROVAL_PICTURES"];
const root = fileURLToPath(new URL("..", import.meta.url));

/** The address that a development server prints. Its output stays open: it prints more later. */
const addressOf = async ({ stdout }: ChildProcess): Promise<string> =>
  await new Promise((resolve, reject) => {
    let printed = "";
    stdout?.on("data", (part) => {
      printed += String(part);
      const [, url] = /Local: +(\S+)/.exec(printed) ?? [];
      if (url !== undefined) resolve(url);
    });
    stdout?.on("close", () => reject(new Error(`Vite has not started: ${printed}`)));
  });

describe.skipIf(!existsSync(executablePath))("the page, in a browser", () => {
  let server: ChildProcess;
  let browser: Browser;
  let page: Page;
  const faults: string[] = [];

  beforeAll(async () => {
    vi.useRealTimers();
    const vite = createRequire(import.meta.url).resolve("vite/package.json");
    const bin = join(dirname(vite), "bin/vite.js");
    const args = ["--mode", "embedded", "--host", "127.0.0.1", "--port", "0"];
    // A process of its own: the tests' own loads the packages from their sources.
    server = spawn(process.execPath, [bin, ...args], {
      cwd: root,
      env: { ...process.env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const url = await addressOf(server);
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
    page = await browser.newPage({ viewport: { width: 1000, height: 900 } });
    page.setDefaultTimeout(300_000);
    page.on("pageerror", (error) => faults.push(error.message));
    await page.goto(url);
  });
  afterAll(async () => {
    await browser.close();
    server.kill();
  });

  const picture = async (name: string) => {
    if (pictures === undefined) return;
    await mkdir(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
  };
  const wideAs = async () => await page.evaluate("document.documentElement.scrollWidth");

  test("an expense is submitted, approved and paid at the second attempt, and the page follows", async () => {
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByText("waiting for decision").waitFor();
    // Only the manager decides, and Ada has submitted it.
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    await page.getByRole("combobox").selectOption("grace");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("status").getByText("completed").waitFor();
    await page
      .getByRole("img", { name: /\battempt 1 failed after .*, attempt 2 ran for/ })
      .waitFor();
    await page.getByRole("img", { name: "Graph of approveExpense" }).waitFor();
    expect(await page.locator("svg [data-tone=good]").count()).toBe(8);
    expect(await wideAs()).toBe(1000);
    await picture("approval");
  });

  test("on a phone, in the dark, nothing is cut off", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await wideAs()).toBe(390);
    await picture("approval-phone");
    expect(faults).toEqual([]);
  });
});
