import { beginningOf, outputOf } from "../../plan/flow.js";
import type { StagePlan } from "../../plan/schema.js";
import { call, members, string, strings } from "../print/code.js";
import {
  followingText,
  inDefinition,
  lead,
  runFunction,
  toStage,
  type StageFile,
  type StageLowering,
} from "./lowering.js";

/** A loop: the transaction that arrives makes its first state; the one in which a pass ends asks whether there is another. */
export const loop: StageLowering = {
  isScheduled: false,

  sections(stage, file) {
    const result = call("run.loop", [
      string(stage.name),
      strings(stage.reads),
      members(inDefinition(stage, "initial", file)),
      ...passOrOn(stage, file),
    ]);
    return [
      { comment: `${lead(stage, file)}: its first pass.`, code: toStage(stage, result, file) },
    ];
  },

  endOfBody(stage, body, file) {
    const output = outputOf(body.nodes);
    const end = call("run.endPass", [
      string(stage.name),
      output === null ? "null" : string(output.name),
      strings(stage.until ?? []),
      members(inDefinition(stage, "until", file)),
      ...passOrOn(stage, file),
    ]);
    return {
      comment: `After a pass of ${stage.mention.elsewhere}: the next one, or ${followingText(stage, file)}.`,
      code: runFunction(file.arrival({ at: "endOfBody", body }), end, file),
    };
  },
};

/** Where a pass begins, and what follows the loop. */
function passOrOn(stage: StagePlan, file: StageFile): string[] {
  const passes = file.bodies(stage).map((body) => file.arrival(beginningOf(body)));
  return [...passes, file.arrival(file.after(stage))];
}
