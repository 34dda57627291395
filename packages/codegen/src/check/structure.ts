import { diagnostic, type Diagnostic } from "../diagnostics/diagnostic.js";
import { nearest } from "../diagnostics/nearest.js";
import { generatedFunctions, stagesOf } from "../plan/functions.js";
import type { ProjectPlan, StagePlan, WorkflowPlan } from "../plan/schema.js";

/** What a workflow is made of, and what its handlers read. */
export function checkStructure({ workflows }: ProjectPlan): Diagnostic[] {
  return workflows.flatMap((workflow) => [
    ...checkHasNodes(workflow),
    ...checkFinalizeIsLast(workflow),
    ...checkReads(workflow),
    ...checkGlobals(workflow),
  ]);
}

function checkHasNodes({ name, nodes, place, hasUnreadNodes }: WorkflowPlan): Diagnostic[] {
  if (nodes.length > 0 || hasUnreadNodes) return [];
  return [
    diagnostic(
      "noNodes",
      place,
      `workflow ${JSON.stringify(name)} has no nodes, so there is nothing to run`,
      {
        hint: 'add one: `.step("name", { action: async (ctx, { input }) => … })`',
      },
    ),
  ];
}

function checkFinalizeIsLast({ name, nodes }: WorkflowPlan): Diagnostic[] {
  const at = nodes.findIndex((node) => node.endsWorkflow);
  const finalize = nodes[at];
  const after = nodes[at + 1];
  if (finalize === undefined || after === undefined) return [];
  return [
    diagnostic(
      "afterFinalize",
      after.place,
      `workflow ${JSON.stringify(name)} has a node after its finalize, where it has ended`,
      {
        hint: "move .finalize() to the end",
        related: [{ message: "the finalize", place: finalize.place }],
      },
    ),
  ];
}

function checkReads(workflow: WorkflowPlan): Diagnostic[] {
  if (workflow.hasUnknownNames) return [];
  return stagesOf(workflow).flatMap((stage) => checkStageReads(workflow, stage));
}

function checkStageReads(workflow: WorkflowPlan, stage: StagePlan): Diagnostic[] {
  const names = workflow.nodes.map((node) => node.name);
  return stage.readPlaces
    .filter(({ name }) => !stage.visible.includes(name))
    .map(({ name, place }) => {
      const quoted = JSON.stringify(name);
      const near = nearest(name, stage.visible);
      const isLater = names.includes(name);
      const why = isLater
        ? `${quoted}, which does not come before it`
        : `${quoted}, which nothing gives`;
      const visible = `it can read ${stage.visible.join(", ")}`;
      return diagnostic(
        "unknownRead",
        place,
        `${stage.label} of workflow ${JSON.stringify(workflow.name)} reads ${why}`,
        {
          hint:
            near === undefined || isLater
              ? visible
              : `did you mean ${JSON.stringify(near)}? ${visible}`,
        },
      );
    });
}

/** Exports keep their names, and a global has no other: the copied input would mean the node. */
function checkGlobals(workflow: WorkflowPlan): Diagnostic[] {
  const { input, name } = workflow;
  if (input.kind !== "copy") return [];
  return generatedFunctions(workflow)
    .filter((generated) => input.globals.includes(generated.name))
    .map((generated) =>
      diagnostic(
        "hiddenGlobal",
        generated.stage.place,
        `the input of workflow ${JSON.stringify(name)} uses the global ${generated.name}, which ${generated.label} hides in generated code`,
        {
          hint: "rename the node, or export the input as a const and write `input: thatConst`",
        },
      ),
    );
}
