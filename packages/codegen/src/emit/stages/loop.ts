import { beginningOf } from "../../plan/flow.js";
import { strings } from "../code.js";
import {
  commented,
  outputName,
  runFunction,
  type StageCode,
  type StageLowering,
} from "./lowering.js";

/** A loop: it makes its first state; the end of each iteration asks for another. */
export const loop: StageLowering = {
  sections(stage) {
    const args = [stage.name, stage.reads, stage.part("initial"), ...passOrOn(stage)];
    return [stage.arriving("its first pass", `run.loop(${args.join(", ")})`)];
  },

  endOfBody(stage, body) {
    const { until = [], mention } = stage.stage;
    const args = [
      stage.name,
      outputName(body.nodes),
      strings(until),
      stage.part("until"),
      ...passOrOn(stage),
    ];
    return commented(
      `After a pass of ${mention.elsewhere}: the next one, or ${stage.following}.`,
      runFunction(
        stage.file.arrival({ at: "endOfBody", body }),
        `run.endPass(${args.join(", ")})`,
        stage.file,
      ),
    );
  },
};

/** Where an iteration begins, and what follows the loop. */
function passOrOn({ stage, file, next }: StageCode): string[] {
  return [...file.bodies(stage).map((body) => file.arrival(beginningOf(body))), next];
}
