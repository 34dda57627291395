/** @module-tag large */
import { describe, expect } from "vitest";
import { eventually } from "./app.js";
import { hasBrowser, beyondEdge, serveAnswers, test } from "./browser.js";

const nothing = { workflows: [], runs: { page: [], isDone: true } };
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

describe.skipIf(!hasBrowser)("the page over given answers", () => {
  test("an address that changes while the page is first drawn is followed", async ({
    tab,
    openAnswers,
  }) => {
    await tab.addInitScript(() => {
      // What is observed comes after the page is drawn, and before React runs its effects.
      new MutationObserver((_, observer) => {
        if (document.querySelector("header") === null) return;
        observer.disconnect();
        history.replaceState(null, "", "#/pool");
        dispatchEvent(new HashChangeEvent("hashchange"));
      }).observe(document, { childList: true, subtree: true });
    });
    await openAnswers(nothing);
    await tab.locator("nav [aria-current=page]", { hasText: "Pool" }).waitFor();
  });

  test("keys that a run waits with, and that of its parent, stand as their text, and are cut", async ({
    tab,
    openAnswers,
  }) => {
    // Without an end, it turns what stands behind it on the line.
    const key = `acme \u202E${"x".repeat(5_000)}`;
    const waits = { waitsFor: { key, place: 3 }, collecting: { key, items: 2, until: 60_000 } };
    const run = { ...whatHappened.run, key, parentRunId: "r1", ...waits };
    await openAnswers({ ...whatHappened, run }, { place: "runs/r1" });
    await tab.getByText(/its turn with the key acme \\u202ex{150}.*place 3/s).waitFor();
    await tab.getByText(/starts with the key acme \\u202ex{150}.*2 so far/s).waitFor();
    await tab.getByRole("link", { name: /^order › acme \\u202ex{150}/ }).waitFor();
    const facts = tab.locator("dl");
    expect(await facts.textContent()).not.toContain("\u202E");
    expect((await facts.textContent())!.length).toBeLessThan(2_000);
  });

  test("what is watched is asked for again when the request for it was lost", async ({
    tab,
    openAnswers,
  }) => {
    await tab.route("**/watch/runs", (route) => route.abort("connectionreset"), { times: 1 });
    await openAnswers(nothing);
    await tab.getByText("No runs.").waitFor();
  });

  test("a page whose studio is closed says so, and goes on when it is back", async ({
    tab,
    openAnswers,
  }) => {
    const answersOf = (workflow: string) => ({
      workflows: [],
      runs: { page: [{ workflow, state: "running", startedAt: 1 }], isDone: true },
    });
    const first = await openAnswers(answersOf("before"));
    const [port, token] = [Number(new URL(first.url).port), first.url.split("token=")[1]!];
    await tab.getByRole("cell", { name: "before" }).waitFor();
    await first.close();
    await tab.getByText("The studio does not answer").first().waitFor();
    const second = await serveAnswers(answersOf("after"), { port, token });
    await tab.getByRole("cell", { name: "after" }).waitFor();
    await eventually(async () => expect(await tab.getByRole("alert").count()).toBe(0));
    await second.close();
    const other = await serveAnswers(answersOf("other"), { port });
    await tab.getByText("Open the address that the terminal shows").first().waitFor();
    expect(await tab.getByRole("cell", { name: "other" }).count()).toBe(0);
    await other.close();
  });

  test("a part of the page that cannot be shown says so, and the rest goes on", async ({
    tab,
    openAnswers,
    button,
    dialog,
  }) => {
    const plans = {
      workflows: [{ name: "order", file: "", nodes: [], edges: [null] }],
      changes: [],
      against: { from: "" },
    };
    const answers = {
      ...whatHappened,
      run: { ...whatHappened.run, state: "failed", endedAt: 9, error: failure },
      steps: { ...whatHappened.steps, page: [{ node: "pack" }] },
      bulks: [{ bulkId: "b1", do: "undo", state: "running", done: 0, refused: 0, refusals: [] }],
      limits: [{ name: "odd" }],
      pool: { running: 0, waiting: 0, retrying: 0, maxParallelism: 6 },
    };
    const broken = (what: string) => tab.getByRole("region", { name: what, exact: true });
    await openAnswers(answers, { place: "runs/r1", plans: () => plans });
    for (const what of ["What is done to many runs", "The timeline", "The graph"])
      await broken(what).getByRole("alert").getByText(`${what} cannot be shown: `).waitFor();
    await tab.getByRole("region", { name: "Error" }).getByText("pack › a").waitFor();
    await button("Restart").click();
    await dialog().getByLabel("From").waitFor();
    await tab.keyboard.press("Escape");
    await tab.getByRole("link", { name: "Pool" }).click();
    await tab.getByText("0 of 6").waitFor();
    await broken("The limits").waitFor();
    Object.assign(answers, { limits: [] });
    await broken("The limits").getByRole("button", { name: "Try again" }).click();
    await broken("The limits").waitFor({ state: "detached" });
    Object.assign(answers, { workflows: [null] });
    await tab.getByRole("link", { name: "Runs", exact: true }).click();
    await broken("This page").waitFor();
    await tab.getByRole("link", { name: "Pool" }).click();
    await tab.getByText("0 of 6").waitFor();
  });

  test("the title of a tab says what it shows", async ({ tab, openAnswers }) => {
    const run = { ...whatHappened.run, key: "for Ada" };
    const { url } = await openAnswers({ ...whatHappened, run });
    for (const [place, title] of [
      ["runs", "Runs"],
      ["runs/r1", "order for Ada"],
      ["workflows/order", "order"],
      ["workflows", "Workflows"],
      ["pool", "Pool"],
    ] as const) {
      await tab.goto(`${new URL("/", url).href}#/${place}`);
      await eventually(async () => expect(await tab.title()).toBe(`${title} – Stepwise`));
    }
  });

  test.for([
    ["old", "which is deployed: 1 of 1 changes stop runs in flight."],
    ["another", "which is not deployed: 1 of 1 changes stop runs in flight. To see what a deploy"],
  ])(
    "before a deploy over the plan %s, its page shows the runs that it would stop",
    async ([plan, verdict], { tab, openAnswers }) => {
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
      await openAnswers(answers, { plans: () => plans });
      await tab.getByRole("link", { name: "Workflows" }).click();
      await tab.getByText("The deployed plan is not the one in your code.").waitFor();
      await tab.getByText(`Compared with main (1f2e3d4), ${verdict}`).waitFor();
      await tab.getByRole("cell", { name: "order" }).waitFor();
    },
  );

  test("the button for more nodes of a run stands below those that are shown", async ({
    tab,
    button,
    openAnswers,
  }) => {
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
    await openAnswers(answers, { place: "runs/r1" });
    const last = await tab.getByText("pack #1").first().boundingBox();
    const more = await button("Show more of its nodes").boundingBox();
    expect(more!.y).toBeGreaterThan(last!.y);
  });

  test("[S253] a run shows the events that no node has taken: how many, and since when", async ({
    tab,
    openAnswers,
  }) => {
    const since = Date.UTC(2026, 0, 2, 3, 4);
    const kept = [
      { name: "item", count: 2, since },
      { name: "note", count: 1, since: since + 60_000 },
    ];
    const run = { ...whatHappened.run, kept };
    await openAnswers({ ...whatHappened, run }, { place: "runs/r1" });
    const shown = tab.getByRole("region", { name: "Kept events" });
    const items = shown.getByRole("listitem");
    await items.filter({ hasText: /^item: 2, since \S/ }).waitFor();
    await items.filter({ hasText: /^note: 1, since \S/ }).waitFor();
    const times = await shown
      .locator("time")
      .evaluateAll((all) => all.map((each) => Date.parse(each.getAttribute("datetime") ?? "")));
    expect(times).toEqual([since, since + 60_000]);
    await openAnswers(whatHappened, { place: "runs/r1" });
    await tab.getByRole("region", { name: "Timeline of order" }).waitFor();
    expect(await shown.count()).toBe(0);
  });

  test("[S163] [S171] a branch is shown as a part of its run, and why an onEnd failed", async ({
    tab,
    openAnswers,
  }) => {
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
    const served = await openAnswers(answers, { place: "runs/b1" });
    await tab.getByRole("heading", { name: "order › facts › still image" }).waitFor();
    await tab.locator('dd a[href="#/runs/r1"]').waitFor();
    await tab.getByRole("region", { name: "Timeline of order" }).getByText("frame").waitFor();
    await tab.getByRole("heading", { name: "Error of onEnd" }).waitFor();
    await tab.getByText("no lock to release").waitFor();
    await tab.goto(`${new URL("/", served.url).href}#/runs?parent=r1`);
    await tab.getByRole("cell", { name: "order › facts › still image" }).waitFor();
  });

  test("[S243] a child in a timeline says what it does: sleeping or waiting, it is not running", async ({
    tab,
    openAnswers,
  }) => {
    const [one, , ended] = whatHappened.runs.page;
    const open = { ...one, runId: "p9", index: 9, state: "running", endedAt: undefined };
    const answers = {
      ...whatHappened,
      runs: { ...whatHappened.runs, page: [open, ended] },
      place: { path: "pack.rest", doing: "sleeping", since: 0 },
    };
    await openAnswers(answers, { place: "runs/r1" });
    const children = tab.locator("details li");
    await children.filter({ hasText: /pack #9.* sleeping / }).waitFor();
    await children.filter({ hasText: /pack #2.* canceled / }).waitFor();
  });

  test.for([
    [1280, "light"],
    [1280, "dark"],
    [390, "light"],
    [390, "dark"],
  ] as const)(
    "[S147] [S148] [S149] a run shows what happened: %i px, %s",
    async ([width, colorScheme], { tab, openAnswers }) => {
      await tab.setViewportSize({ width, height: 900 });
      await tab.emulateMedia({ colorScheme });
      const served = await openAnswers(whatHappened, { place: "runs/r1" });
      const timeline = tab.getByRole("region", { name: "Timeline of order" });
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
      // They are asked for once their list is open.
      const links = ["pack #0", "pack #1", "pack #2", "pack #3"];
      await eventually(async () =>
        expect(await timeline.getByRole("link").allTextContents()).toEqual(links),
      );
      const bars = await timeline.getByTitle("waited for a slot 17 s").count();
      expect(bars).toBe(1);
      expect(await beyondEdge(tab)).toEqual([]);
      await tab.goto(`${new URL("/", served.url).href}#/runs?parent=r1`);
      await tab.getByRole("cell", { name: "#3" }).waitFor();
      expect(await tab.getByRole("cell", { name: "#4" }).count()).toBe(0);
    },
  );

  test("a graph is made larger and moved about by buttons, by keys and by the wheel", async ({
    tab,
    button,
    openAnswers,
  }) => {
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
    await tab.setViewportSize({ width: 390, height: 844 });
    await openAnswers({ workflows: [] }, { plans: () => plans, place: "workflows/wide" });
    const drawing = tab.getByRole("img", { name: "Graph of wide" });
    const width = async () => (await drawing.boundingBox())!.width;
    const view = tab.getByRole("group", { name: /^Graph/ });
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
    await tab.keyboard.down("Control");
    await tab.mouse.wheel(0, -300);
    await tab.keyboard.up("Control");
    await eventually(async () => expect(await width()).toBeCloseTo(Math.E * fitted, -1));
    expect(await tab.evaluate(() => devicePixelRatio)).toBe(1);
    expect(await beyondEdge(tab)).toEqual([]);
  });
});
