import { completionName, stageIdentifier } from "../../plan/functions.js";
import { call, callWithArrow, exportedConst, members, string, strings } from "../print/code.js";
import type { Doc } from "../print/doc.js";
import {
  argsCall,
  callParameters,
  followingText,
  inDefinition,
  lead,
  toStage,
  type StageFile,
  type StageLowering,
} from "./lowering.js";
import type { StagePlan } from "../../plan/schema.js";

/** A stage that is queued: the action, which reports to its completion, which goes on. */
export const action: StageLowering = {
  isScheduled: true,

  sections(stage, file) {
    const name = stageIdentifier(stage.name);
    const done = completionName(stage.name);
    const what = stage.reference === undefined ? "an action" : `runs ${stage.reference}`;
    return [
      {
        comment: `${lead(stage, file)}: queues ${name}.`,
        code: toStage(stage, call("run.action", [string(stage.name)]), file),
      },
      {
        comment: `${lead(stage, file)}: ${what}; then ${done}.`,
        code: actionFunction(name, stage, file),
      },
      {
        comment: `After ${stage.mention.elsewhere}: ${followingText(stage, file)}.`,
        code: completionFunction(done, stage, file),
      },
    ];
  },
};

function actionFunction(name: string, stage: StagePlan, file: StageFile): Doc {
  const own = file.own();
  const handler = members(inDefinition(stage, "action", file));
  const reading = [string(stage.name), strings(stage.reads)];
  const value =
    stage.reference === undefined
      ? call(`${own}.action`, [...reading, handler])
      : callWithArrow(
          `${own}.action`,
          reading,
          callParameters(stage),
          call("ctx.runAction", [handler, argsCall(stage, file)]),
        );
  return exportedConst(name, file.runtime("StepAction"), value);
}

/** What such an action reports to. */
function completionFunction(name: string, stage: StagePlan, file: StageFile): Doc {
  const next = file.arrival(file.after(stage));
  const value = call(`${file.own()}.completion`, [string(stage.name), next]);
  return exportedConst(name, file.runtime("Completion"), value);
}
