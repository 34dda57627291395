import { completionName } from "../../plan/functions.js";
import { commented, exportedConst, type StageLowering } from "./lowering.js";

/** A stage that is queued: the action, which reports to its completion, which goes on. */
export const action: StageLowering = {
  sections(stage) {
    const { file, identifier, name, reads } = stage;
    const { reference, mention } = stage.stage;
    const own = file.name("own");
    const done = completionName(stage.stage.name);
    const handler = stage.part("action");
    const value = reference === undefined ? handler : stage.callOf("Action", handler);
    return [
      stage.arriving(`queues ${identifier}`, `run.action(${name})`),
      stage.section(
        `${reference === undefined ? "an action" : `runs ${reference}`}; then ${done}`,
        exportedConst(
          identifier,
          file.runtime("StepAction"),
          `${own}.action(${name}, ${reads}, ${value})`,
        ),
      ),
      commented(
        `After ${mention.elsewhere}: ${stage.following}.`,
        exportedConst(
          done,
          file.runtime("Completion"),
          `${own}.completion(${name}, ${stage.next})`,
        ),
      ),
    ];
  },
};
