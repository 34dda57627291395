import { ConvexProvider, type ConvexReactClient } from "convex/react";
import { makeFunctionReference } from "convex/server";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, expectTypeOf, test } from "vitest";
import type { Doing, Status, WorkflowReference } from "../src/index.js";
import {
  RunTimeline,
  useRun,
  WorkflowGraph,
  type ChildRun,
  type LiveRun,
  type Step,
} from "../src/react/index.js";

const run: LiveRun = {
  runId: "r1",
  workflow: "order",
  isOutdated: false,
  generation: 1,
  createdAt: 0,
  startedAt: 0,
  endedAt: 7_200_300,
  active: [],
  paused: false,
  stalled: false,
  kept: [],
  state: "completed",
  output: null,
};
const error = {
  message: "No truck",
  kind: "thrown" as const,
  workflow: "order",
  node: "ship",
  attempt: 1,
};
const step = (node: string, of: Partial<Step> = {}): Step => ({
  node,
  kind: "action",
  state: "completed",
  attempt: 1,
  startedAt: 0,
  endedAt: 100,
  errors: [],
  ...of,
});

const rows = (steps: Step[], of: Partial<LiveRun> = {}) =>
  renderToStaticMarkup(
    createElement(RunTimeline, { run: { ...run, ...of } as LiveRun, steps }),
  ).split('class="stepwise-row');
const bars = (html: string) => [...html.matchAll(/title="([^"]*)"/g)].map(([, title]) => title);

test("a timeline has a bar for each attempt and for each wait between two", () => {
  const retries = [
    { attempt: 1, failedAt: 200, nextAt: 450 },
    { attempt: 2, failedAt: 600, nextAt: 1_100 },
  ];
  const [, row = ""] = rows([
    step("ship", { attempt: 3, retries, endedAt: 1_400, errors: [error] }),
  ]);
  expect(bars(row)).toEqual([
    "attempt 1 failed after 200 ms",
    "waited 250 ms",
    "attempt 2 failed after 150 ms",
    "waited 500 ms",
    "attempt 3 ran for 300 ms",
  ]);
  expect(row).toContain("Attempt 1: No truck");
});

test("[S147] a timeline draws what an attempt waited for a slot as a wait, and what it ran as work", () => {
  const retries = [{ attempt: 1, beganAt: 17_000, failedAt: 17_500, nextAt: 18_500 }];
  const row = rows([step("ship", { attempt: 2, retries, beganAt: 19_500, endedAt: 20_000 })]).at(
    -1,
  )!;
  expect(bars(row)).toEqual([
    "waited for a slot 17 s",
    "attempt 1 failed after 500 ms",
    "waited 1 s",
    "waited for a slot 1 s",
    "attempt 2 ran for 500 ms",
  ]);
  expect(row.match(/data-kind="\w+"/g)).toEqual(
    ["waiting", "running", "waiting", "waiting", "running"].map((kind) => `data-kind="${kind}"`),
  );
  expect(row).toContain("<small>1 s, waited 19 s</small>");
});

test("[S147] one that waits for a slot, or was canceled there, is drawn without any work", () => {
  const [queued = "", canceled = ""] = rows([
    step("ship", { state: "pending", queuedAt: 0, endedAt: undefined }),
    step("tell", { state: "canceled", queuedAt: 0, endedAt: 3_000 }),
  ]).slice(-2);
  expect(queued).toContain("waiting for a slot");
  expect(queued).not.toContain('data-kind="running"');
  expect(bars(canceled)).toEqual(["waited for a slot 3 s"]);
  expect(canceled).toContain("waited 3 s</small>");
});

