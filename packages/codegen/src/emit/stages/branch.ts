import { beginningOf, outputOf } from "../../plan/flow.js";
import { call, members, object, property, string, strings } from "../print/code.js";
import {
  inDefinition,
  lead,
  runFunction,
  thenText,
  toStage,
  type StageLowering,
} from "./lowering.js";

/** A branch: the transaction that arrives asks it for a key, and goes on with the case of that key. */
export const branch: StageLowering = {
  isScheduled: false,

  sections(stage, file) {
    const cases = file
      .bodies(stage)
      .map((body) => property(body.storage ?? body.key, file.arrival(beginningOf(body))));
    const result = call("run.branch", [
      string(stage.name),
      strings(stage.reads),
      members(inDefinition(stage, "on", file)),
      object(cases),
      file.arrival(file.after(stage)),
    ]);
    return [
      {
        comment: `${lead(stage, file)}: one of its cases; ${thenText(stage, file)}.`,
        code: toStage(stage, result, file),
      },
    ];
  },

  endOfBody(stage, body, file) {
    const output = outputOf(body.nodes);
    const end = call("run.endBranch", [
      string(stage.name),
      output === null ? "null" : string(output.name),
      file.arrival(file.after(stage)),
    ]);
    const what = output === null ? "null" : `that of ${output.mention.elsewhere}`;
    return {
      comment: `After case ${JSON.stringify(body.key)} of ${stage.mention.elsewhere}: the branch's output is ${what}; ${thenText(stage, file)}.`,
      code: runFunction(file.arrival({ at: "endOfBody", body }), end, file),
    };
  },
};
