import type { NodePlan, ProjectPlan, StagePlan, WorkflowPlan } from "../plan/schema.js";

/** What the drawing of a plan consists of, whatever it is drawn in. */
export interface Graph {
  readonly workflows: readonly GraphWorkflow[];
  /** Workflows that are started as children, but not drawn themselves. */
  readonly others: readonly string[];
  /** From a node to the workflows that it starts. */
  readonly children: readonly {
    readonly workflow: string;
    readonly node: string;
    /** Undefined: any workflow. */
    readonly child: string | undefined;
  }[];
}

export interface GraphWorkflow {
  readonly name: string;
  readonly file: string;
  readonly nodes: readonly GraphNode[];
  /** From one node to the next. */
  readonly edges: readonly { readonly from: string; readonly to: string }[];
}

export interface GraphNode {
  readonly name: string;
  readonly kind: string;
  /** What it runs, in order: `action internal.documents.outline`, `children`, `mutation`. */
  readonly runs: readonly string[];
  /** How it is run: `retry 5×`, `timeout 30s`, `8 at once`. */
  readonly policies: readonly string[];
  /** Whether it starts other runs. */
  readonly fansOut: boolean;
}

/** The graph of one workflow, or of all. */
export function graphOf({ workflows }: ProjectPlan, only?: string): Graph {
  const drawn = workflows.filter(({ name }) => only === undefined || name === only);
  const children = drawn.flatMap((workflow) =>
    workflow.nodes.flatMap((node) =>
      node.stages.filter(startsRuns).flatMap(({ workflows: known }) =>
        (known ?? [undefined]).map((child) => ({
          workflow: workflow.name,
          node: node.name,
          child,
        })),
      ),
    ),
  );
  const names = new Set(drawn.map(({ name }) => name));
  const started = new Set(children.flatMap(({ child }) => child ?? []));
  return {
    workflows: drawn.map(graphWorkflow),
    others: [...started].filter((name) => !names.has(name)).sort(),
    children,
  };
}

const startsRuns = ({ kind }: StagePlan): boolean => kind === "children";

function graphWorkflow({ name, file, nodes }: WorkflowPlan): GraphWorkflow {
  const edges = nodes.slice(1).map((node, index) => ({
    from: nodes[index]?.name ?? node.name,
    to: node.name,
  }));
  return { name, file, nodes: nodes.map(graphNode), edges };
}

function graphNode({ name, kind, stages, options }: NodePlan): GraphNode {
  return {
    name,
    kind,
    runs: stages.map((stage) =>
      stage.reference === undefined ? stage.kind : `${stage.kind} ${stage.reference}`,
    ),
    policies: Object.entries(options).flatMap(([option, value]) => policyText(option, value) ?? []),
    fansOut: stages.some(startsRuns),
  };
}

type Value = NodePlan["options"][string];

/** What an option says, in a word or two; those of an option that says nothing are left out. */
const policyTexts: Readonly<Record<string, (value: Value) => string | undefined>> = {
  retry: (value) => {
    if (value === true) return "retry 5×";
    const attempts =
      typeof value === "object" && value !== null && "maxAttempts" in value
        ? value["maxAttempts"]
        : undefined;
    return typeof attempts === "number" ? `retry ${attempts}×` : undefined;
  },
  timeout: (value) => `timeout ${typeof value === "number" ? `${value}ms` : String(value)}`,
  concurrency: (value) => `${String(value)} at once`,
  tolerate: (value) => `tolerates ${typeof value === "string" ? value : JSON.stringify(value)}`,
  isolate: (value) => (value === true ? "own transaction" : undefined),
};

function policyText(option: string, value: Value): string | undefined {
  return policyTexts[option]?.(value);
}
