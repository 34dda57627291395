import { Graph, layout } from "@dagrejs/dagre";

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

interface Point {
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

/** The widths of a letter, of which no font is at hand to measure them. */
const LETTER = 7.4;
const SMALL_LETTER = 6;
const NAME_HEIGHT = 18;
const DETAIL_HEIGHT = 15;
const MARGIN = 8;
/** Shapes with slanted sides need more room for the same text. */
const ROOM: Readonly<Record<string, number>> = {
  run: 24,
  fanOut: 32,
  wait: 36,
  decision: 64,
  loop: 52,
  end: 44,
};

/** Places the nodes of a workflow from top to bottom. @throws if the graph has no such workflow */
export function layoutOf(graph: PlanGraph, name: string | undefined) {
  const workflow = graph.workflows.find((each) => name === undefined || each.name === name);
  if (workflow === undefined) throw new Error(`The graph has no workflow "${name ?? ""}"`);
  const drawing = new Graph({ multigraph: true });
  drawing.setGraph({ rankdir: "TB", nodesep: 28, ranksep: 36, marginx: MARGIN, marginy: MARGIN });
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
      node.name.length * LETTER + 2 * LETTER,
      ...lines.map((line) => line.length * SMALL_LETTER),
    );
    const height = NAME_HEIGHT + lines.length * DETAIL_HEIGHT + 14;
    drawing.setNode(node.name, { width: text + (ROOM[node.shape] ?? 24), height });
    return lines;
  });
  workflow.edges.forEach(({ from, to, label }, index) => {
    const size = label === undefined ? {} : { width: label.length * SMALL_LETTER + 8, height: 16 };
    drawing.setEdge(from, to, { label, labelpos: "c", ...size }, `${index}`);
  });
  layout(drawing);
  const { width, height } = drawing.graph() as Placed;
  return {
    name: workflow.name,
    width: Math.ceil(width),
    height: Math.ceil(height),
    nodes: workflow.nodes.map((node, index) => {
      return { ...(drawing.node(node.name) as Placed), node, details: details[index] ?? [] };
    }),
    edges: workflow.edges.map(
      ({ from, to }, index) => drawing.edge(from, to, `${index}`) as Placed,
    ),
  };
}
