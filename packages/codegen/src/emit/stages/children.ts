import type { StagePlan } from "../../plan/schema.js";
import { call, callWithList, members, string, strings } from "../print/code.js";
import {
  inDefinition,
  lead,
  mentioned,
  runFunction,
  thenText,
  toStage,
  type Section,
  type StageFile,
  type StageLowering,
} from "./lowering.js";

/** The children of a parent: started by the transaction that arrives, and entered again after the last one has ended. */
export const children: StageLowering = {
  isScheduled: false,

  sections(stage, file) {
    const finalize = finalizeOf(stage, file);
    const args = [
      string(stage.name),
      strings(stage.reads),
      members(inDefinition(stage, "children", file)),
    ];
    const references = stage.workflows?.map((name) => file.reference(name));
    const start =
      references === undefined
        ? call("run.children", [...args, file.allReferences()])
        : callWithList("run.children", args, references);
    const following =
      finalize === undefined
        ? "then its outputs are gathered"
        : `then ${mentioned(finalize, stage)}`;
    const starting = {
      comment: `${lead(stage, file)}: its children in parallel; ${following}.`,
      code: toStage(stage, start, file),
    };
    return isEnteredByFinalize(stage, file) ? [starting] : [starting, ending(stage, file)];
  },

  entryAfter(stage, file) {
    const finalize = finalizeOf(stage, file);
    return finalize !== undefined && isEnteredByFinalize(stage, file)
      ? file.arrival({ at: "stage", stage: finalize })
      : file.afterChildren(stage);
  },
};

/** A finalize takes the outputs of the children itself, unless they are folded first. */
const isEnteredByFinalize = (stage: StagePlan, file: StageFile): boolean =>
  finalizeOf(stage, file) !== undefined && stage.reduce !== true;

/** What a run does after the last child, where that is more than to go on with the finalize. */
function ending(stage: StagePlan, file: StageFile): Section {
  const [name, next] = [string(stage.name), file.arrival(file.after(stage))];
  const after = `After the last child of ${stage.label.replace(/^\w+ /, "")}`;
  const isReduced = stage.reduce === true;
  if (finalizeOf(stage, file) !== undefined) {
    return {
      comment: `${after}: their outputs are reduced; ${thenText(stage, file)}.`,
      code: runFunction(file.afterChildren(stage), call("run.reduce", [name, next]), file),
    };
  }
  const hasHandler = file.stages(stage).some(({ name }) => name === `${stage.name}.output`);
  const output = hasHandler ? "{ output, children }" : "{ children }";
  return {
    comment: `${after}: its output is ${output}${isReduced ? ", reduced" : ""}; ${thenText(stage, file)}.`,
    code: runFunction(file.afterChildren(stage), call("run.gather", [name, next]), file),
  };
}

function finalizeOf(stage: StagePlan, file: StageFile): StagePlan | undefined {
  const next = file.after(stage);
  return next.at === "stage" && next.stage.name === `${stage.name}.finalize`
    ? next.stage
    : undefined;
}
