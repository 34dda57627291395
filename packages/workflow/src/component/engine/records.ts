import type { Step } from "../core/documents.js";
import type { Stage, Token } from "../validators.js";

export type RunOf = Pick<Step, "run" | "generation" | "plan" | "createdAt" | "childOf">;
export type StepOf = Omit<RunOf, "createdAt"> & Pick<Step, "_id" | "attempt" | "pass">;

export function tokenOf({ _id, run, attempt, pass, generation, plan, childOf }: StepOf): Token {
  return { run, step: _id, attempt, pass, generation, plan, childOf };
}

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

/** What a record says of its stage. Only what is set, as it is also patched. */
export function marksOf({ sensitive, undoable }: Pick<Stage, "sensitive" | "undoable">) {
  return {
    ...(sensitive === true ? { sensitive } : {}),
    ...(undoable === true ? { undoable, permanent: true } : {}),
  };
}
