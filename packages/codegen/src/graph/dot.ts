import type { Shape } from "../plan/stage-kinds.js";
import type { Graph, GraphWorkflow } from "./model.js";

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
  const target =
    child === undefined
      ? text("any workflow")
      : first === undefined
        ? text(child)
        : id(child, first.name);
  return `  ${id(workflow, node)} -> ${target} [style=dashed];`;
}

const id = (workflow: string, node: string): string => text(`${workflow}.${node}`);

function text(value: string): string {
  return `"${value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`;
}
