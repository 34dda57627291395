import { allNodes } from "./flow.js";
import type { NodePlan, StagePlan, WorkflowPlan } from "./schema.js";

/** One exported function of a generated file. */
export interface GeneratedFunction {
  readonly name: string;
  readonly stage: StagePlan;
  /** What it is, for messages: `step "save"`, `the completion of step "save"`. */
  readonly label: string;
}

/** `chapters.output` is named `chaptersOutput`. */
export function stageIdentifier(stageName: string): string {
  const [first = "", ...rest] = stageName.split(".");
  return first + rest.map(capitalized).join("");
}

export function capitalized(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

/** The name of the completion of an action stage. */
export function completionName(stageName: string): string {
  return `${stageIdentifier(stageName)}Done`;
}

/** An inline mutation or query has a function; a referenced one is called directly. */
const own = (stage: StagePlan): GeneratedFunction[] =>
  stage.reference === undefined
    ? [{ name: stageIdentifier(stage.name), stage, label: stage.label }]
    : [];

/** The functions that a stage of each kind is compiled to. */
const functionsOf: Record<StagePlan["kind"], (stage: StagePlan) => GeneratedFunction[]> = {
  action: (stage) => [
    { name: stageIdentifier(stage.name), stage, label: stage.label },
    { name: completionName(stage.name), stage, label: `the completion of ${stage.label}` },
  ],
  mutation: own,
  query: own,
  children: () => [],
  sleep: () => [],
  event: () => [],
  branch: () => [],
  loop: () => [],
  child: () => [],
};

/** The functions of a workflow's stages, in order; `resume` and `reference` come with every workflow. */
export function generatedFunctions(workflow: WorkflowPlan): GeneratedFunction[] {
  return allNodes(workflow.nodes).flatMap(functionsOfNode);
}

/** Those of one node, without those of the nodes inside it. */
export function functionsOfNode(node: NodePlan): GeneratedFunction[] {
  return node.stages.flatMap((stage) => functionsOf[stage.kind](stage));
}

/** All stages of a workflow, those of the nodes inside a node after its own. */
export function stagesOf(workflow: WorkflowPlan): StagePlan[] {
  return allNodes(workflow.nodes).flatMap((node) => node.stages);
}
