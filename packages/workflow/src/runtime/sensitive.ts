import type { AnyDefinition } from "../definition/definition.js";
import type { Bound } from "./functions.js";
import type { AnyNode } from "./nodes/kinds.js";

/* What a definition says is sensitive. What follows from it: secrets.ts. */

/** Says whether a node, or its workflow as a whole, is said to be sensitive. */
export const isMarked = ({ definition }: Pick<Bound, "definition">, node: AnyNode): boolean =>
  node?.sensitive === true || definition.options.sensitive === true;

/** The paths of an input that are sensitive: `input`, `input.card`. */
export const sensitivePaths = ({
  sensitive,
}: Pick<AnyDefinition["options"], "sensitive">): readonly string[] =>
  sensitive === true ? ["input"] : sensitive || [];

/**
 * A scope of an input that throws when something at a sensitive path is read.
 * @param why returns the message, by the path that was read.
 */
export function guardedInput(
  input: unknown,
  sensitive: readonly string[],
  why: (path: string) => string,
): { input: never } {
  const scope = { input };
  if (sensitive.length === 0) return scope as { input: never };
  return guarded(scope, "", new Set(sensitive), why) as { input: never };
}

/** The same value, in which what is at the paths throws when it is read. */
function guarded(
  value: unknown,
  path: string,
  secret: ReadonlySet<string>,
  why: (path: string) => string,
): unknown {
  // A path goes through lists.
  if (Array.isArray(value)) return value.map((each) => guarded(each, path, secret, why));
  if (typeof value !== "object" || value === null || value instanceof ArrayBuffer) return value;
  const object = {};
  for (const [key, field] of Object.entries(value)) {
    const at = path === "" ? key : `${path}.${key}`;
    const get = () => {
      if (secret.has(at)) throw new Error(why(at));
      return guarded(field, at, secret, why);
    };
    Object.defineProperty(object, key, { get, enumerable: true });
  }
  return object;
}
