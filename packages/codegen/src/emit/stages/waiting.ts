import { call, members, string, strings } from "../print/code.js";
import {
  inDefinition,
  lead,
  runFunction,
  thenText,
  toStage,
  type StageLowering,
} from "./lowering.js";

/** The stages at which a run waits for something outside its own code: for a time, an event, one other run. */

export const sleep: StageLowering = {
  isScheduled: false,

  sections(stage, file) {
    const duration = members(inDefinition(stage, "duration", file));
    const next = file.arrival(file.after(stage));
    const result = call("run.sleep", [string(stage.name), strings(stage.reads), duration, next]);
    return [
      {
        comment: `${lead(stage, file)}: waits; ${thenText(stage, file)}.`,
        code: toStage(stage, result, file),
      },
    ];
  },

  entryAfter: (stage, file) => file.arrival(file.after(stage)),
};

export const event: StageLowering = {
  isScheduled: false,

  sections(stage, file) {
    const reads = stage.reads.length === 0 ? [] : [strings(stage.reads)];
    const result = call("run.event", [
      string(stage.name),
      file.arrival(file.after(stage)),
      ...reads,
    ]);
    return [
      {
        comment: `${lead(stage, file)}: waits for it; ${thenText(stage, file)}.`,
        code: toStage(stage, result, file),
      },
    ];
  },

  entryAfter: (stage, file) => file.arrival(file.after(stage)),
};

export const child: StageLowering = {
  isScheduled: false,

  sections(stage, file) {
    const [workflow = ""] = stage.workflows ?? [];
    const args = members(inDefinition(stage, "args", file));
    const start = call("run.child", [
      string(stage.name),
      strings(stage.reads),
      args,
      file.reference(workflow),
    ]);
    const gather = call("run.gather", [string(stage.name), file.arrival(file.after(stage))]);
    return [
      {
        comment: `${lead(stage, file)}: a run of ${workflow}.`,
        code: toStage(stage, start, file),
      },
      {
        comment: `After the child of ${stage.mention.elsewhere}: its output is the child's; ${thenText(stage, file)}.`,
        code: runFunction(file.afterChildren(stage), gather, file),
      },
    ];
  },

  entryAfter: (stage, file) => file.afterChildren(stage),
};
