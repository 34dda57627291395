import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { WorkflowGraph } from "../src/react/index.js";
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
