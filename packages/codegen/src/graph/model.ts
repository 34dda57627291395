import { allNodes, stagesOf } from "../plan/flow.js";
import type { NodePlan, ProjectPlan, StagePlan } from "../plan/schema.js";
import { retryOf } from "../plan/retry.js";
import { hasCases, isLoop, type Shape, stageKind, startsRuns } from "../plan/stage-kinds.js";

export type Graph = ReturnType<typeof graphOf>;
export type GraphWorkflow = Graph["workflows"][number];
export type GraphNode = GraphWorkflow["nodes"][number];

export interface GraphEdge {
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
    workflows: drawn.map(({ name, file, nodes }) => {
      return { name, file, nodes: allNodes(nodes).map(graphNode), edges: edgesOf(nodes) };
    }),
    /** Workflows that are started as children, but not drawn themselves. */
    others: [...started].filter((name) => !names.has(name)).sort(),
    children,
  };
}

type Exit = Omit<GraphEdge, "to">;

function edgesOf(nodes: readonly NodePlan[]): GraphEdge[] {
  return nodes.flatMap((node, index) => {
    const next = nodes[index + 1];
    const out = next === undefined ? [] : exitsOf(node).map((exit) => to(exit, next));
    return [...insideOf(node), ...out];
  });
}

const to = (exit: Exit, { path }: NodePlan): GraphEdge => ({ ...exit, to: path });

function exitsOf(node: NodePlan): Exit[] {
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
    const into: GraphEdge = {
      from: node.path,
      to: first.path,
      ...(isLoop(node) ? {} : { label: key }),
    };
    const back = isLoop(node)
      ? exitsOf(last).map((exit) => to({ label: "next iteration", ...exit }, node))
      : [];
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
    runs: stages.map(runText),
    /** How it is run: `retry 5×`, `timeout 30s`, `8 at once`. */
    policies: [
      ...policies,
      ...(stages.some(({ recover }) => recover) ? ["recovers"] : []),
      ...(stages.some(({ reduce }) => reduce) ? ["reduces"] : []),
    ],
    fansOut: startsRuns(node),
  };
}

function runText({ kind, reference, isAside }: StagePlan): string {
  const what = reference === undefined ? kind : `${kind} ${reference}`;
  return isAside ? `undone by ${what}` : what;
}

type Value = NodePlan["options"][string];

function durationText(value: Value): string {
  return typeof value === "number" ? `${value}ms` : String(value);
}

/** What an option says, in a word or two; those of an option that says nothing are left out. */
const policyTexts: Readonly<Record<string, (value: Value) => string | undefined>> = {
  retry: (value) => (value === false ? undefined : `retry ${retryOf(value).maxAttempts}×`),
  timeout: (value) => `timeout ${durationText(value)}`,
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
