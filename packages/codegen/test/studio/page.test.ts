/** @module-tag large */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { TestApp } from "../dev-server/app.js";
import { openStudio, writeShop, type OpenStudio } from "./app.js";

/** Debian's package `chromium`. */
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
/** Where pictures for the docs go, if they are wanted. */
const pictures = process.env["STUDIO_PICTURES"];

describe.skipIf(!existsSync(executablePath))("in a browser", () => {
  let app: TestApp;
  let studio: OpenStudio;
  let browser: Browser;
  let page: Page;
  let faults: string[];

  beforeAll(async () => {
    app = await writeShop();
    studio = await openStudio(app);
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    await studio.close();
    await app.remove();
  });
  beforeEach(async () => {
    faults = [];
    page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
    page.setDefaultTimeout(20_000);
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("dialog", (dialog) => {
      faults.push(dialog.message());
      void dialog.dismiss();
    });
    await page.goto(studio.url);
    return async () => {
      await page.close();
      expect(faults).toEqual([]);
    };
  });

  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const dialog = () => page.getByRole("dialog");

  async function start(workflow: string, input: unknown): Promise<void> {
    await page.getByRole("link", { name: "Runs" }).click();
    await button("Start a run").click();
    await dialog().getByLabel("Workflow").selectOption(workflow);
    await dialog().getByLabel("Input, as JSON").fill(JSON.stringify(input));
    await dialog().getByRole("button", { name: "Start a run" }).click();
    await page.getByRole("heading", { name: workflow, exact: true }).waitFor();
  }

  async function shown(name: string): Promise<void> {
    if (pictures === undefined) return;
    await mkdir(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}/${name}.png` });
  }

  test("a run is started from the page, gets an event, and is followed to its end", async () => {
    await start("order", { items: ["a", "b", "c"], card: "visa" });
    await button("Send an event").click();
    await dialog().getByLabel("Payload, as JSON").fill('{ "by": "Ada" }');
    await dialog().getByRole("button", { name: "Send an event" }).click();
    const timeline = page.getByRole("region", { name: "Timeline of order" });
    await timeline.getByText("✓ completed").first().waitFor();
    await page.getByText('"by": "Ada"').first().waitFor();
    await vi.waitFor(async () => expect(await page.getByRole("row").count()).toBe(4));
    await shown("run");
    await page.getByRole("link", { name: "parcel" }).first().click();
    await page.getByText("Child of").waitFor();
  });

  test("a run that fails shows why, as text, and can be restarted", async () => {
    await start("order", { items: [], card: "" });
    await page.getByText("2 errors").click();
    await page.getByText("Attempt 2: no card <script>alert(1)</script>").waitFor();
    await shown("failed");
    await button("Restart").click();
    await dialog().getByRole("button", { name: "Restart" }).click();
    await page.getByText("generation 2").waitFor();
  });

  test("a run is paused, resumed and canceled", async () => {
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
  });

  test("an input that does not fit is said in the dialog", async () => {
    await button("Start a run").click();
    await dialog().getByLabel("Workflow").selectOption("order");
    await dialog().getByRole("button", { name: "Start a run" }).click();
    await page.getByRole("heading", { name: "order", exact: true }).waitFor();
    await page.getByRole("link", { name: "Runs" }).click();
    await button("Start a run").click();
    await dialog().getByLabel("Input, as JSON").fill("{ nonsense");
    await dialog().getByRole("button", { name: "Start a run" }).click();
    await dialog().getByRole("alert").getByText("This is not JSON").waitFor();
  });

  test("runs are filtered, and the filter stands in the address", async () => {
    await start("parcel", { item: "a" });
    await page.goto(`${new URL("/", studio.url).href}#/runs?workflow=parcel&state=completed`);
    await page.getByRole("cell", { name: "parcel" }).first().waitFor();
    expect(await page.getByRole("cell", { name: "order" }).count()).toBe(0);
    await page.getByLabel("State").selectOption("failed");
    await page.getByText("No runs.").waitFor();
    expect(page.url()).toContain("state=failed");
  });

  test("a workflow's graph, and the pool, are shown", async () => {
    await page.getByRole("link", { name: "Workflows" }).click();
    await page.getByRole("img", { name: "Graph of order" }).waitFor();
    await shown("workflows");
    await page.getByRole("link", { name: "Pool" }).click();
    await page.getByText("slots in use").waitFor();
  });

  test("a studio that was closed says so, and one that is opened again goes on", async () => {
    await page.route("**/watch/**", (route) => route.abort());
    await page.reload();
    await page.getByText("The studio does not answer").first().waitFor();
    await page.unroute("**/watch/**");
    await page.getByText("The studio does not answer").first().waitFor({ state: "detached" });
  });

  test("on a phone nothing is wider than the screen", async () => {
    await start("parcel", { item: "a" });
    await page.setViewportSize({ width: 390, height: 800 });
    const isWide = async () =>
      await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    for (const place of ["runs", "workflows", "pool"]) {
      await page.goto(`${new URL("/", studio.url).href}#/${place}`);
      await page.getByRole("main").waitFor();
      expect([place, await isWide()]).toEqual([place, false]);
    }
  });
});
