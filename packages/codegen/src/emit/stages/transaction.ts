import { capitalized, stageIdentifier } from "../../plan/functions.js";
import type { FunctionKind } from "../../plan/schema.js";
import { call, callWithArrow, exportedConst, members, string, strings } from "../print/code.js";
import {
  argsCall,
  callParameters,
  inDefinition,
  lead,
  thenText,
  toStage,
  type Section,
  type StageLowering,
} from "./lowering.js";

/** A mutation or query stage: it runs inside the transaction that arrives at it. */
export function transaction(kind: Exclude<FunctionKind, "action">): StageLowering {
  return {
    isScheduled: false,

    sections(stage, file) {
      const stageName = string(stage.name);
      const handler = members(inDefinition(stage, kind, file));
      const arrival = [stageName, strings(stage.reads), file.arrival(file.after(stage))];
      if (stage.reference !== undefined) {
        const body = call(`ctx.run${capitalized(kind)}`, [handler, argsCall(stage, file)]);
        return [
          {
            comment: `${lead(stage, file)}: runs ${stage.reference}; ${thenText(stage, file)}.`,
            code: toStage(
              stage,
              callWithArrow(`run.${kind}`, arrival, callParameters(stage), body),
              file,
            ),
          },
        ];
      }
      const type = file.runtime(`Step${capitalized(kind)}`);
      const arriving: Section = {
        comment: `${lead(stage, file)}: runs ${stageIdentifier(stage.name)}; ${thenText(stage, file)}.`,
        code: toStage(stage, call(`run.${kind}`, arrival), file),
      };
      const own: Section = {
        comment: `${lead(stage, file)}: a ${kind}, inside the transaction that arrives at it.`,
        code: exportedConst(
          stageIdentifier(stage.name),
          type,
          call(`${file.own()}.${kind}`, [stageName, handler]),
        ),
      };
      return [arriving, own];
    },
  };
}
