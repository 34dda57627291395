import type { Step } from "../core/documents.js";
import type { Stage, Token } from "../validators.js";

/** What every record of a run begins with. */
export type RunOf = Pick<Step, "run" | "generation" | "plan" | "createdAt" | "childOf">;
export type StepOf = Omit<RunOf, "createdAt"> & Pick<Step, "_id" | "attempt" | "pass">;

/** The token of the next transaction or attempt of a step. */
export function tokenOf({ _id, run, attempt, pass, generation, plan, childOf }: StepOf): Token {
  return { run, step: _id, attempt, pass, generation, plan, childOf };
}

/** The fields that a new record begins with. */
export function newRecord(
  { run, generation, plan, createdAt, childOf }: RunOf,
  { stage, called, pass = [] }: Pick<Stage, "stage" | "called" | "pass">,
) {
  const where = { run, createdAt, stage, called, pass: pass.length === 0 ? undefined : pass };
  return { ...where, generation, plan, childOf, attempt: 1, startedAt: Date.now() };
}

/** The fields of a record of which no entry is scheduled. */
export const NO_ENTRY = {
  job: undefined,
  check: undefined,
  entersAt: undefined,
  event: undefined,
  isLastTry: undefined,
  dueAt: undefined,
};

/** What a stage's record says of the stage. Only with what is set, so that it can also be patched. */
export function marksOf({ sensitive, undoable }: Pick<Stage, "sensitive" | "undoable">) {
  return {
    ...(sensitive === true ? { sensitive } : {}),
    ...(undoable === true ? { undoable, permanent: true } : {}),
  };
}
