import type { Problem } from "./failure.js";

/** How Convex, and convex-test, begin where they refuse arguments or a result; and what stands before a value that they show. */
const SHOWS_VALUES =
  /^(?:ArgumentValidationError|ReturnsValidationError|Validator error)\b|\bin original object /;

/** The problem of a sensitive stage: where Convex shows a value that it has refused, it is not told which. What a handler throws is its own. */
export function withoutValues(problem: Problem): Problem {
  if (!SHOWS_VALUES.test(problem.message)) return problem;
  const [, path] = /\bat path (\S+)/i.exec(problem.message) ?? [];
  const where = path === undefined ? "" : ` (at path ${path})`;
  const message = `Convex has refused its arguments or its result${where}; the value is not shown, as the node is sensitive`;
  return { ...problem, message };
}
