import type { NodePlan, ProjectPlan, StagePlan, WorkflowPlan } from "../plan/schema.js";
import { childExecutions, rootExecutions } from "./executions.js";
import { worstCase, type WorstCase } from "./worst-case.js";

/** What a run of a workflow costs and takes, when nothing fails; and at worst. */
export interface WorkflowExplained {
  readonly name: string;
  readonly file: string;
  /** Of the run itself; its children come on top. */
  readonly rootExecutions: number;
  /** What each child adds: its own run, without its children, and its part of the fan-out. */
  readonly perChild: readonly {
    readonly node: string;
    /** Undefined: any workflow of the app. */
    readonly workflow: string | undefined;
    readonly rootExecutions: number | undefined;
  }[];
  readonly worstCaseMs: number | null;
  /** Why there is no worst case: the stages whose time depends on something else. */
  readonly openEnded: readonly string[];
  readonly nodes: readonly NodeExplained[];
}

export interface NodeExplained {
  readonly name: string;
  readonly kind: string;
  readonly rootExecutions: number;
  readonly stages: readonly StageExplained[];
}

export interface StageExplained extends WorstCase {
  readonly name: string;
  readonly kind: StagePlan["kind"];
  readonly reference?: string;
  readonly rootExecutions: number;
  /** Names of the scope; `["*"]` for all of them. */
  readonly reads: readonly string[];
}

/** Explains one workflow, or all. */
export function explain({ workflows }: ProjectPlan, only?: string): WorkflowExplained[] {
  return workflows
    .filter(({ name }) => only === undefined || name === only)
    .map((workflow) => explainWorkflow(workflow, workflows));
}

function explainWorkflow(workflow: WorkflowPlan, all: readonly WorkflowPlan[]): WorkflowExplained {
  const nodes = workflow.nodes.map((node) => explainNode(node, workflow));
  const stages = nodes.flatMap((node) => node.stages);
  const openEnded = stages.filter(({ worstCaseMs }) => worstCaseMs === null);
  const total = sum(stages.map(({ worstCaseMs }) => worstCaseMs ?? 0));
  return {
    name: workflow.name,
    file: workflow.file,
    rootExecutions: sum(nodes.map((node) => node.rootExecutions)),
    perChild: workflow.nodes.flatMap((node) => childrenOf(node, all)),
    worstCaseMs: openEnded.length > 0 ? null : total,
    openEnded: openEnded.map(({ name }) => name),
    nodes,
  };
}

function explainNode(node: NodePlan, workflow: WorkflowPlan): NodeExplained {
  const stages = node.stages.map((stage): StageExplained => {
    const { name, kind, reference, reads } = stage;
    const worst = worstCase(stage, workflow);
    return { name, kind, reference, rootExecutions: rootExecutions(stage), reads, ...worst };
  });
  const total = sum(stages.map((stage) => stage.rootExecutions));
  return { name: node.name, kind: node.kind, rootExecutions: total, stages };
}

function childrenOf(
  node: NodePlan,
  all: readonly WorkflowPlan[],
): WorkflowExplained["perChild"][number][] {
  return node.stages.filter(childExecutions.has).flatMap(({ workflows }) =>
    (workflows ?? [undefined]).map((name) => {
      const child = all.find((workflow) => workflow.name === name);
      const own = child?.nodes.flatMap(({ stages }) => stages.map(rootExecutions));
      return {
        node: node.name,
        workflow: name,
        rootExecutions: own && sum([...own, childExecutions.each]),
      };
    }),
  );
}

/** Of tenths, without the crumbs of binary fractions. */
function sum(numbers: readonly number[]): number {
  return Math.round(numbers.reduce((total, number) => total + number, 0) * 10) / 10;
}
