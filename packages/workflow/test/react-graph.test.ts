import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { type LiveRun, type Step, WorkflowGraph } from "../src/react/index.js";
import { layoutOf, type Point } from "../src/react/layout.js";

const node = (name: string, shape = "run") => ({
  name,
  kind: "step",
  shape,
  runs: ["action internal.order.work"],
  policies: [],
});
const names = [
  "start",
  "mode",
  "mode.quick.pack",
  "mode.careful.parts",
  "mode.careful.parts.weigh",
];
const more = ["mode.careful.parts.pack", "both", "both.still image.frame", "both.clip.cut", "end"];
const nodes = [...names, ...more].map((name) => node(name));
const edges = [
  ["start", "mode"],
  ["mode", "mode.quick.pack", "quick"],
  ["mode", "mode.careful.parts", "careful"],
  ["mode", "both", "with neither of them, as it is written"],
  ["mode.careful.parts", "mode.careful.parts.weigh"],
  ["mode.careful.parts.weigh", "mode.careful.parts.pack"],
  ["mode.careful.parts.pack", "mode.careful.parts", "next iteration"],
  ["mode.careful.parts", "both", "done"],
  ["mode.quick.pack", "both"],
  ["both", "both.still image.frame", "still image"],
  ["both", "both.clip.cut", "clip"],
  ["both", "end", "later"],
].map(([from = "", to = "", label]) => ({ from, to, ...(label !== undefined && { label }) }));
const graph = { workflows: [{ name: "order", nodes, edges }], children: [] };
const layout = layoutOf(graph, "order");

interface Box extends Point {
  readonly width: number;
  readonly height: number;
}
const sidesOf = ({ x, y, width, height }: Box) => ({
  left: x - width / 2,
  right: x + width / 2,
  top: y - height / 2,
  bottom: y + height / 2,
});
function isIn(inner: Box, outer: Box): boolean {
  const [a, b] = [sidesOf(inner), sidesOf(outer)];
  return a.left > b.left && a.right < b.right && a.top > b.top && a.bottom < b.bottom;
}
/** Points of a line, so close that none of a label's letters fits between two. */
const along = (points: readonly Point[]): Point[] =>
  points.slice(1).flatMap((to, index) => {
    const from = points[index]!;
    const parts = Array.from({ length: 100 }, (_, part) => part / 99);
    return parts.map((part) => ({
      x: from.x + (to.x - from.x) * part,
      y: from.y + (to.y - from.y) * part,
    }));
  });

test("a frame stands around what a node holds, and around nothing else", () => {
  expect(layout.frames.map(({ id }) => id)).toEqual([
    "body mode.quick",
    "body mode.careful",
    "body mode.careful.parts",
    "body both.still image",
    "body both.clip",
  ]);
  for (const frame of layout.frames) {
    const held = layout.nodes.filter((each) => isIn(each, frame)).map((each) => each.node.name);
    const body = `${frame.id.replace("body ", "")}.`;
    expect(held).toEqual([...names, ...more].filter((name) => name.startsWith(body)));
  }
});

test("labels of a graph stand on no line, and on no node", () => {
  const labels = layout.edges.filter(({ label }) => label !== undefined);
  expect(labels).toHaveLength(8);
  for (const label of labels) {
    const lines = layout.edges.flatMap(({ points }) => along(points));
    expect(lines.filter((point) => isIn({ ...point, width: 0, height: 0 }, label))).toEqual([]);
    expect(layout.nodes.filter((each) => isIn(label, each))).toEqual([]);
  }
});

