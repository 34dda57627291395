import type { Doc } from "../_generated/dataModel.js";
import type { Stage, Token } from "../validators.js";

/** A run, how often it was restarted, the plan that it began under, and when it was created: what every record of it begins with. */
export type RunOf = Pick<Doc<"steps">, "run" | "generation" | "plan" | "createdAt" | "childOf">;

export type StepOf = Omit<RunOf, "createdAt"> & Pick<Doc<"steps">, "_id" | "attempt" | "pass">;

/** The token of the next transaction or attempt of a step. */
export function tokenOf({ _id, run, attempt, pass, generation, plan, childOf }: StepOf): Token {
  return {
    run,
    step: _id,
    attempt,
    ...(pass === undefined ? {} : { pass }),
    ...(generation === undefined ? {} : { generation }),
    ...(plan === undefined ? {} : { plan }),
    ...(childOf === undefined ? {} : { childOf }),
  };
}

/** The fields that a new record begins with. */
export function newRecord(
  { run, generation, plan, createdAt, childOf }: RunOf,
  { stage, called, pass }: Pick<Stage, "stage" | "called" | "pass">,
) {
  return {
    run,
    createdAt,
    stage,
    attempt: 1,
    startedAt: Date.now(),
    ...(called === undefined ? {} : { called }),
    ...(generation === undefined ? {} : { generation }),
    ...(plan === undefined ? {} : { plan }),
    ...(childOf === undefined ? {} : { childOf }),
    ...(pass === undefined || pass.length === 0 ? {} : { pass }),
  };
}

/** The fields of a record that say how it is woken, when it is not to be any more. */
export const ASLEEP = {
  job: undefined,
  reserve: undefined,
  wakeAt: undefined,
  event: undefined,
  isLastTry: undefined,
  dueAt: undefined,
};

/** The fields that the record of a stage begins with which is still to come. */
export function recordToCome(of: RunOf, stage: Stage) {
  const { sensitive, undoable } = stage;
  return {
    ...newRecord(of, stage),
    ...(sensitive === true ? { sensitive } : {}),
    ...(undoable === true ? { undoable, kept: true } : {}),
  };
}
