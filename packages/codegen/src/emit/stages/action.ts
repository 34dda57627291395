import { completionName, stageIdentifier } from "../../plan/functions.js";
import {
  call,
  callWithArrow,
  callWithList,
  exportedConst,
  members,
  string,
} from "../print/code.js";
import {
  argsCall,
  inDefinition,
  lead,
  mentioned,
  runFunction,
  type StageLowering,
} from "./lowering.js";

/** A stage that is queued: the action, which reports to its completion, which goes on. */
export const action: StageLowering = {
  isScheduled: true,

  sections(stage, file) {
    const name = stageIdentifier(stage.name);
    const done = completionName(stage.name);
    const stageName = string(stage.name);
    const own = file.local("own");
    const next = file.after(stage);
    const handler = members(inDefinition(stage, "action", file));
    const what = stage.reference === undefined ? "an action" : `runs ${stage.reference}`;
    return [
      {
        comment: `${lead(stage, file)}: queues ${name}.`,
        code: runFunction(
          file.arrival(stage),
          callWithList("run.action", [stageName], stage.reads.map(string)),
          file,
        ),
      },
      {
        comment: `${lead(stage, file)}: ${what}; then ${done}.`,
        code: exportedConst(
          name,
          file.runtime("StepAction"),
          stage.reference === undefined
            ? call(`${own}.action`, [stageName, handler])
            : callWithArrow(
                `${own}.action`,
                [stageName],
                "ctx, scope",
                call("ctx.runAction", [handler, argsCall(stage, file)]),
              ),
        ),
      },
      {
        comment: `After ${stage.mention.elsewhere}: ${next === undefined ? "the run is complete" : mentioned(next, stage)}.`,
        code: exportedConst(
          done,
          file.runtime("Completion"),
          call(`${own}.completion`, [stageName, file.arrival(next)]),
        ),
      },
    ];
  },
};
