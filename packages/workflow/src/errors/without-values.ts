import type { Problem } from "./failure.js";

/** How Convex and convex-test refuse arguments or a result, or show a value. */
const SHOWS_VALUES =
  /^(?:ArgumentValidationError|ReturnsValidationError|Validator error)\b|\bin original object /;

/** The kinds of errors whose messages the app or a schema writes. */
const WRITTEN_BY_APP: readonly Problem["kind"][] = ["thrown", "nonRetryable", "invalidInput"];

const NOT_SHOWN = "not shown, as the node is sensitive";

/** The problem of a sensitive node without its values. */
export function withoutValues(problem: Problem): Problem {
  const { data: _data, ...rest } = problem;
  const { kind, message } = problem;
  if (SHOWS_VALUES.test(message)) {
    const [, path] = /\bat path (\S+)/i.exec(message) ?? [];
    const where = path === undefined ? "" : ` (at path ${path})`;
    const refused = `Convex has refused its arguments or its result${where}; the value is ${NOT_SHOWN}`;
    return { ...rest, message: refused };
  }
  if (!WRITTEN_BY_APP.includes(kind) || message.endsWith(NOT_SHOWN)) return problem;
  return { ...rest, message: `The message is ${NOT_SHOWN}` };
}
