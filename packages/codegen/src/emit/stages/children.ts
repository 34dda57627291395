import type { StagePlan } from "../../plan/schema.js";
import { list } from "../code.js";
import { commented, runFunction, type StageCode, type StageLowering } from "./lowering.js";

/** The children of a parent: the last one that ends moves the run on. */
export const children: StageLowering = {
  sections(stage) {
    const { file } = stage;
    const finalize = finalizeOf(stage);
    const names = stage.stage.workflows?.map((name) => file.reference(name));
    const references = names === undefined ? file.allReferences() : list(names);
    const following =
      finalize === undefined ? "its outputs are gathered" : stage.mentioned(finalize);
    const starting = stage.arriving(
      `its children in parallel; then ${following}`,
      `run.children(${stage.name}, ${stage.reads}, ${stage.part("children")}, ${references})`,
    );
    return isEnteredByFinalize(stage) ? [starting] : [starting, ending(stage)];
  },

  entryAfter: (stage) => (isEnteredByFinalize(stage) ? stage.next : stage.afterChildren),
};

/** A finalize takes the outputs of the children itself, unless they are folded first. */
const isEnteredByFinalize = (stage: StageCode): boolean =>
  finalizeOf(stage) !== undefined && stage.stage.reduce !== true;

/** What a run does after the last child, if that is more than to go on with the finalize. */
function ending(code: StageCode): string {
  const { stage, file, afterChildren, next, following } = code;
  const isReduced = stage.reduce === true;
  const hasHandler = file.stages(stage).some(({ name }) => name === `${stage.name}.output`);
  const output = `its output is ${hasHandler ? "{ output, children }" : "{ children }"}${isReduced ? ", reduced" : ""}`;
  const [what, way] =
    finalizeOf(code) === undefined ? [output, "gather"] : ["their outputs are reduced", "reduce"];
  return commented(
    `After the last child of ${stage.label.replace(/^\w+ /, "")}: ${what}; then ${following}.`,
    runFunction(afterChildren, `run.${way}(${code.name}, ${next})`, file),
  );
}

function finalizeOf({ stage, file }: StageCode): StagePlan | undefined {
  const next = file.after(stage);
  const isFinalize = next.at === "stage" && next.stage.name === `${stage.name}.finalize`;
  return isFinalize ? next.stage : undefined;
}
