import { allNodes } from "./flow.js";
import type { NodePlan, StagePlan, WorkflowPlan } from "./schema.js";
import { stageKind } from "./stage-kinds.js";

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

export function completionName(stageName: string): string {
  return `${stageIdentifier(stageName)}Done`;
}

/** The functions of a stage. A mutation or query by reference has none: it is called directly. */
function functionsOf(stage: StagePlan): GeneratedFunction[] {
  const own = { name: stageIdentifier(stage.name), stage, label: stage.label };
  const { goes } = stageKind(stage.kind);
  if (goes === "queued") {
    const label = `the completion of ${stage.label}`;
    return [own, { name: completionName(stage.name), stage, label }];
  }
  return goes === "within" && stage.reference === undefined ? [own] : [];
}

/** The functions of all stages, in order; every workflow also has `resume` and `reference`. */
export function generatedFunctions(workflow: WorkflowPlan): GeneratedFunction[] {
  return allNodes(workflow.nodes).flatMap(functionsOfNode);
}

/** Those of one node, without those of the nodes inside it. */
export function functionsOfNode(node: NodePlan): GeneratedFunction[] {
  return node.stages.flatMap(functionsOf);
}

/** All stages of a workflow, those of the nodes inside a node after its own. */
export function stagesOf(workflow: WorkflowPlan): StagePlan[] {
  return allNodes(workflow.nodes).flatMap((node) => node.stages);
}
