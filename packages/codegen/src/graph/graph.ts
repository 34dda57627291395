import { allNodes, goesOn, stagesOf } from "../plan/flow.js";
import type { NodePlan, ProjectPlan, StagePlan, WorkflowPlan } from "../plan/schema.js";
import { isOnEnd, withoutOnEnd } from "../plan/on-end.js";
import { retryOf } from "../plan/retry.js";
import { escapedWith } from "../diagnostics/printable.js";
import {
  calledAs,
  hasCases,
  hasKeys,
  isApart,
  isLoop,
  type Shape,
  stageKind,
  startsRuns,
} from "../plan/stage-kinds.js";

export type Graph = ReturnType<typeof graphOf>;
type GraphWorkflow = Graph["workflows"][number];
type GraphNode = GraphWorkflow["nodes"][number];

interface GraphEdge {
  readonly from: string;
  readonly to: string;
  /** When the run goes this way: a case, `next iteration`, `done`. Absent when it always does. */
  readonly label?: string;
}

export function graphOf({ workflows }: ProjectPlan, only?: string) {
  const drawn = workflows.filter(({ name }) => only === undefined || name === only);
  /** From a node to the workflows that it starts; to any if `child` is undefined. */
  const children = drawn.flatMap((workflow) =>
    stagesOf(workflow)
      .filter(({ kind }) => stageKind(kind).shape === "fanOut")
      .flatMap(({ node, workflows: known }) =>
        (known ?? [undefined]).map((child) => ({ workflow: workflow.name, node, child })),
      ),
  );
  const names = new Set(drawn.map(({ name }) => name));
  const started = new Set(children.flatMap(({ child }) => child ?? []));
  return {
    workflows: drawn.map((workflow) => {
      const { name, file, nodes } = workflow;
      const policies = policiesOf(workflow);
      return { name, file, policies, nodes: allNodes(nodes).map(graphNode), edges: edgesOf(nodes) };
    }),
    /** Workflows that are started as children, but not drawn themselves. */
    others: [...started].filter((name) => !names.has(name)).sort(),
    children,
  };
}

/** What holds for its runs and actions together: `limit tenant`, `one run of a key, …`. */
function policiesOf({ limitNames = [], one }: WorkflowPlan): string[] {
  const limits = limitNames.map(({ name }) => `limit ${name}`);
  if (one === undefined) return limits;
  const otherwise = one.otherwise === undefined ? "" : `, otherwise ${one.otherwise}`;
  return [...limits, `one run of a key${otherwise}`];
}

type Exit = Omit<GraphEdge, "to">;

function edgesOf(all: readonly NodePlan[]): GraphEdge[] {
  // However a run ends, its `onEnd` follows.
  const nodes = withoutOnEnd(all);
  return nodes.flatMap((node, index) => {
    const next = nodes[index + 1];
    const out = next === undefined ? [] : exitsOf(node).map((exit) => to(exit, next));
    return [...insideOf(node), ...out];
  });
}

const to = (exit: Exit, { path }: NodePlan): GraphEdge => ({ ...exit, to: path });

function exitsOf(node: NodePlan): Exit[] {
  if (!goesOn(node)) return [];
  if (isLoop(node)) return [{ from: node.path, label: "done" }];
  if (!hasCases(node)) return [{ from: node.path }];
  return (node.bodies ?? []).flatMap(({ key, nodes }) => {
    const last = nodes.at(-1);
    return last === undefined ? [{ from: node.path, label: key }] : exitsOf(last);
  });
}

/** Into the bodies of a node, through them, and of a loop back. */
function insideOf(node: NodePlan): GraphEdge[] {
  return (node.bodies ?? []).flatMap(({ key, nodes }) => {
    const [first] = nodes;
    const last = nodes.at(-1);
    if (first === undefined || last === undefined) return [];
    const into = to({ from: node.path }, first);
    const label = isApart(node) && !hasKeys(node) ? "each" : key;
    if (!isLoop(node)) return [{ ...into, label }, ...edgesOf(nodes)];
    const back = exitsOf(last).map((exit) => to({ label: "next iteration", ...exit }, node));
    return [into, ...edgesOf(nodes), ...back];
  });
}

/** A node is drawn as its most remarkable stage is. */
const shapeOf = ({ stages }: NodePlan): Shape =>
  stages.map(({ kind }) => stageKind(kind).shape).find((shape) => shape !== "run") ?? "run";

function graphNode(node: NodePlan) {
  const { path, kind, stages, options } = node;
  const policies = Object.entries(options).flatMap(
    ([option, value]) => policyTexts[option]?.(value) ?? [],
  );
  return {
    name: path,
    kind,
    shape: shapeOf(node),
    /** What it runs, in order: `action internal.documents.outline`, `children`, `mutation`. */
    runs: stages.map((stage) => runText(stage, node)),
    /** How it is run: `retry 5×`, `timeout 30s`, `8 at once`. */
    policies: [
      ...policies,
      ...stages.flatMap(({ limitNames = [] }) => limitNames.map(({ name }) => `limit ${name}`)),
      ...(stages.some(({ recover }) => recover) ? ["recovers"] : []),
      ...(stages.some(({ reduce }) => reduce) ? ["reduces"] : []),
    ],
    fansOut: startsRuns(node),
  };
}

