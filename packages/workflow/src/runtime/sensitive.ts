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
