import type { StagePlan } from "../../plan/schema.js";
import { call, callWithList, members, string, strings } from "../print/code.js";
import {
  inDefinition,
  lead,
  mentioned,
  runFunction,
  thenText,
  type StageFile,
  type StageLowering,
} from "./lowering.js";

/** The children of a parent: started by the transaction that arrives, and entered again after the last one has ended. */
export const children: StageLowering = {
  isScheduled: false,

  sections(stage, file) {
    const references = (stage.workflows ?? file.workflowNames).map((name) => file.reference(name));
    const finalize = finalizeOf(stage, file);
    const start = callWithList(
      "run.children",
      [string(stage.name), strings(stage.reads), members(inDefinition(stage, "children", file))],
      references,
    );
    const following =
      finalize === undefined
        ? "then its outputs are gathered"
        : `then ${mentioned(finalize, stage)}`;
    const starting = {
      comment: `${lead(stage, file)}: its children in parallel; ${following}.`,
      code: runFunction(file.arrival(stage), start, file),
    };
    if (finalize !== undefined) return [starting];
    const gather = call("run.gather", [string(stage.name), file.arrival(file.after(stage))]);
    return [
      starting,
      {
        comment: `After the last child of ${JSON.stringify(stage.name)}: its output is { output, children }; ${thenText(stage, file)}.`,
        code: runFunction(file.afterChildren(stage), gather, file),
      },
    ];
  },

  afterChildren(stage, file) {
    const finalize = finalizeOf(stage, file);
    return finalize === undefined ? file.afterChildren(stage) : file.arrival(finalize);
  },
};

function finalizeOf(stage: StagePlan, file: StageFile): StagePlan | undefined {
  const next = file.after(stage);
  return next?.name === `${stage.name}.finalize` ? next : undefined;
}
