import { beginningOf, outputOf } from "../../plan/flow.js";
import { object, property } from "../code.js";
import { commented, outputName, runFunction, type StageLowering } from "./lowering.js";

/** A branch: it gives a key, and the run goes on with the case of that key. */
export const branch: StageLowering = {
  sections(stage) {
    const { file, name, reads, next, following } = stage;
    const cases = file
      .bodies(stage.stage)
      .map((body) => property(body.storage ?? body.key, file.arrival(beginningOf(body))));
    const args = [name, reads, stage.part("on"), object(cases), next];
    return [
      stage.arriving(`one of its cases; then ${following}`, `run.branch(${args.join(", ")})`),
    ];
  },

  endOfBody({ stage, file, name, next, following }, body) {
    const output = outputOf(body.nodes);
    const what = output === null ? "null" : `that of ${output.mention.elsewhere}`;
    return commented(
      `After case ${JSON.stringify(body.key)} of ${stage.mention.elsewhere}: the branch's output is ${what}; then ${following}.`,
      runFunction(
        file.arrival({ at: "endOfBody", body }),
        `run.endBranch(${name}, ${outputName(body.nodes)}, ${next})`,
        file,
      ),
    );
  },
};
