import { type Problem, withoutShownValues, withoutValues } from "../errors/failure.js";
import type { Bound } from "./functions.js";
import { placeOf } from "./place.js";
import { readsOf } from "./reads.js";
import { hasSecretChildren, isMarked, isSecret } from "./secrets.js";

/** Says whether the functions of a stage read what is secret. */
export function readsSecret(own: Bound, stage: string): boolean {
  const { kind, path, part } = placeOf(own.definition, stage);
  const some = [stage, `${stage}.until`].flatMap((each) => readsOf(own, each));
  const takesIn = part === "" && kind.startsRuns === true && hasSecretChildren(own, path);
  return takesIn || some.some(({ sensitive }) => sensitive === true);
}

/**
 * The problem of a stage as it is shown. A function of its own decides what its errors say, but for
 * that of an `onEnd`: nobody can mark it.
 */
export function shownProblem(own: Bound, stage: string, problem: Problem): Problem {
  const { node, path, part, runs, kind } = placeOf(own.definition, stage);
  if (isMarked(own, node) || (part === "" && isSecret(own, path, node)))
    return withoutValues(problem);
  if (!readsSecret(own, stage)) return problem;
  const why = "the node reads what is sensitive";
  const isOwn = runs !== undefined && kind.isAfterEnd !== true;
  return isOwn ? withoutShownValues(problem, why) : withoutValues(problem, why);
}