test("inside a frame, a node has its short name, and its whole one for whoever points at it", () => {
  const html = renderToStaticMarkup(createElement(WorkflowGraph, { graph }));
  expect(html).toContain("<title>mode.careful.parts.weigh</title>");
  const texts = [...html.matchAll(/<text y="[^"]*">([^<]*)<\/text>/g)].map(([, text]) => text);
  expect(texts).toEqual(expect.arrayContaining(["weigh", "frame", "cut"]));
  expect(texts.join()).not.toContain(".weigh");
});

/** What the graph says of each node, in words and by its colour. */
function saidOf(steps: Step[], more: object = {}): Record<string, string> {
  const html = renderToStaticMarkup(createElement(WorkflowGraph, { graph, steps, ...more }));
  const said = html.matchAll(/data-tone="(\w+)"[^>]*><title>([^<]*?)(?:: ([^<]*))?<\/title>/g);
  return Object.fromEntries(
    [...said].flatMap(([, tone, name = "", label]) => (label ? [[name, `${label}, ${tone}`]] : [])),
  );
}
const did = (name: string, of: Partial<Step> = {}): Step => ({
  node: name,
  kind: "action",
  state: "completed",
  errors: [],
  ...of,
});
const clip = "both.clip.cut";
const still = "both.still image.frame";

test("[S271] a graph shows what happened in branches, items and cases, which are runs of their own", () => {
  const both = did("both", { id: "s1", kind: "children", state: "waiting" });
  const saidWith = (...runs: Step[][]) => {
    const counts = { total: runs.length, done: 0, failed: 0, canceled: 0, running: 1 };
    const inside = ({ id }: Step) => (id === "s1" ? runs : undefined);
    return saidOf([{ ...both, children: counts }], { inside });
  };
  const sleeping = did(still, { kind: "sleep", state: "waiting" });
  expect(saidWith([did(clip)], [sleeping])).toEqual({
    both: "waiting, waiting",
    [clip]: "completed, good",
    [still]: "sleeping, waiting",
  });
  // Many are counted: the colour is that of the one to look at first.
  const queued = did(clip, { state: "pending", queuedAt: 0 });
  const failed = did(clip, { state: "failed" });
  const many = [[did(clip)], [queued], [failed], [did(clip)], [did(clip, { state: "running" })]];
  expect(saidWith(...many, [queued])[clip]).toBe("1 failed, 1 running, 2 queued, 2 completed, bad");
  // A status tells no ids.
  const { id: _id, ...known } = both;
  const active = [{ ...known, since: 0, children: { total: 1, done: 1 } }];
  const run = { workflow: "order", state: "running", active } as unknown as LiveRun;
  const inside = ({ id }: Step) => (id === "s1" ? [[did(clip)]] : undefined);
  expect(saidOf([both], { run, inside })[clip]).toBe("completed, good");
  expect(saidWith([], [])).toEqual({ both: "waiting, waiting" });
  // What is undone in one of them says nothing of the others.
  const undo = did(`${clip}.compensate`, { state: "failed" });
  const undone = [did(clip), did(`${clip}.compensate`)];
  expect(saidWith([did(clip), undo], undone)[clip]).toBe("1 not undone, 1 undone, bad");
});

test("[S271] without their steps, a graph says of nodes in branches how many of these have ended", () => {
  const children = { total: 34, done: 12, failed: 2, canceled: 0, running: 20 };
  const both = did("both", { kind: "children", state: "waiting", children });
  const text = "in both: 12 of 34 done, 2 failed, 20 in progress, idle";
  expect(saidOf([both])).toEqual({ both: "waiting, waiting", [clip]: text, [still]: text });
  const active = [{ ...both, since: 0 }];
  const run = { workflow: "order", state: "running", active } as unknown as LiveRun;
  expect(saidOf([], { run })[clip]).toBe(text);
  // An iteration that has come later has other children.
  const loop = "mode.careful.parts";
  const first: Partial<Step> = { kind: "children", children, iterations: [1] };
  const second = { ...first, iterations: [2], children: { ...children, done: 14, running: 18 } };
  expect(saidOf([did(loop, first), did(loop, second)])[`${loop}.pack`]).toBe(
    "in mode › careful › parts: 14 of 34 done, 2 failed, 18 in progress, idle",
  );
  const none = { ...children, total: 0, done: 0, failed: 0, running: 0 };
  expect(saidOf([{ ...both, state: "completed", children: none }])).toEqual({
    both: "completed, good",
  });
  expect(saidOf([did("start")])).toEqual({ start: "completed, good" });
});

test("[S271] the graph of a branch's run says of nodes around it that they are not in this run", () => {
  const run = { workflow: "order", within: "both.clip", state: "running", active: [] };
  const said = saidOf([did(clip)], { run });
  expect(said[clip]).toBe("completed, good");
  for (const other of ["start", "both", still, "end"])
    expect(said[other]).toBe("not in this run, idle");
  // The name may be one that it had before.
  const renamed = { ...run, within: "both.film" };
  expect(saidOf([did(clip)], { run: renamed })).toEqual({ [clip]: "completed, good" });
});
