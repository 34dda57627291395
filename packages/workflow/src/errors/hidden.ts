import type { Problem } from "./failure.js";

/* Hides what is sensitive in the problem of a node. */

/** How Convex and convex-test refuse arguments or a result, or show a value. */
const SHOWS_VALUES =
  /^(?:ArgumentValidationError|ReturnsValidationError|Validator error)\b|\bin original object /;

/** The kinds of errors whose messages the app or a schema writes. */
const WRITTEN_BY_APP: readonly Problem["kind"][] = ["thrown", "nonRetryable", "invalidInput"];

/** The end of a message that was written here, or in place of one of the app. */
const NOT_SHOWN = /(?:is|are) not shown, as [\w ]+ sensitive$/;

/** Finds where a list or an object is too large, which tells the names of fields. */
const PLACE = / at [^]*(?=; (?:a list|an object) can have at most)/;

/** The problem of a sensitive node without its values, and without the names of their fields. */
export function withoutValues(problem: Problem, why = "the node is sensitive"): Problem {
  const { data: _data, ...rest } = withoutShownValues(problem, why);
  const { kind, message } = rest;
  if (NOT_SHOWN.test(message)) return rest;
  if (WRITTEN_BY_APP.includes(kind))
    return { ...rest, message: `The message is not shown, as ${why}` };
  if (kind === "invalidOutput")
    return { ...rest, message: `What it gives cannot be stored: details are not shown, as ${why}` };
  return { ...rest, message: kind === "tooLarge" ? message.replace(PLACE, "") : message };
}

/** A problem without a value that Convex shows because it has refused it. */
export function withoutShownValues(problem: Problem, why: string): Problem {
  if (!SHOWS_VALUES.test(problem.message)) return problem;
  const { data: _data, ...rest } = problem;
  const refused = `Convex has refused its arguments or its result; the value is not shown, as ${why}`;
  return { ...rest, message: refused };
}