test.each([
  [
    { limit: "tenant", key: "acme", running: 3, atMost: 3, place: 41 },
    "tenant acme (3 of 3 running), 41st",
  ],
  [{ limit: "exports", running: 5, atMost: 5, place: 12 }, "exports (5 of 5 running), 12th"],
  [{ limit: "exports", running: 2, atMost: 0, place: 1 }, "exports (paused), 1st"],
  [
    { limit: "exports", running: 2, atMost: 2, place: 2, fairness: "acme" },
    "exports (2 of 2 running), 2nd of acme",
  ],
  [
    {
      limit: "exports",
      running: 2,
      atMost: 0,
      place: 1,
      paused: { by: "RetryAfter", until: 5_000 },
    },
    `exports (paused by RetryAfter until ${new Date(5_000).toLocaleString()}), 1st`,
  ],
  [{ limit: "exports", running: 5, atMost: 5, place: 201 }, "running), after more than 200"],
])("[S233] one that a limit keeps back says which: %o", (waitsFor, shown) => {
  const [row] = rows([
    step("ship", { state: "pending", queuedAt: 0, endedAt: undefined, waitsFor }),
  ]).slice(-1);
  expect(row).toContain(shown);
});

test("[S205] one that collects says until when, one that a hold keeps back too, and one that waited too long for what", () => {
  const error = { kind: "timedOut" as const, workflow: "w", attempt: 1, message: "late" };
  const late = { ...error, node: "late", waitedFor: "for a slot of the pool" };
  const [collects, turn, held, waited] = rows([
    step("all", { kind: "collect", state: "waiting", dueAt: 5_000, endedAt: undefined }),
    step("next", { kind: "turn", state: "waiting", endedAt: undefined }),
    step("ask", { state: "waiting", holds: "api", dueAt: 5_000, endedAt: undefined }),
    step("late", { state: "timedOut", errors: [late] }),
  ]).slice(-4);
  const at = new Date(5_000).toLocaleString();
  expect(collects).toContain(`collecting starts, begins at the latest at ${at}`);
  expect(turn).toContain("waiting for its turn");
  expect(held).toContain(`held until ${at}, as api is`);
  expect(waited).toContain("waited too long for a slot of the pool");
});

test("[S149] a wait that timed out is not shown as completed, and one of several events by its name", () => {
  const [late = "", came = ""] = rows([
    step("ask", { kind: "event", events: ["yes", "no"], isTimedOut: true }),
    step("ask", { kind: "event", events: ["yes", "no"], event: "no" }),
  ]).slice(-2);
  expect(late).toContain("timed out");
  expect(late).not.toContain("completed");
  expect(came).toContain("completed by no");
});

test("a timeline shortens long times without work, and says how long they were", () => {
  const [axis = "", ship = "", pause = "", tell = ""] = rows([
    step("ship", { endedAt: 200 }),
    step("pause", { kind: "sleep", startedAt: 200, endedAt: 7_200_200 }),
    step("tell", { startedAt: 7_200_200, endedAt: 7_200_300 }),
  ]);
  expect(axis).toContain("… 2 h …");
  expect(ship).toContain("one attempt ran for 200 ms");
  expect(pause).toContain('data-kind="waiting"');
  expect(pause).toContain("waited 2 h");
  expect(Number(/inset-inline-start:([\d.]+)%/.exec(tell)?.[1])).toBeLessThan(99.9);
});

const ticksIn = (html = "") =>
  [...html.matchAll(/data-tick="[^"]*" style="inset-inline-start:([\d.]+%)">([^<]*)/g)].map(
    (tick) => tick.slice(1).join(" "),
  );

test("a timeline has an axis with round times, also behind a long wait", () => {
  const [axis] = rows([step("ship", { startedAt: 100, endedAt: 1_100 })]);
  expect(ticksIn(axis)).toEqual(["0% 0", "20% 200 ms", "40% 400 ms", "60% 600 ms", "80% 800 ms"]);
  const day = 86_400_000;
  const [later] = rows([
    step("ship", { endedAt: 10_000 }),
    step("pause", { kind: "sleep", startedAt: 10_000, endedAt: day }),
    step("tell", { startedAt: day, endedAt: day + 10_000 }),
  ]);
  expect(ticksIn(later)).toEqual(["0% 0", "20% 5 s", "80% 1 d"]);
  expect(ticksIn(rows([])[0])).toEqual([]);
  // The text of a tick begins at it, and would not fit beside the end.
  const [short] = rows([step("ship", { endedAt: 1_100 })]);
  expect(ticksIn(short).at(-1)).toBe("72.73% 800 ms");
});

