import { completionName } from "../../plan/flow.js";
import { commented, exportedConst, type StageLowering } from "./lowering.js";

/** A stage that is queued: the action, and the completion that it reports to. */
export const action: StageLowering = {
  sections(stage) {
    const { file, identifier, name, reads } = stage;
    const { reference, mention } = stage.stage;
    const own = file.name("own");
    const done = completionName(stage.stage.name);
    const handler = stage.part("action");
    const value = reference === undefined ? handler : stage.callOf("Action", handler);
    const args = [name, reads, value].join(", ");
    return [
      stage.section(
        reference === undefined ? "" : `runs ${reference}`,
        exportedConst(identifier, file.runtime("StepAction"), `${own}.action(${args})`),
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
