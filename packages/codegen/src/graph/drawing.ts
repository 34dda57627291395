import type { Shape } from "../plan/stage-kinds.js";
import type { Graph, GraphNode, GraphWorkflow } from "./model.js";

export function dot(graph: Graph): string {
  const lines = [
    "digraph workflows {",
    '  node [shape=box, fontname="sans-serif"];',
    '  fontname="sans-serif";',
    ...graph.workflows.flatMap(cluster),
    ...graph.others.map((name) => `  ${text(name)} [shape=box, peripheries=2];`),
    ...graph.children.map(({ workflow, node, child }) => arrow(graph, workflow, node, child)),
    "}",
  ];
  return `${lines.join("\n")}\n`;
}

function cluster({ name, nodes, edges }: GraphWorkflow): string[] {
  return [
    `  subgraph ${text(`cluster_${name}`)} {`,
    `    label=${text(name)};`,
    ...nodes.map((node) => {
      const label = text([node.name, ...node.runs, ...node.policies].join("\n"));
      return `    ${id(name, node.name)} [label=${label}${attributes[node.shape]}];`;
    }),
    ...edges.map(({ from, to, label }) => {
      const when = label === undefined ? "" : ` [label=${text(label)}]`;
      return `    ${id(name, from)} -> ${id(name, to)}${when};`;
    }),
    "  }",
  ];
}

const attributes: Readonly<Record<Shape, string>> = {
  run: "",
  fanOut: ", peripheries=2",
  wait: ", style=rounded",
  decision: ", shape=diamond",
  loop: ", shape=hexagon",
};

/** An edge cannot end at a cluster: it ends at the first node of the workflow. */
function arrow(graph: Graph, workflow: string, node: string, child: string | undefined): string {
  const first = graph.workflows.find(({ name }) => name === child)?.nodes[0];
  const other = text(child ?? "any workflow");
  const target = child === undefined || first === undefined ? other : id(child, first.name);
  return `  ${id(workflow, node)} -> ${target} [style=dashed];`;
}

const id = (workflow: string, node: string): string => text(`${workflow}.${node}`);

const text = (value: string): string =>
  `"${value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;

/** A graph as a Mermaid flowchart, as GitHub and most documentation tools show it. */
export function mermaid(graph: Graph): string {
  return [
    "flowchart TD",
    ...graph.workflows.flatMap(subgraph),
    ...graph.others.map((name) => `  ${workflowId(name)}[[${label([name])}]]`),
    ...(graph.children.some(({ child }) => child === undefined)
      ? [`  any[[${label(["any workflow"])}]]`]
      : []),
    ...graph.children.map(
      ({ workflow, node, child }) =>
        `  ${nodeId(workflow, node)} -.-> ${child === undefined ? "any" : workflowId(child)}`,
    ),
    "",
  ].join("\n");
}

function subgraph({ name, nodes, edges }: GraphWorkflow): string[] {
  return [
    `  subgraph ${workflowId(name)}[${label([name])}]`,
    ...nodes.map((node) => `    ${nodeId(name, node.name)}${shaped(node)}`),
    ...edges.map((edge) => {
      const when = edge.label === undefined ? "" : `|${label([edge.label])}|`;
      return `    ${nodeId(name, edge.from)} -->${when} ${nodeId(name, edge.to)}`;
    }),
    "  end",
  ];
}

/** A double border starts other runs, round ends wait, a diamond decides, a hexagon repeats. */
const brackets: Readonly<Record<Shape, readonly [string, string]>> = {
  run: ["[", "]"],
  fanOut: ["[[", "]]"],
  wait: ["([", "])"],
  decision: ["{", "}"],
  loop: ["{{", "}}"],
};

function shaped(node: GraphNode): string {
  const [open, close] = brackets[node.shape];
  return `${open}${label([node.name, ...node.runs, ...node.policies])}${close}`;
}

const label = (lines: readonly string[]): string => `"${lines.map(escaped).join("<br/>")}"`;

/** Mermaid reads HTML entities, written with # in the place of &. */
const escaped = (text: string): string =>
  text.replace(/[^\p{L}\p{N} _.,:×{}-]/gu, (char) => `#${char.codePointAt(0)};`);

/* With a prefix no name can be a word of Mermaid, such as `end`; and no name holds a dot. */
const workflowId = (name: string): string => `w_${name}`;
const nodeId = (workflow: string, node: string): string => `n_${workflow}.${node}`;
