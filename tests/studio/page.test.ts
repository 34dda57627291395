/** @module-tag large */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type DataSource, localSource, serveStudio } from "@stepwise/studio";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openLocalApp } from "../../packages/codegen/src/dev-server/index.js";
import type { TestApp } from "../../packages/codegen/test/dev-server/app.js";
import {
  eventually,
  openDeployedStudio,
  openPage,
  openStudio,
  writeShopWithTrips,
  type OpenStudio,
} from "./app.js";
import { openOnCall, seeded } from "./on-call.js";

/** Debian's package `chromium`. */
const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
/** Where pictures for the docs go, if they are wanted. */
const pictures = process.env["STUDIO_PICTURES"];

/** A studio whose source always gives the same. */
async function serveAnswers(
  answers: Readonly<Record<string, unknown>>,
  of: { port?: number; token?: string; plans?: () => unknown },
) {
  const source = {
    read: async (name: string) => answers[name],
    watch: (name: string, _args: unknown, onValue: (value: unknown) => void) => {
      onValue(answers[name]);
      return () => {};
    },
  } as unknown as DataSource;
  return await serveStudio({ source, title: "", plans: () => undefined, ...of });
}

const failure = { message: "no", kind: "thrown", workflow: "pack", node: "a", attempt: 1 };
/** A run with an action that waited long, two waits, and children of which one failed. */
const whatHappened = {
  workflows: [],
  run: {
    runId: "r1",
    workflow: "order",
    state: "running",
    createdAt: 0,
    startedAt: 0,
    generation: 1,
    paused: false,
    active: [],
    kept: [],
    input: { id: 1 },
  },
  input: { id: 1 },
  steps: {
    page: [
      { node: "work", queuedAt: 0, beganAt: 17_000, startedAt: 0, endedAt: 17_500 },
      { node: "ask", kind: "event", isTimedOut: true, startedAt: 17_500, endedAt: 30_000 },
      {
        node: "decide",
        kind: "event",
        events: ["granted", "refused"],
        event: "refused",
        startedAt: 30_000,
        endedAt: 40_000,
      },
      {
        node: "packed",
        kind: "children",
        id: "c",
        children: { total: 4, done: 0, failed: 1, canceled: 3, running: 0 },
        startedAt: 40_000,
        endedAt: 60_000,
      },
      { node: "tell", state: "pending", queuedAt: 60_000, startedAt: 60_000 },
    ].map((step) => ({ kind: "action", state: "completed", errors: [], attempt: 1, ...step })),
    isDone: true,
    continueCursor: "",
  },
  runs: {
    page: [0, 1, 2, 3].map((index) => ({
      runId: `p${index}`,
      workflow: "pack",
      state: index === 1 ? "failed" : "canceled",
      ...(index === 1 ? { error: failure } : {}),
      createdAt: 40_000,
      startedAt: index < 2 ? 40_000 : 60_000,
      endedAt: 60_000,
      parentRunId: "r1",
      generation: 1,
      paused: false,
      index,
    })),
    isDone: true,
    continueCursor: "",
    searched: 4,
  },
};

