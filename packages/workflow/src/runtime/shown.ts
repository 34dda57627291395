import type { Problem } from "../errors/failure.js";
import { withoutShownValues, withoutValues } from "../errors/hidden.js";
import type { Bound } from "./functions.js";
import { placeOf } from "./place.js";
import { hasSecretChildren, isSecret, readsSecret } from "./secrets.js";
import { isMarked } from "./sensitive.js";

/** Says whether what a stage says may tell a secret that it reads, or that its children give. */
export function seesSecret(own: Bound, stage: string): boolean {
  const { kind, path, part } = placeOf(own.definition, stage);
  const takesIn = part === "" && kind.startsRuns === true && hasSecretChildren(own, path);
  return takesIn || readsSecret(own, stage) || readsSecret(own, `${stage}.until`);
}

/**
 * The problem of a stage as it is shown. A function of its own decides what its errors say, but for
 * that of an `onEnd`: nobody can mark it.
 */
export function shownProblem(own: Bound, stage: string, problem: Problem): Problem {
  const { node, path, part, runs, kind } = placeOf(own.definition, stage);
  if (isMarked(own, node) || (part === "" && isSecret(own, path))) return withoutValues(problem);
  if (!seesSecret(own, stage)) return problem;
  const why = "the node reads what is sensitive";
  const isOwn = runs !== undefined && kind.isAfterEnd !== true;
  return isOwn ? withoutShownValues(problem, why) : withoutValues(problem, why);
}
