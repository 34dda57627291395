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
  let streams = 0;

  beforeAll(async () => {
    vi.useRealTimers();
    const vite = createRequire(import.meta.url).resolve("vite/package.json");
    const bin = join(dirname(vite), "bin/vite.js");
    const flags = ["--mode", "embedded", "--host", "127.0.0.1", "--port", "0"];
    // A process of its own: the tests' own loads the packages from their sources.
    server = spawn(process.execPath, [bin, ...flags], {
      cwd: root,
      env: { ...process.env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const url = await addressOf(server);
    const args = ["--no-sandbox", "--disable-gpu"];
    // What hangs is ended by the test's own limit: a busy machine may be as slow as it likes.
    browser = await chromium.launch({ executablePath, args, timeout: 0 });
    page = await browser.newPage({ viewport: { width: 1000, height: 900 } });
    page.setDefaultTimeout(0);
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("request", (request) => {
      if (request.resourceType() === "eventsource") streams++;
    });
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

  /** Holds the next answer to a query. What is returned lets it go, when it is old. */
  const holdAnswer = async (path: string) => {
    let release = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    let answered: Promise<void> | undefined;
    await page.route("**/api/query", async (route) => {
      const { path: asked } = route.request().postDataJSON() as { path: string };
      if (answered !== undefined || asked !== path) return await route.continue();
      const answer = async () => {
        const response = await route.fetch();
        await released;
        await route.fulfill({ response });
      };
      await (answered = answer());
    });
    return async () => {
      release();
      await answered;
      await page.unroute("**/api/query");
      // What it says has been drawn.
      await page.evaluate("new Promise((next) => setTimeout(() => requestAnimationFrame(next)))");
    };
  };

  test("an expense is submitted, approved and paid at the second attempt, and the page follows", async () => {
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByText("waiting for decision").waitFor();
    // Only the manager decides, and Ada has submitted it.
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    await page.getByRole("combobox").selectOption("grace");
    const late = await holdAnswer("expenses:status");
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("status").getByText("completed").waitFor();
    await late();
    expect(await page.getByRole("status").textContent()).toContain("completed");
    await page
      .getByRole("img", { name: /\battempt 1 failed after .*, attempt 2 ran for/ })
      .waitFor();
    await page.getByRole("img", { name: "Graph of approveExpense" }).waitFor();
    expect(await page.locator("svg [data-tone=good]").count()).toBe(8);
    expect(await wideAs()).toBe(1000);
    await picture("approval");
    // A browser keeps few connections to a server: each user must not need one more.
    for (const user of ["ada", "grace"]) {
      await page.getByRole("combobox").selectOption(user);
      await page.getByRole("status").getByText("completed").waitFor();
    }
    expect(streams).toBe(1);
  });

  test("on a phone, in the dark, nothing is cut off", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await wideAs()).toBe(390);
    // The graph has less room now, and still begins with its first node.
    const graph = page.getByRole("img", { name: "Graph of approveExpense" });
    const first = graph.getByText(/\bexpense$/);
    await page.evaluate("new Promise(requestAnimationFrame)");
    const { x, width } = (await first.last().boundingBox())!;
    expect(x).toBeGreaterThan(0);
    expect(x + width).toBeLessThan(390);
    await picture("approval-phone");
    expect(faults).toEqual([]);
  });
});