describe.skipIf(!existsSync(executablePath))("in a browser", () => {
  let app: TestApp;
  /** That of the embedded back end. */
  let local: OpenStudio;
  let studio: OpenStudio;
  let deployed: Awaited<ReturnType<typeof openDeployedStudio>>;
  let browser: Browser;
  let page: Page;
  let faults: string[];

  beforeAll(async () => {
    app = await writeShopWithTrips();
    const run = ["run", "anything", "--input", '{ "value": "the first" }', "--studio"];
    local = studio = await openStudio(app, run);
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  });
  afterAll(async () => {
    await browser.close();
    await local.close();
    await app.remove();
  });
  beforeEach(async () => {
    faults = [];
    page = await openPage(browser, { viewport: { width: 1200, height: 900 } });
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("dialog", (dialog) => {
      faults.push(dialog.message());
      void dialog.dismiss();
    });
    await page.goto(studio.url);
    await open("runs");
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
    await dialog().getByLabel("Write JSON").check();
    await dialog().getByLabel("Input, as JSON").fill(JSON.stringify(input));
    await dialog().getByRole("button", { name: "Start a run" }).click();
    await page.getByRole("heading", { name: workflow, exact: true }).waitFor();
  }

  /** What a page would ask. */
  async function ask(path: string, args: unknown): Promise<any> {
    const headers = { authorization: `Bearer ${studio.token}` };
    const body = JSON.stringify(args);
    const response = await fetch(new URL(path, studio.url), { method: "POST", headers, body });
    return await response.json();
  }
  const open = async (place: string) =>
    await page.goto(`${new URL("/", studio.url).href}#/${place}`);

  async function shown(name: string): Promise<void> {
    if (pictures === undefined || studio !== local) return;
    await mkdir(pictures, { recursive: true });
    await page.screenshot({ path: `${pictures}/${name}.png` });
  }

  test("run --studio opens the studio on the run", async () => {
    await page.goto("about:blank");
    await page.goto(studio.url);
    await page.getByRole("heading", { name: "anything", exact: true }).waitFor();
    await page.getByText('"the first"', { exact: true }).first().waitFor();
  });

  describe.each([
    ["the embedded back end", "local"],
    ["the functions of defineStudioApi", "deployed"],
  ])("over %s", (_source, kind) => {
    /** What the page does itself, whatever answers it. */
    const ofPage = test.runIf(kind === "local");
    beforeAll(async () => {
      if (kind === "deployed") studio = deployed = await openDeployedStudio(app);
    }, 60_000);
    afterAll(async () => {
      if (kind === "deployed") await studio.close();
      studio = local;
    });

    test("a run is started from the page, gets an event, and is followed to its end", async () => {
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
      await shown("run");
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

    test("a run that fails shows why, as text, and can be restarted", async () => {
      await start("order", { items: [], card: "" });
      await page.getByText("2 errors").click();
      await page.getByText("Attempt 2: no card <script>alert(1)</script>").waitFor();
      await page.getByText("order › charge (thrown, attempt 2)").waitFor();
      expect(await page.title()).toContain("Run ");
      await shown("failed");
      await button("Restart").click();
      await dialog().getByRole("button", { name: "Restart" }).click();
      await page.getByText("generation 2").waitFor();
    });

    test("a run is restarted from a node, with an input that was edited", async () => {
      const input = { value: [1, { a: "x" }], size: "large", count: { $integer: "DAAAAAAAAAA=" } };
      const runId = await ask("/write/start", { workflow: "anything", input });
      await open(`runs/${runId}`);
      await button("Restart").click();
      await dialog().getByLabel("From").selectOption("keep");
      await dialog().getByLabel("Edit the input").check();
      const value = dialog().getByLabel("value, as JSON");
      expect(JSON.parse(await value.inputValue())).toEqual(input.value);
      expect(await dialog().getByLabel("count (optional)").inputValue()).toBe("12");
      await value.fill("{ nonsense");
      await dialog().getByRole("button", { name: "Restart" }).click();
      await dialog().getByRole("alert").getByText("This is not JSON").waitFor();
      await value.fill('"another"');
      await dialog().getByRole("button", { name: "Restart" }).click();
      await page.getByText("generation 2").waitFor();
      await eventually(async () =>
        expect(await ask("/read/run", { runId })).toMatchObject({ output: "another" }),
      );
      const edited = { ...input, value: "another" };
      expect(await ask("/read/input", { runId })).toEqual(edited);
    });

    test("a run is started again with its input, unless that is sensitive", async () => {
      const input = { value: "once", size: "large", count: { $integer: "DAAAAAAAAAA=" } };
      const runId = (await ask("/write/start", { workflow: "anything", input })) as string;
      await open("runs?workflow=anything");
      await page.getByText('"value":"once"').waitFor();
      await open(`runs/${runId}`);
      await button("Run again").click();
      await dialog().getByLabel("value, as JSON").fill('"again"');
      await dialog().getByRole("button", { name: "Run again" }).click();
      await page.waitForURL((url) => url.hash.startsWith("#/runs/") && !url.hash.includes(runId));
      const [other = ""] = /[^/]+$/.exec(new URL(page.url()).hash) ?? [];
      expect(await ask("/read/input", { runId: other })).toEqual({ ...input, value: "again" });
    });

    test("an input that its schema would change twice is not edited", async () => {
      await start("shout", { text: "a" });
      await page.getByText('"text": "a!"').first().waitFor();
      await button("Restart").click();
      await dialog().getByLabel("Edit the input").check();
      await dialog().getByLabel("text").fill("b");
      await dialog().getByRole("button", { name: "Restart" }).click();
      await dialog().getByRole("alert").getByText("Start a new run with your input").waitFor();
    });

    test("a run is paused, resumed, canceled and removed", async () => {
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

    ofPage("an input is asked for field by field, or as JSON", async () => {
      await button("Start a run").click();
      await dialog().getByLabel("Workflow").selectOption("anything");
      await dialog().getByLabel("value, as JSON").fill('[{ "a": 1 }]');
      await dialog().getByLabel("size (optional)").selectOption("large");
      await dialog().getByLabel("count (optional)").fill("12");
      await dialog().getByRole("button", { name: "Start a run" }).click();
      await page.getByRole("heading", { name: "anything", exact: true }).waitFor();
      const runId = page.url().split("/").at(-1);
      expect(await ask("/read/input", { runId })).toEqual({
        value: [{ a: 1 }],
        size: "large",
        count: { $integer: "DAAAAAAAAAA=" },
      });
      await page.getByRole("link", { name: "Runs" }).click();
      await button("Start a run").click();
      await dialog().getByLabel("Workflow").selectOption("vault");
      await dialog().getByLabel("isOpen").selectOption("true");
      await dialog().getByRole("button", { name: "Start a run" }).click();
      await page.getByRole("heading", { name: "vault", exact: true }).waitFor();
    });

    ofPage("a list is asked for in lines, unless they cannot say what is in it", async () => {
      await open("runs");
      await button("Start a run").click();
      await dialog().getByLabel("Workflow").selectOption("order");
      await dialog().getByLabel("items, one on each line").fill("a b\n\nc\n");
      await dialog().getByLabel("card").fill("visa");
      await dialog().getByRole("button", { name: "Start a run" }).click();
      await page.getByRole("heading", { name: "order", exact: true }).waitFor();
      const runId = page.url().split("/").at(-1);
      const input = { items: ["a b", "c"], card: "visa" };
      expect(await ask("/read/input", { runId })).toEqual(input);
      await button("Run again").click();
      const items = dialog().getByLabel(/^items, /);
      expect(await items.inputValue()).toBe("a b\nc");
      const odd = { ...input, items: ["two\nlines", ""] };
      const other = await ask("/write/start", { workflow: "order", input: odd });
      await open(`runs/${other}`);
      await page.getByText("two").first().waitFor();
      await button("Run again").click();
      expect(JSON.parse(await dialog().getByLabel("items, as JSON").inputValue())).toEqual(
        odd.items,
      );
    });

    ofPage("a form starts out with what its schema asks for, also after a reload", async () => {
      const empty = { street: "", tags: [] };
      await open("runs?workflow=either");
      await page.reload();
      await button("Start a run").click();
      const whole = dialog().getByLabel("Input, as JSON");
      expect(JSON.parse(await whole.inputValue())).toEqual(empty);
      await dialog().getByLabel("Workflow").selectOption("letter");
      const to = dialog().getByLabel("to, as JSON");
      expect(JSON.parse(await to.inputValue())).toEqual(empty);
      const send = dialog().getByRole("button", { name: "Start a run" });
      const stamps = dialog().getByLabel("stamps");
      const problem = dialog().getByRole("alert");
      await stamps.fill("1e3");
      await send.click();
      await problem.getByText("stamps: write the integer in digits").waitFor();
      await stamps.fill("9007199254740993");
      await to.fill("{ nonsense");
      await send.click();
      await problem.getByText("to: This is not JSON").waitFor();
      await to.fill('{ "street": "Main", "tags": ["a"] }');
      await send.click();
      await page.getByRole("heading", { name: "letter", exact: true }).waitFor();
      const runId = page.url().split("/").at(-1);
      expect(await ask("/read/input", { runId })).toEqual({
        to: { street: "Main", tags: ["a"] },
        stamps: { $integer: "AQAAAAAAIAA=" },
      });
    });

    test("an input that does not fit is said in the dialog", async () => {
      await button("Start a run").click();
      await dialog().getByLabel("Workflow").selectOption("order");
      await dialog().getByLabel("Write JSON").check();
      await dialog().getByLabel("Input, as JSON").fill("{ nonsense");
      await dialog().getByRole("button", { name: "Start a run" }).click();
      await dialog().getByRole("alert").getByText("This is not JSON").waitFor();
      await dialog().getByLabel("Input, as JSON").fill('{ "items": "none", "card": "" }');
      await dialog().getByRole("button", { name: "Start a run" }).click();
      await dialog().getByRole("alert").getByText("input.items").waitFor();
    });

    ofPage("a run is opened by its id from the search", async () => {
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

    test("runs are filtered, and the filter stands in the address", async () => {
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

    test("[S181] the list says what runs do and where, and counts and lists them by that", async () => {
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

    test("[S182] runs show their tags, and are found by one", async () => {
      for (const [org, seats] of [
        ["acme", 3],
        ["other", 3],
      ])
        await ask("/write/start", { workflow: "member", input: { org, seats }, key: org });
      await open("runs");
      await page.getByRole("row").filter({ hasText: "org: acme seats: 3" }).waitFor();
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

    ofPage("filters that are changed one right after the other are both taken", async () => {
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

    ofPage(
      "an address with a state or workflow that does not exist says so, and offers nothing to do",
      async () => {
        await open("runs?state=odd");
        await page.getByRole("alert").getByText('There is no state "odd".').waitFor();
        expect(await button("Restart all").count()).toBe(0);
        // Which nodes there are is known with the workflow.
        expect(await page.getByLabel("At node").isDisabled()).toBe(true);
        const start = { workflow: "parcel", input: { item: "a" }, key: "a state of its own" };
        await ask("/write/start", start);
        await page.getByRole("link", { name: "show all runs" }).click();
        await page.getByRole("cell", { name: start.key }).waitFor();
        await open("runs?workflow=nobodys");
        await page.getByRole("alert").getByText("Its workflows are: ").waitFor();
        expect(await page.getByRole("region", { name: "Runs" }).count()).toBe(0);
      },
    );

    test("[S183] all runs of a filter are canceled or restarted, also if the page is closed", async () => {
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
      expect(await page.getByRole("listitem").filter({ hasText: /ago/ }).count()).toBe(2);
    });

    test("a workflow's graph, its costs and changes, and the pool, are shown", async () => {
      await page.getByRole("link", { name: "Workflows" }).click();
      // The list of runs, which may still be shown, has links of this name too.
      const workflows = page.getByRole("navigation", { name: "Workflows" });
      await workflows.getByRole("link", { name: "order", exact: true }).click();
      await page.getByRole("img", { name: "Graph of order" }).waitFor();
      await page
        .getByRole("cell", { name: "parcels.finalize" })
        .or(page.getByRole("cell", { name: "charge" }))
        .first()
        .waitFor();
      await page.getByText("The deployed plan is the one in your code.").waitFor();
      await page.getByText(/^Compared with /).waitFor();
      await shown("workflows");
      await page.getByRole("link", { name: "Pool" }).click();
      await page.getByRole("meter", { name: "Slots in use" }).waitFor();
      for (const tile of ["Steps in the queue", "Waiting for a retry", "Next watchdog check"])
        await page.getByText(tile).waitFor();
    });

    test("a limit and a key are changed, paused and given back from the page of the pool", async () => {
      let release = () => {};
      const held = { held: new Promise<void>((resolve) => (release = resolve)) };
      Object.assign(globalThis, held);
      for (const org of ["acme", "acme", "acme", "other"])
        await ask("/write/start", { workflow: "call", input: { org } });
      await eventually(async () =>
        expect((await ask("/read/limits", {}))[1]).toMatchObject({ running: 2, waiting: 2 }),
      );
      await open("pool");
      const limits = page.getByRole("region", { name: "Limits" });
      const keys = limits.getByRole("list", { name: "Keys of org" });
      await limits.getByText(/^2 of 4 running, 1 for each key, 2 waiting, the first/).waitFor();
      await keys.getByText(/^1 of 1 running, 2 waiting, the first/).waitFor();
      await keys.getByText("1 of 1 running, 0 waiting").waitFor();
      const say = async (name: string, fill?: () => Promise<unknown>) => {
        const opens = limits.getByRole("button", { name, exact: true });
        await opens.click();
        await fill?.();
        const text = (await opens.textContent())!;
        await dialog().getByRole("button", { name: text, exact: true }).click();
        await dialog().waitFor({ state: "hidden" });
      };
      await say("Change org: acme", async () => {
        await dialog().getByLabel("For this key").fill("2");
        await dialog().getByLabel("Holds").selectOption("for 1 hour");
      });
      await keys.getByText(/^2 of 2 running, 1 waiting, the first/).waitFor();
      await keys
        .getByText(/^Overridden by studio .*, until .*:.* The code says 1 for each/)
        .waitFor();
      await say("Reset org: acme");
      await keys.getByText(/^2 of 1 running, 1 waiting/).waitFor();
      await say("Pause org");
      await limits.getByText(/^Paused by studio .*, until somebody ends it.$/).waitFor();
      // Its keys are paused with it, and go on with it.
      expect(await keys.getByRole("button", { name: /^Resume/ }).count()).toBe(0);
      await say("Resume org");
      await say("Change another key of org", async () => {
        await dialog().getByLabel("Key", { exact: true }).fill("third");
        await dialog().getByLabel("For this key").fill("3");
      });
      await keys.getByText("0 of 3 running, 0 waiting").waitFor();
      await say("Reset org: third");
      await keys.getByText("third", { exact: true }).waitFor({ state: "detached" });
      await page.setViewportSize({ width: 390, height: 844 });
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      expect(isWide).toBe(false);
      release();
    });

    ofPage("texts from outside are shown as text, and cut if they are long", async () => {
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
      await open(`runs/${encodeURIComponent(script)}`);
      await page.getByText("There is no run").waitFor();
      await open(`runs?state=${encodeURIComponent(script)}&workflow=__proto__`);
      await page.getByRole("alert").first().waitFor();
      expect(await page.locator("img").count()).toBe(0);
    });

    test("a run that fails shows the causes of its error, and what went wrong while it was undone", async () => {
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
      await shown("causes");
    });

    test("what is sensitive is not on the page, which says so", async () => {
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

    test("the runs at a node are listed while they are there", async () => {
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

    test("what others do is shown on an open page at once", async () => {
      let release = () => {};
      const held = { held: new Promise<void>((resolve) => (release = resolve)) };
      Object.assign(globalThis, held);
      const row = page.getByRole("row").filter({ hasText: "of others" });
      const runId = await ask("/write/start", { workflow: "slow", input: {}, key: "of others" });
      await row.getByText("running").waitFor();
      await page.getByRole("link", { name: "Pool" }).click();
      const meter = page.getByRole("meter", { name: "Slots in use" });
      await eventually(async () => expect(await meter.getAttribute("value")).toBe("1"));
      await ask("/write/pause", { runId });
      await open(`runs/${runId}`);
      await button("Resume").waitFor();
      await ask("/write/resume", { runId });
      await button("Pause").waitFor();
      await open("pool");
      await eventually(async () => expect(await meter.getAttribute("value")).toBe("1"));
      release();
      await eventually(async () => expect(await meter.getAttribute("value")).toBe("0"));
      await open("runs");
      await row.getByText("completed").waitFor();
      await ask("/write/cleanup", { runId });
      await row.waitFor({ state: "detached" });
    });
  });

  test("a page whose deployment goes away says so, and goes on when it is back", async () => {
    studio = deployed = await openDeployedStudio(app);
    try {
      await page.goto(studio.url);
      await ask("/write/start", { workflow: "parcel", input: { item: "a" }, key: "before" });
      await page.getByRole("cell", { name: "before" }).waitFor();
      deployed.client.connect(false);
      await page.getByRole("alert").getByText("The deployment does not answer.").first().waitFor();
      expect(await page.getByRole("cell", { name: "before" }).count()).toBe(1);
      deployed.client.connect(true);
      await page.getByRole("alert").first().waitFor({ state: "detached" });
      await ask("/write/start", { workflow: "parcel", input: { item: "a" }, key: "after" });
      await page.getByRole("cell", { name: "after" }).waitFor();
    } finally {
      await deployed.close();
      studio = local;
    }
  });

  test("the runs of an embedded back end are there again when its server is back", async () => {
    const back = await openLocalApp({ functionsDir: app.functionsDir, seed: [] }, () => {});
    const source = localSource(back);
    const options = { source, title: "", plans: () => undefined };
    const first = await serveStudio(options);
    const [port, token] = [Number(new URL(first.url).port), first.url.split("token=")[1]!];
    await page.goto(first.url);
    await page.getByText("No runs.").waitFor();
    await first.close();
    await page.getByText("The studio does not answer").first().waitFor();
    const input = { item: "a" };
    await source.write("start", { workflow: "parcel", input, key: "kept" });
    const second = await serveStudio({ ...options, port, token });
    await page.getByRole("cell", { name: "kept" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await second.close();
    await back.close();
  });

  test("an address that changes while the page is first drawn is followed", async () => {
    const other = await openPage(browser);
    await other.addInitScript(() => {
      // What is observed comes after the page is drawn, and before React runs its effects.
      new MutationObserver((_, observer) => {
        if (document.querySelector("header") === null) return;
        observer.disconnect();
        history.replaceState(null, "", "#/pool");
        dispatchEvent(new HashChangeEvent("hashchange"));
      }).observe(document, { childList: true, subtree: true });
    });
    const served = await serveAnswers({ workflows: [], runs: { page: [], isDone: true } }, {});
    await other.goto(served.url);
    await other.locator("nav [aria-current=page]", { hasText: "Pool" }).waitFor();
    await other.close();
    await served.close();
  });

  test("what is watched is asked for again when the request for it was lost", async () => {
    const other = await openPage(browser);
    await other.route("**/watch/runs", (route) => route.abort("connectionreset"), { times: 1 });
    const served = await serveAnswers({ workflows: [], runs: { page: [], isDone: true } }, {});
    await other.goto(served.url);
    await other.getByText("No runs.").waitFor();
    await other.close();
    await served.close();
  });

  test("a page whose studio is closed says so, and goes on when it is back", async () => {
    const pageOf = (workflow: string) => ({
      page: [{ workflow, state: "running", startedAt: 1 }],
      isDone: true,
    });
    const serve = async (workflow: string, of: { port?: number; token?: string } = {}) =>
      await serveAnswers({ workflows: [], runs: pageOf(workflow) }, of);
    const first = await serve("before");
    const [port, token] = [Number(new URL(first.url).port), first.url.split("token=")[1]!];
    await page.goto(first.url);
    await page.getByRole("cell", { name: "before" }).waitFor();
    await first.close();
    await page.getByText("The studio does not answer").first().waitFor();
    const second = await serve("after", { port, token });
    await page.getByRole("cell", { name: "after" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await second.close();
    const other = await serve("other", { port });
    await page.getByText("Open the address that the terminal shows").first().waitFor();
    expect(await page.getByRole("cell", { name: "other" }).count()).toBe(0);
    await other.close();
  });

  test.each([
    ["old", "which is deployed: 1 of 1 changes stop runs in flight."],
    ["another", "which is not deployed: 1 of 1 changes stop runs in flight. To see what a deploy"],
  ])(
    "before a deploy over the plan %s, its page shows the runs that it would stop",
    async (plan, verdict) => {
      const change = { workflow: "order", node: "charge", compatibility: "stops", message: "gone" };
      const plans = {
        workflows: [{ name: "order", file: "shop.workflow.ts", nodes: [], edges: [] }],
        children: [],
        hashes: { order: "new" },
        comparedHashes: { order: "old" },
        costs: [],
        against: { from: "main (1f2e3d4)" },
        changes: [change],
      };
      const answers = {
        workflows: [{ name: "order", nodes: ["charge"], plan, events: [] }],
        runs: {
          page: [{ runId: "r1", workflow: "order", state: "running", startedAt: 1 }],
          isDone: true,
        },
      };
      const served = await serveAnswers(answers, { plans: () => plans });
      await page.goto(served.url);
      await page.getByRole("link", { name: "Workflows" }).click();
      await page.getByText("The deployed plan is not the one in your code.").waitFor();
      await page.getByText(`Compared with main (1f2e3d4), ${verdict}`).waitFor();
      await page.getByRole("cell", { name: "order" }).waitFor();
      await served.close();
    },
  );

  test("a page needs one connection for all that is live, and none while it is out of sight", async () => {
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
    expect(await page.getByRole("alert").count()).toBe(0);
  });

  test("a page of another origin neither shows nor reads nor steers, even with the token", async () => {
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

  test("a link opens in a new tab, which another tab of the browser tells the token", async () => {
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
    const stranger = await openPage(browser);
    await stranger.goto(`${new URL("/", studio.url).href}#/runs`);
    await stranger.getByText("Open the address that the terminal shows").first().waitFor();
    await stranger.close();
  });

  test("a long key and a long error leave room for when a run started, and how long it took", async () => {
    const key = "k".repeat(300);
    await ask("/write/start", { workflow: "order", input: { items: [], card: "" }, key });
    await page.getByText("no card <script>").first().waitFor();
    const list = page.getByRole("region", { name: "Runs" });
    expect(await list.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
    const why = await page.getByText("no card <script>").first().boundingBox();
    expect(why!.width).toBeGreaterThan(200);
  });

  test("the button for more nodes of a run stands below those that are shown", async () => {
    const step = { node: "pack", kind: "action", state: "completed", iterations: [1], errors: [] };
    const answers = {
      workflows: [],
      run: {
        runId: "r1",
        workflow: "order",
        state: "running",
        startedAt: 1,
        generation: 1,
        active: [],
        kept: [],
      },
      input: {},
      steps: { page: [step], isDone: false, continueCursor: "next" },
    };
    const served = await serveAnswers(answers, {});
    await page.goto(served.url);
    await page.goto(`${new URL("/", served.url).href}#/runs/r1`);
    const last = await page.getByText("pack #1").first().boundingBox();
    const more = await button("Show more of its nodes").boundingBox();
    expect(more!.y).toBeGreaterThan(last!.y);
    await served.close();
  });

  test("[S163] [S171] a branch is shown as a part of its run, and why an onEnd failed", async () => {
    const branch = {
      ...whatHappened.runs.page[0],
      runId: "b1",
      workflow: "order",
      within: "facts.still image",
      childKey: "still image",
      state: "completed",
    };
    const part = { kind: "action", state: "completed", errors: [], attempt: 1, startedAt: 0 };
    const answers = {
      ...whatHappened,
      run: { ...whatHappened.run, ...branch, output: 1, onEndError: "no lock to release" },
      steps: { ...whatHappened.steps, page: [{ ...part, node: "facts.still image.frame" }] },
      runs: { ...whatHappened.runs, page: [branch] },
    };
    const served = await serveAnswers(answers, {});
    await page.goto(served.url);
    await page.goto(`${new URL("/", served.url).href}#/runs/b1`);
    await page.getByRole("heading", { name: "order › facts › still image" }).waitFor();
    await page.locator('dd a[href="#/runs/r1"]').waitFor();
    await page.getByRole("region", { name: "Timeline of order" }).getByText("frame").waitFor();
    await page.getByRole("heading", { name: "Error of onEnd" }).waitFor();
    await page.getByText("no lock to release").waitFor();
    await page.goto(`${new URL("/", served.url).href}#/runs?parent=r1`);
    await page.getByRole("cell", { name: "order › facts › still image" }).waitFor();
    await served.close();
  });

  test.each([
    [1280, "light"],
    [1280, "dark"],
    [390, "light"],
    [390, "dark"],
  ] as const)(
    "[S147] [S148] [S149] a run shows what happened: %i px, %s",
    async (width, colorScheme) => {
      const served = await serveAnswers(whatHappened, {});
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme });
      await page.goto(served.url);
      await page.goto(`${new URL("/", served.url).href}#/runs/r1`);
      const timeline = page.getByRole("region", { name: "Timeline of order" });
      await timeline.getByText("500 ms, waited 17 s").waitFor();
      for (const text of [
        "timed out",
        "completed by refused",
        "0 of 4 done, 1 failed, 3 canceled",
        "waiting for a slot",
      ])
        await timeline.getByText(text).waitFor();
      // None is done, so nothing of its bar is green.
      const shares = timeline.getByRole("progressbar").locator("span");
      const drawn = await shares.evaluateAll((all) =>
        all.map((each) => [each.getAttribute("data-tone"), each.getBoundingClientRect().width]),
      );
      const [bar = 0] = await timeline
        .getByRole("progressbar")
        .evaluateAll((all) => all.map((each) => each.getBoundingClientRect().width));
      expect(drawn).toEqual([
        ["good", 0],
        ["bad", expect.closeTo(bar / 4, 0)],
        ["stopped", expect.closeTo((3 * bar) / 4, 0)],
      ]);
      const links = await timeline.getByRole("link").allTextContents();
      expect(links).toEqual(["pack #0", "pack #1", "pack #2", "pack #3"]);
      const bars = await timeline.getByTitle("waited for a slot 17 s").count();
      expect(bars).toBe(1);
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      expect(isWide).toBe(false);
      await page.goto(`${new URL("/", served.url).href}#/runs?parent=r1`);
      await page.getByRole("cell", { name: "#3" }).waitFor();
      expect(await page.getByRole("cell", { name: "#4" }).count()).toBe(0);
      await served.close();
    },
  );

  describe("of somebody on call, over 400 runs", () => {
    let onCall: Awaited<ReturnType<typeof openOnCall>>;
    beforeAll(async () => {
      onCall = await openOnCall(app);
    }, 120_000);
    afterAll(async () => await onCall.close());

    const chips = () => page.getByRole("navigation", { name: "Runs by what they do" });
    const chip = (name: string) => chips().getByRole("link", { name });
    const row = (key: string) => page.getByRole("row").filter({ hasText: key });
    /** Waits for something, and says where it is: without scrolling, but for a phone. */
    const seen = async (what: Locator) => {
      await what.waitFor();
      const { y, height } = (await what.boundingBox())!;
      expect(y).toBeGreaterThanOrEqual(0);
      if (page.viewportSize()!.width > 390)
        expect(y + height).toBeLessThanOrEqual(page.viewportSize()!.height);
      const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
      expect(isWide).toBe(false);
      return y;
    };

    test.each([
      [1440, "light"],
      [1440, "dark"],
      [390, "light"],
      [390, "dark"],
    ] as const)(
      "two clicks tell what is wrong, why, what to do, and what the pool does: %i px, %s",
      async (width, colorScheme) => {
        await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
        await page.emulateMedia({ colorScheme });
        await page.goto(onCall.url);
        const from = async (first: Locator, second?: Locator) => {
          await page.getByRole("link", { name: "Runs", exact: true }).click();
          await first.click();
          await second?.click();
        };
        // 1. What is wrong now?
        const { canceled, ...wrong } = seeded;
        for (const [name, count] of Object.entries(wrong))
          await seen(chips().getByRole("link", { name: `${name} ${count}`, exact: true }));
        await seen(chips().getByText(`running ${onCall.slots}`));
        await seen(row("slow").first());
        for (const [name, key, at] of [
          ["waiting for an event", "order 6", "approval"],
          ["sleeping", "nap 2", "rest"],
          ["waiting for a retry", "patient 1", "ask"],
          ["queued", "slow", "wait"],
        ] as const) {
          await from(chip(name));
          await seen(row(key).first().getByText(name));
          await seen(row(key).first().getByText(at, { exact: false }).first());
        }
        // 2. Why?, and 3. What may I do?
        await from(chip("failed"));
        await seen(row("rental 1").getByText("drive"));
        await from(chip("failed"), row("rental 1").getByRole("link"));
        const error = await seen(page.getByRole("region", { name: "Error" }));
        await seen(page.getByText("rental › drive (thrown, attempt 2)"));
        await seen(page.getByText("the car 1 does not start").first());
        const timeline = page.getByRole("region", { name: "Timeline of rental" });
        expect(await seen(timeline.getByText("undone").first())).toBeGreaterThan(error);
        expect(await seen(timeline.getByRole("status"))).toBeLessThan(error);
        await seen(timeline.getByText("rent › compensate"));
        for (const name of ["Restart", "Run again", "Remove"]) await seen(button(name));
        await shown(`undone-${width}-${colorScheme}`);
        await from(chip("failed"), row("trip").getByRole("link"));
        await seen(page.getByText("Its failed children"));
        await from(chip("stalled"), row("lost").getByRole("link"));
        await seen(page.getByText("its scheduled function was lost"));
        await seen(button("Repair"));
        await from(chip("waiting for an event"), row("order 1").getByRole("link"));
        await seen(button("Send an event"));
        await from(chip("failed"), button("Restart all"));
        await seen(dialog().getByText(`Runs now: ${seeded.failed}.`));
        await dialog().getByRole("button", { name: "Back" }).click();
        await page.getByRole("link", { name: "Runs", exact: true }).click();
        await page.getByLabel("State").selectOption("canceled");
        await eventually(async () =>
          expect(await page.getByRole("row").filter({ hasText: "canceled" }).count()).toBe(
            canceled,
          ),
        );
        // 4. Is the pool the cause?
        await from(page.getByRole("link", { name: "Pool" }));
        const alert = page.getByText("All slots are in use, and steps wait for one.");
        await seen(alert);
        const colorOf = async (of: Locator) =>
          await of.evaluate((element) => getComputedStyle(element).color);
        const full = page.getByText(`${onCall.slots} of ${onCall.slots}`, { exact: true });
        expect(await colorOf(full)).toBe(await colorOf(alert));
        expect(await page.getByRole("meter").getAttribute("optimum")).toBe("0");
        await page.getByText(/^slow: 5, the first .* ago$/).waitFor();
        const holder = page.getByRole("listitem").filter({ hasText: /^slow › wait, .* ago$/ });
        await eventually(async () => expect(await holder.count()).toBe(onCall.slots));
        await shown(`pool-${width}-${colorScheme}`);
      },
    );

    test("a stalled run is repaired, and the pool gets more slots", async () => {
      await page.goto(onCall.url);
      await page.getByRole("link", { name: "Pool" }).click();
      await button("Change maxParallelism").click();
      await dialog()
        .getByLabel("maxParallelism")
        .fill(String(onCall.slots + 20));
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

  test("everything is reached by the keyboard", async () => {
    const press = async (key: string, until: () => Promise<boolean>) => {
      for (let n = 0; n < 30 && !(await until()); n++) await page.keyboard.press(key);
      expect(await until()).toBe(true);
    };
    const isFocused = (text: string) => async () =>
      (await page.evaluate(() => document.activeElement?.textContent ?? "")) === text;
    await ask("/write/start", { workflow: "parcel", input: { item: "a" }, key: "by keyboard" });
    await page.getByRole("cell", { name: "by keyboard" }).waitFor();
    await press("Tab", isFocused("Start a run"));
    await page.keyboard.press("Enter");
    await dialog().waitFor();
    await page.keyboard.press("Escape");
    await dialog().waitFor({ state: "hidden" });
    expect(await isFocused("Start a run")()).toBe(true);
    await press("Tab", isFocused("parcel"));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "parcel by keyboard" }).waitFor();
  });

  test("the page asks no server but its own", async () => {
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

  test.each(["light", "dark"] as const)("texts can be read in %s colours", async (colorScheme) => {
    await start("order", { items: ["a"], card: "" });
    await page.getByText("2 errors").waitFor();
    await page.emulateMedia({ colorScheme });
    const contrasts = await page.evaluate(() => {
      const context = document.createElement("canvas").getContext("2d")!;
      const luminance = (color: string) => {
        context.fillStyle = color;
        context.fillRect(0, 0, 1, 1);
        const [r = 0, g = 0, b = 0] = [...context.getImageData(0, 0, 1, 1).data].map((each) => {
          const share = each / 255;
          return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const background = luminance(getComputedStyle(document.body).backgroundColor);
      const found = ["body", "h1", "nav a", "dt", ".stepwise-name", ".stepwise-result"].map(
        (each) => {
          const text = luminance(getComputedStyle(document.querySelector(each)!).color);
          const [low = 0, high = 0] = [text, background].toSorted((one, other) => one - other);
          return [each, (high + 0.05) / (low + 0.05)] as const;
        },
      );
      return { isDark: background < 0.2, found };
    });
    expect(contrasts.isDark).toBe(colorScheme === "dark");
    for (const [what, contrast] of contrasts.found)
      expect(contrast, what).toBeGreaterThanOrEqual(4.5);
  });

  test("a save shows on the page, and the runs stay", async () => {
    await ask("/write/start", { workflow: "parcel", input: { item: "a" }, key: "before a save" });
    const file = join(app.functionsDir, "trips.workflow.ts");
    const text = await readFile(file, "utf8");
    const isShown = async (step: string) =>
      await eventually(async () => {
        await open("runs");
        await open("workflows/shout");
        await page.getByText(`${step}: `).waitFor({ state: "attached", timeout: 5_000 });
      });
    await writeFile(file, text.replace('.step("say"', '.step("whisper"'));
    await isShown("whisper");
    await open("runs");
    await page.getByRole("cell", { name: "before a save" }).waitFor();
    // The next test begins when this has been taken in too.
    await writeFile(file, text);
    await isShown("say");
  });

  test("a graph is made larger and moved about by buttons, by keys and by the wheel", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `quiteLongNode${index}`);
    const part = { kind: "step", shape: "run", runs: ["action"], policies: [] };
    const edges = names.slice(1).map((to) => ({ from: names[0], to }));
    const nodes = names.map((name) => ({ ...part, name }));
    const plans = {
      workflows: [{ name: "wide", file: "wide.workflow.ts", nodes, edges }],
      children: [],
      hashes: {},
      comparedHashes: {},
      costs: [],
      against: { from: "" },
      changes: [],
    };
    const served = await serveAnswers({ workflows: [] }, { plans: () => plans });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(served.url);
    await page.goto(`${new URL("/", served.url).href}#/workflows/wide`);
    const drawing = page.getByRole("img", { name: "Graph of wide" });
    const width = async () => (await drawing.boundingBox())!.width;
    const view = page.getByRole("group", { name: /^Graph/ });
    const scrolled = async () => await view.evaluate((element) => element.scrollLeft);
    const fitted = await width();
    // Its first node is in view, and its smallest text is no smaller than 10 px.
    const first = (await drawing
      .getByText(/^quiteLongNode0$/)
      .last()
      .boundingBox())!;
    expect(first.x).toBeGreaterThan(0);
    expect(first.x + first.width).toBeLessThan(390);
    expect(fitted).toBeGreaterThanOrEqual((10 / 12) * Number(await drawing.getAttribute("width")));
    await button("Zoom in").click();
    expect(await width()).toBeCloseTo(1.25 * fitted, 0);
    await view.press("-");
    await view.press("-");
    expect(await width()).toBeCloseTo(fitted / 1.25, 0);
    await button("Fit").click();
    expect(await width()).toBeCloseTo(fitted, 0);
    const before = await scrolled();
    await view.press("ArrowRight");
    await eventually(async () => expect(await scrolled()).toBeGreaterThan(before));
    await view.hover();
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    await eventually(async () => expect(await width()).toBeCloseTo(Math.E * fitted, -1));
    expect(await page.evaluate(() => devicePixelRatio)).toBe(1);
    const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    expect(isWide).toBe(false);
    await served.close();
  });

  test("on a phone nothing is wider than the screen", async () => {
    const long = "aNameThatIsLongerThanAPhoneIsWideAndHasNoPlaceToBreak";
    await start(long, {});
    const [, run = ""] = page.url().split("#/");
    await page.setViewportSize({ width: 390, height: 800 });
    const isWide = async () =>
      await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    const places = {
      runs: page.getByRole("link", { name: long }).first(),
      [`workflows/${long}`]: page.getByRole("img", { name: `Graph of ${long}` }),
      pool: page.getByRole("meter"),
      [run]: page.getByRole("region", { name: `Timeline of ${long}` }).getByText("completed"),
    };
    for (const [place, shows] of Object.entries(places)) {
      await open(place);
      await shows.first().waitFor();
      expect([place, await isWide()]).toEqual([place, false]);
    }
    await open("runs");
    await button("Start a run").click();
    await dialog().getByLabel("Workflow").selectOption(long);
    const box = await dialog().boundingBox();
    expect(box!.x).toBeGreaterThan(0);
    expect(box!.x + box!.width).toBeLessThan(390);
    expect(await dialog().evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
  });
});