function runText({ kind, reference, isAside }: StagePlan, node: NodePlan): string {
  const what = reference === undefined ? calledAs(kind, node) : `${kind} ${reference}`;
  if (isOnEnd(node)) return `at the end ${what}`;
  return isAside ? `undone by ${what}` : what;
}

type Value = NodePlan["options"][string];

function durationText(value: Value): string {
  if (typeof value === "object") return timeOfDayText(value as Record<string, Value>);
  return typeof value === "number" ? `${value}ms` : String(value);
}

const timeOfDayText = ({ at, zone }: Readonly<Record<string, Value>>): string =>
  `${String(at)} ${String(zone)}`;

/** What an option says, in a word or two; those of an option that says nothing are left out. */
const policyTexts: Readonly<Record<string, (value: Value) => string | undefined>> = {
  retry: (value) => (value === false ? undefined : `retry ${retryOf(value).maxAttempts}×`),
  timeout: (value) => `timeout ${durationText(value)}`,
  waitAtMost: (value) => `waits at most ${durationText(value)}`,
  duration: durationText,
  maxIterations: (value) => `at most ${String(value)} iterations`,
  concurrency: (value) => `${String(value)} at once`,
  tolerate: (value) => {
    if (value === "all") return "tolerates all failures";
    if (typeof value !== "object" || value === null) return undefined;
    const { failures, percentage } = value as Record<string, Value>;
    if (failures === undefined) return `tolerates ${String(percentage)} % failures`;
    return `tolerates ${String(failures)} failure${failures === 1 ? "" : "s"}`;
  },
  isolate: (value) => (value === true ? "own transaction" : undefined),
  sensitive: (value) => (value === true ? "sensitive" : undefined),
};

/**
 * A double border starts other runs, round ends wait, a diamond decides, a hexagon repeats, and a
 * circle ends the run.
 */
const shapes: Readonly<Record<Shape, { attributes: string; brackets: readonly [string, string] }>> =
  {
    run: { attributes: "", brackets: ["[", "]"] },
    fanOut: { attributes: ", peripheries=2", brackets: ["[[", "]]"] },
    wait: { attributes: ", style=rounded", brackets: ["([", "])"] },
    decision: { attributes: ", shape=diamond", brackets: ["{", "}"] },
    loop: { attributes: ", shape=hexagon", brackets: ["{{", "}}"] },
    end: { attributes: ", shape=doublecircle", brackets: ["(((", ")))"] },
  };

const linesOf = ({ name, runs, policies }: GraphNode) => [name, ...runs, ...policies];

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

function cluster({ name, policies, nodes, edges }: GraphWorkflow): string[] {
  return [
    `  subgraph ${text(`cluster_${name}`)} {`,
    `    label=${text([name, ...policies].join("\n"))};`,
    ...nodes.map((node) => {
      const label = text(linesOf(node).join("\n"));
      return `    ${id(name, node.name)} [label=${label}${shapes[node.shape].attributes}];`;
    }),
    ...edges.map(({ from, to, label }) => {
      const when = label === undefined ? "" : ` [label=${text(label)}]`;
      return `    ${id(name, from)} -> ${id(name, to)}${when};`;
    }),
    "  }",
  ];
}

/** An edge cannot end at a cluster: it ends at the first node of the workflow. */
function arrow(graph: Graph, workflow: string, node: string, child: string | undefined): string {
  const first = graph.workflows.find(({ name }) => name === child)?.nodes[0];
  const other = text(child ?? "any workflow");
  const target = child === undefined || first === undefined ? other : id(child, first.name);
  return `  ${id(workflow, node)} -> ${target} [style=dashed];`;
}

const id = (workflow: string, node: string): string => text(`${workflow}.${node}`);

/** Graphviz reads HTML entities in its texts. */
const text = (value: string): string =>
  escapedWith(
    (code) => `&#${code};`,
    `"${value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`,
  );

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

function subgraph({ name, policies, nodes, edges }: GraphWorkflow): string[] {
  return [
    `  subgraph ${workflowId(name)}[${label([name, ...policies])}]`,
    ...nodes.map((node) => `    ${nodeId(name, node.name)}${shaped(node)}`),
    ...edges.map((edge) => {
      const when = edge.label === undefined ? "" : `|${label([edge.label])}|`;
      return `    ${nodeId(name, edge.from)} -->${when} ${nodeId(name, edge.to)}`;
    }),
    "  end",
  ];
}

function shaped(node: GraphNode): string {
  const [open, close] = shapes[node.shape].brackets;
  return `${open}${label(linesOf(node))}${close}`;
}

const label = (lines: readonly string[]): string => `"${lines.map(escaped).join("<br/>")}"`;

/** Mermaid reads HTML entities, written with # in the place of &. */
const escaped = (text: string): string =>
  text.replace(/[^\p{L}\p{N} _.,:×{}-]/gu, (char) => `#${char.codePointAt(0)};`);

/* With a prefix no name can be a word of Mermaid, such as `end`; and no name holds a dot. */
const workflowId = (name: string): string => `w_${name}`;
const nodeId = (workflow: string, node: string): string => `n_${workflow}.${identifier(node)}`;

/** The key of a case or a branch may be any text. Two of them never become the same. */
const identifier = (path: string): string =>
  path.replace(/[^\w.]|_(?=[\da-f]+_)/gu, (char) => `_${char.codePointAt(0)?.toString(16)}_`);
