import { Graph, layout } from "@dagrejs/dagre";
import { shapeOf } from "./shapes.js";

/** A plan's graph, as `workflow-codegen graph --format json` writes it. */
export interface PlanGraph {
  readonly workflows: readonly {
    readonly name: string;
    readonly nodes: readonly PlanNode[];
    readonly edges: readonly {
      readonly from: string;
      readonly to: string;
      readonly label?: string;
    }[];
  }[];
  /** From a node to a workflow that it starts; without `child`, to any. */
  readonly children: readonly {
    readonly workflow: string;
    readonly node: string;
    readonly child?: string | undefined;
  }[];
}

export interface PlanNode {
  readonly name: string;
  readonly kind: string;
  /** `run`, `fanOut`, `wait`, `decision`, `loop` or `end`. */
  readonly shape: string;
  readonly runs: readonly string[];
  readonly policies: readonly string[];
}

/** Where everything is, in px; a node's place is its middle. */
export type Layout = ReturnType<typeof layoutOf>;

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What dagre says of a place; its types are not found by Node's resolution. */
interface Placed extends Point {
  readonly width: number;
  readonly height: number;
  readonly points: readonly Point[];
  readonly label?: string;
}

/** Nodes that a node holds: a case, a branch, or what is repeated. */
interface Frame {
  readonly id: string;
  /** Whose body it is. */
  readonly of: string;
}

/** The widths of a letter, of which no font is at hand to measure them. */
const LETTER = 7.4;
const SMALL_LETTER = 6.4;
const NAME_HEIGHT = 18;
const DETAIL_HEIGHT = 15;
const MARGIN = 8;
const LABEL_HEIGHT = 16;
/** Places the nodes of a workflow from top to bottom. @throws if the graph has no such workflow */
export function layoutOf(graph: PlanGraph, name: string | undefined) {
  const workflow = graph.workflows.find((each) => name === undefined || each.name === name);
  if (workflow === undefined) throw new Error(`The graph has no workflow "${name ?? ""}"`);
  const drawing = new Graph({ multigraph: true, compound: true });
  drawing.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 36, marginx: MARGIN, marginy: MARGIN });
  const frames = framesOf(workflow.nodes);
  const ids = new Set([...frames.values()].map(({ id }) => id));
  for (const id of ids) drawing.setNode(id, {});
  for (const { id, of } of frames.values()) drawing.setParent(id, frames.get(of)?.id);
  const details = workflow.nodes.map((node) => {
    const started = graph.children.filter(
      (each) => each.workflow === workflow.name && each.node === node.name,
    );
    const lines = [
      ...node.runs,
      ...node.policies,
      ...started.map(({ child = "any workflow" }) => `starts ${child}`),
    ];
    const text = Math.max(
      (shortName(node.name).length + 2) * LETTER,
      ...lines.map((line) => line.length * SMALL_LETTER),
    );
    const height = NAME_HEIGHT + lines.length * DETAIL_HEIGHT + 14;
    drawing.setNode(node.name, { width: text + shapeOf(node.shape).room, height });
    drawing.setParent(node.name, frames.get(node.name)?.id);
    return lines;
  });
  workflow.edges.forEach(({ from, to, label }, index) => {
    const size =
      label === undefined ? {} : { width: label.length * SMALL_LETTER, height: LABEL_HEIGHT };
    drawing.setEdge(from, to, { label, labelpos: "r", labeloffset: 7, ...size }, `${index}`);
  });
  layout(drawing);
  const { width, height } = drawing.graph() as Placed;
  const edges = workflow.edges.map(
    ({ from, to }, index) => drawing.edge(from, to, `${index}`) as Placed,
  );
  const labelled = edges.filter(({ label }) => label !== undefined).map(({ y }) => y);
  return {
    name: workflow.name,
    width: Math.ceil(width),
    height: Math.ceil(height),
    nodes: workflow.nodes.map((node, index) => {
      const short = shortName(node.name);
      return { ...(drawing.node(node.name) as Placed), node, short, details: details[index] ?? [] };
    }),
    frames: [...ids].map((id) => ({ ...(drawing.node(id) as Placed), id })),
    edges: edges.map((edge) => ({ ...edge, points: besideLabels(edge.points, labelled) })),
  };
}

/** A node's name without those of the nodes around it, which its frame stands for. */
const shortName = (name: string): string => name.slice(name.lastIndexOf(".") + 1);

/** The frame of each node that another one holds: its path begins with that one's. */
function framesOf(nodes: readonly PlanNode[]): Map<string, Frame> {
  const names = new Set(nodes.map(({ name }) => name));
  const frames = new Map<string, Frame>();
  for (const { name } of nodes) {
    const body = name.slice(0, name.lastIndexOf("."));
    for (let of = body; of !== ""; of = of.slice(0, Math.max(0, of.lastIndexOf("."))))
      if (names.has(of)) {
        // No name of a node has a space, so no frame is called as one.
        frames.set(name, { id: `body ${body}`, of });
        break;
      }
  }
  return frames;
}

/** Has lines pass upright where labels stand, so that none crosses one. */
function besideLabels(points: readonly Point[], labelled: readonly number[]): readonly Point[] {
  const half = LABEL_HEIGHT / 2 + 1;
  return points.flatMap((point, index) => {
    const isInside = index > 0 && index < points.length - 1;
    if (!isInside || !labelled.some((y) => Math.abs(y - point.y) < 1)) return [point];
    const isDown = points[index - 1]!.y < point.y;
    const [first, last] = isDown ? [-half, half] : [half, -half];
    return [
      { x: point.x, y: point.y + first },
      { x: point.x, y: point.y + last },
    ];
  });
}