test("a step is shown with the nodes around it, and a compensation with its step", () => {
  const html = rows([
    step("a"),
    step("a.compensate"),
    step("mode.strict.parts", { iterations: [7] }),
  ]);
  const names = html.map((row) => /stepwise-name"[^>]*>(.*?)<\/span>/s.exec(row)?.[1] ?? "");
  expect(names.map((name) => name.replaceAll(/<[^>]*>/g, ""))).toEqual([
    "",
    "a",
    "a › compensate",
    "mode › strict › parts #7",
  ]);
});

test("a timeline tells states, errors, undone steps and children in words", () => {
  const counts = { total: 40, done: 12, failed: 1, canceled: 3, running: 8 };
  const html = rows([
    step("reserve", { isUndone: true }),
    step("pages", { kind: "children", state: "waiting", endedAt: undefined, children: counts }),
    step("ask", { kind: "event", state: "waiting", events: ["decision"], endedAt: undefined }),
    step("ship", { state: "skipped", startedAt: undefined, endedAt: undefined }),
  ]).slice(-4);
  expect(html[0]).toContain("undone");
  expect(html[1]).toContain("12 of 40 done, 1 failed, 3 canceled, 8 in progress");
  // Each in its own colour: one that failed is not drawn as one that is done.
  expect(html[1]).toMatch(/aria-valuemax="40" aria-valuenow="16"/);
  for (const part of [
    'data-tone="good" style="inline-size:30%"',
    'data-tone="bad" style="inline-size:2.5%"',
    'data-tone="stopped" style="inline-size:7.5%"',
  ])
    expect(html[1]).toContain(part);
  expect(html[2]).toContain("waiting for decision");
  expect(html[3]).toContain("skipped");
});

test("a run and a loop are shown as what waits in them, not as running", () => {
  const open = { startedAt: 0, endedAt: undefined };
  const loop = step("remind", { kind: "loop", state: "running", ...open });
  const ask = step("remind.ask", { kind: "event", state: "waiting", iterations: [2], ...open });
  const active = [
    { ...loop, since: 0 },
    { ...ask, since: 0, doing: "waitingForEvent" },
  ];
  const of = { state: "running", endedAt: undefined, active } as unknown as Partial<LiveRun>;
  const [head = "", ...all] = rows([step("remind.ask", { iterations: [1] }), loop, ask], of);
  expect(head).toMatch(/role="status">.*waiting for an event<\/p>/);
  const [remind] = all.slice(-2);
  expect(remind).toMatch(/stepwise-result">.*<\/span> waiting /);
});

test("[S270] a run that only waits for its children is shown by what they do, as a list shows it", () => {
  const parts = { node: "parts", kind: "children", state: "waiting", since: 0, errors: [] };
  const headOf = (of: object, more: object = {}) => {
    const shown = { ...run, state: "running", endedAt: undefined, active: [parts], ...of };
    const props = { run: shown as unknown as LiveRun, steps: [], ...more };
    const html = renderToStaticMarkup(createElement(RunTimeline, props));
    return /role="status">.*?<\/span> ([^<]*)</.exec(html)?.[1];
  };
  const at = { path: "parts/0/nap", doing: "sleeping", since: 0 };
  expect(headOf({}, { at })).toBe("sleeping");
  expect(headOf({ active: [{ ...parts, paused: true }] }, { at })).toBe("sleeping, paused");
  // Nobody has said what they do: they may work or wait.
  expect(headOf({})).toBe("waiting for its children");
  expect(headOf({}, { at: null })).toBe("waiting for its children");
  const loop = { ...parts, node: "turns", kind: "loop", state: "running" };
  expect(headOf({ active: [loop, { ...parts, node: "turns.parts" }] })).toBe(
    "waiting for its children",
  );
  expect(headOf({ active: [] })).toBe("running");
  // It may have been read before the run has ended, or is being undone.
  expect(headOf({ state: "completed" }, { at })).toBe("completed");
  expect(headOf({ state: "compensating" }, { at })).toBe("being undone");
});

test("[S243] a paused run says so beside its state, unless only a part of it is paused", () => {
  const open = { since: 0, errors: [] };
  const ask = { ...open, node: "ask", kind: "event", state: "waiting", doing: "waitingForEvent" };
  const stateOf = (...paused: boolean[]) => {
    const loop = { ...open, node: "turns", kind: "loop", state: "running" };
    const active = [loop, ...paused.map((each) => ({ ...ask, paused: each }))];
    const of = { state: "running", endedAt: undefined, paused: true, active };
    const [head = ""] = rows([], of as unknown as Partial<LiveRun>);
    return /role="status">.*?<\/span> ([^<]*)</.exec(head)?.[1];
  };
  expect(stateOf(true, true)).toBe("waiting for an event, paused");
  expect(stateOf(true, false)).toBe("waiting for an event");
});

test("a node whose scheduled function was lost is stalled in its row, in its loop's and in the graph", () => {
  const open = { startedAt: 0, endedAt: undefined, state: "running" as const };
  const loop = step("retry", { ...open, kind: "loop" });
  const lost = step("retry.ship", { ...open, iterations: [2], beganAt: 0 });
  const other = step("retry.ship", { ...open, iterations: [3] });
  const active = [
    { ...loop, since: 0 },
    { ...lost, since: 0, stalled: true, doing: "stalled" },
    { ...other, since: 0, doing: "running" },
  ];
  const of = { state: "running", endedAt: undefined, active } as unknown as Partial<LiveRun>;
  const steps = [loop, lost, other];
  const [head = "", ...all] = rows(steps, of);
  expect(head).toMatch(/role="status">.*stalled<\/p>/);
  const words = all.slice(-3).map((row) => /<\/span> (\w+)/.exec(row)?.[1]);
  expect(words).toEqual(["stalled", "stalled", "running"]);
  const drawn = { graph, run: { ...run, ...of } as LiveRun, steps };
  const html = renderToStaticMarkup(createElement(WorkflowGraph, drawn));
  expect(nodesOf(html)).toContain("retry: stalled, bad");
});

test("a step whose compensation failed is shown as not undone, alone in its iteration", () => {
  const of = (iterations?: number[]) => (iterations === undefined ? {} : { iterations });
  const undo = (node: string, state: Step["state"], iterations?: number[]) => [
    step(node, { isUndone: true, ...of(iterations) }),
    step(`${node}.compensate`, { state, ...of(iterations) }),
  ];
  const steps = [
    ...undo("hotel", "failed"),
    ...undo("hotels", "completed"),
    step("days", { kind: "loop", isUndone: true }),
    ...undo("days.car", "failed", [1]),
    ...undo("days.car", "completed", [2]),
  ];
  const labels = rows(steps, { state: "failed" })
    .slice(-steps.length)
    .map((html) => /data-tone="(\w+)".*<\/span> ((?:not )?undone) /s.exec(html)?.slice(1).join());
  const [not, was] = ["bad,not undone", "stopped,undone"];
  expect(labels).toEqual([not, not, was, was, not, not, not, was, was]);
  const shown = createElement(WorkflowGraph, {
    graph: {
      workflows: [{ name: "trip", nodes: [node("hotel"), node("hotels")], edges: [] }],
      children: [],
    },
    steps,
  });
  expect(nodesOf(renderToStaticMarkup(shown))).toEqual([
    "hotel: not undone, bad",
    "hotels: undone, stopped",
  ]);
});

test("a timeline lists the children that it is given, below their parent", () => {
  const child = {
    runId: "c1",
    workflow: "page",
    state: "failed",
    createdAt: 0,
    startedAt: 60,
    endedAt: 90,
  } as const;
  const html = renderToStaticMarkup(
    createElement(RunTimeline, {
      run,
      steps: [step("pages", { kind: "children" }), step("save")],
      childRunsOf: ({ node }) => (node === "pages" ? [{ ...child, index: 4 }] : []),
    }),
  );
  expect(html).toMatch(/1 child<.*page #4.*failed/s);
  expect(html).not.toContain("0 children");
  expect(bars(html)).toEqual(expect.arrayContaining(["waited to begin 60 ms", "took 30 ms"]));
});

test("[S243] a child is shown by what it does, as a list of runs shows it", () => {
  const doing = (what: Doing) => ({ at: { path: "a", doing: what, since: 0 } });
  const children: Partial<ChildRun>[] = [
    { state: "running" },
    { state: "running", ...doing("waitingForEvent") },
    { state: "running", ...doing("sleeping"), paused: true },
    { state: "pending" },
    { state: "compensating", ...doing("running") },
    { state: "canceled" },
  ];
  const counts = { total: 6, done: 0, failed: 0, canceled: 1, running: 4 };
  const html = renderToStaticMarkup(
    createElement(RunTimeline, {
      run,
      steps: [step("pages", { kind: "children", children: counts })],
      childRunsOf: () =>
        children.map((each, index) => {
          const of = { runId: `c${index}`, workflow: "page", startedAt: 0, index };
          return { ...of, ...each } as ChildRun;
        }),
    }),
  );
  const words = [...html.matchAll(/stepwise-result">.*?<\/span> ([\w ,]+?) *(?=<)/g)];
  expect(words.map(([, word]) => word).slice(1)).toEqual([
    "running",
    "waiting for an event",
    "sleeping, paused",
    "waiting to start",
    "being undone",
    "canceled",
  ]);
  // What has begun may wait, so it is not called running.
  expect(html).toContain("0 of 6 done, 1 canceled, 4 in progress");
});

test("[S163] branches and items stand below their node by their key or their place, without a workflow", () => {
  const part = { workflow: "order", state: "completed", startedAt: 0, endedAt: 90 } as const;
  const html = renderToStaticMarkup(
    createElement(RunTimeline, {
      run,
      steps: [step("facts", { kind: "children" }), step("texts", { kind: "children" })],
      childRunsOf: ({ node }) =>
        node === "facts"
          ? [{ ...part, runId: "b1", index: 0, childKey: "thumb", within: "facts.thumb" }]
          : [{ ...part, runId: "i1", index: 3, within: "texts" }],
    }),
  );
  const names = [...html.matchAll(/class="stepwise-name"[^>]*>([^<]*)/g)].map(([, name]) => name);
  expect(names).toEqual(["facts", "thumb", "texts", "#3"]);
});

test("[S168] the cases of a race stand below it by their keys, those that lost as canceled", () => {
  const part = { workflow: "order", startedAt: 0, endedAt: 90 } as const;
  const html = renderToStaticMarkup(
    createElement(RunTimeline, {
      run,
      steps: [step("settled", { kind: "children" }), step("booked")],
      childRunsOf: ({ node }) => {
        if (node !== "settled") return [];
        const cases = { paid: "completed", lapsed: "canceled", "by post": "failed" } as const;
        return Object.entries(cases).map(([childKey, state], index) => {
          return {
            ...part,
            runId: childKey,
            index,
            childKey,
            state,
            within: `settled.${childKey}`,
          };
        });
      },
    }),
  );
  const shown = html
    .split('class="stepwise-row"')
    .map((row) => /^ data-tone="(\w+)".*?class="stepwise-name"[^>]*>([^<]*)/s.exec(row))
    .flatMap((found) => (found === null ? [] : [`${found[2]}: ${found[1]}`]));
  expect(shown).toEqual([
    "settled: good",
    "paid: good",
    "lapsed: stopped",
    "by post: bad",
    "booked: good",
  ]);
});

test("the key of a child is one name below its parent, also with dots and quotes", () => {
  const child = { runId: "c1", workflow: "page", state: "completed", startedAt: 0 } as const;
  const html = renderToStaticMarkup(
    createElement(RunTimeline, {
      run,
      steps: [step("pages", { kind: "children" })],
      childRunsOf: () => [{ ...child, childKey: `a.b".c` }],
    }),
  );
  expect(html).toMatch(/padding-inline-start:1em[^>]*>page a\.b&quot;\.c</);
});

test("a run that is loading or unknown is shown as such", () => {
  expect(rows([], { state: "loading" })[0]).toContain('aria-busy="true"');
  const missing = createElement(RunTimeline, { run: { state: "missing" }, steps: [] });
  expect(renderToStaticMarkup(missing)).toContain("not found");
});

const node = (name: string, shape = "run") => ({
  name,
  kind: "step",
  shape,
  runs: ["action"],
  policies: [],
});
const graph = {
  workflows: [
    {
      name: "order",
      nodes: [
        node("reserve"),
        node("route", "decision"),
        node("route.big.ship"),
        node("retry", "loop"),
      ],
      edges: [
        { from: "reserve", to: "route" },
        { from: "route", to: "route.big.ship", label: "big" },
        { from: "route.big.ship", to: "retry" },
        { from: "retry", to: "retry", label: "next iteration" },
      ],
    },
  ],
  children: [{ workflow: "order", node: "reserve", child: "stock" }],
};
const nodesOf = (html: string) =>
  [...html.matchAll(/data-tone="(\w+)"[^>]*><title>([^<]*)/g)].map(
    ([, tone, title]) => `${title}, ${tone}`,
  );

test("a graph shows each node, coloured by where the run is and was", () => {
  const active = [
    { node: "route.big.ship", kind: "action", state: "running", since: 0, attempt: 1, errors: [] },
  ];
  const steps = [step("reserve"), step("route", { kind: "branch" }), step("reserve.compensate")];
  const live = { ...run, state: "running", endedAt: undefined, active } as unknown as LiveRun;
  const html = renderToStaticMarkup(createElement(WorkflowGraph, { graph, run: live, steps }));
  expect(nodesOf(html)).toEqual([
    "reserve: undone, stopped",
    "route: completed, good",
    "route.big.ship: running, active",
    "retry, idle",
  ]);
  expect(html).toMatch(/<ol.*reserve: action, starts stock, undone<.*retry: action, not reached</s);
  expect(html).toContain(">next iteration<");
});

test("a graph of a workflow that is not in it is refused", () => {
  const unknown = createElement(WorkflowGraph, { graph, workflow: "ordre" });
  expect(() => renderToStaticMarkup(unknown)).toThrow('The graph has no workflow "ordre"');
});

test("what users write is shown as text", () => {
  const [, row = ""] = rows([
    step("ship", { errors: [{ ...error, message: "<script>x</script>" }] }),
  ]);
  expect(row).toContain("&lt;script&gt;");
});

type Ordered = WorkflowReference<{ id: string }> & {
  readonly "~definition": { readonly "~output": () => { tracking: string } };
};
const status = makeFunctionReference<"query", { id: string }, Status<Ordered> | null>(
  "orders:status",
);

/** What `useRun` returns while the client knows so much of the query. */
function seen(result: unknown): unknown {
  let found: unknown;
  const Page = () => {
    found = useRun(status, { id: "1" });
    return null;
  };
  // As much of a client as a first render asks for.
  const client = {
    watchQuery: () => ({
      localQueryResult: () => result,
      onUpdate: () => () => {},
      journal: () => undefined,
    }),
  } as unknown as ConvexReactClient;
  renderToStaticMarkup(createElement(ConvexProvider, { client }, createElement(Page)));
  return found;
}

test("useRun gives a query's status, also while there is none", () => {
  expect(seen(undefined)).toEqual({ state: "loading" });
  expect(seen(null)).toEqual({ state: "missing" });
  expect(seen(run)).toEqual(run);
  expectTypeOf(useRun<typeof status>).returns.toEqualTypeOf<
    { state: "loading" } | { state: "missing" } | Status<Ordered>
  >();
});
