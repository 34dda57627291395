import type { AnyDefinition } from "../definition/definition.js";
import type { Bound } from "./functions.js";
import { itemOf, type Named, usualNames } from "./named.js";
import { type AnyNode, insideOf, kindOf, type Nodes, outputsIn } from "./nodes/kinds.js";
import { askedOnce } from "./once.js";
import { allNodes, type Place, placeOf } from "./place.js";
import { isMarked, sensitivePaths } from "./sensitive.js";

/* What must neither be shown, nor logged, nor be an argument of a scheduled function: [S97]. */

type Of = Pick<Bound, "definition"> & Partial<Pick<Bound, "reads" | "starts">>;

/** What is compiled of each definition, by the definition as it is written. */
const compiledOf = new WeakMap<AnyDefinition, Of>();

export function knowCompiled(given: AnyDefinition, own: Of): void {
  compiledOf.set(given, own);
}

function ofGiven(given: AnyDefinition): Of {
  const known = compiledOf.get(given) ?? { definition: given };
  compiledOf.set(given, known);
  return known;
}

/** Says whether the output of a node is secret: as much as what it is made of. */
export const isSecret = askedOnce((of: Of, path): boolean => {
  const { node, kind } = placeOf(of.definition, path);
  if (isMarked(of, node)) return true;
  // An end hands on what it reads: that may be the loop in which a branch ends with it.
  if (kind.endsRun === true) return readsSecret(of, path);
  if (kind.workflow !== undefined) return hasSecretOutput(ofGiven(kind.workflow(node)));
  // What a finalize makes of the outputs is its own, as what a step makes of what it reads.
  if (kind.startsRuns === true) return node.finalize === undefined && hasSecretChildren(of, path);
  return isSecretInside(of, path, node);
});

const isSecretInside = (of: Of, path: string, node: AnyNode): boolean =>
  insideOf(node).some(({ key, nodes, apart }) => {
    const prefix = key === undefined ? `${path}.` : `${path}.${key}.`;
    return (apart === undefined ? isLastSecret : isEndSecret)(of, prefix, nodes);
  });

/** Says whether the output of a run is secret: that of its last node, or of one of its ends. */
const isEndSecret = (of: Of, prefix: string, nodes: Nodes): boolean =>
  isLastSecret(of, prefix, nodes) ||
  allNodes(nodes, prefix).some(
    ({ node, path, within }) =>
      within === undefined && kindOf(node).endsRun === true && isSecret(of, path),
  );

function isLastSecret(of: Of, prefix: string, nodes: Nodes): boolean {
  const last = outputsIn(nodes).at(-1);
  return last !== undefined && isSecret(of, prefix + last);
}

/** Says whether a run's output is secret. Errors never show what is. */
const hasSecretOutput = (of: Of): boolean => hasSecretEnd(of, "");
const hasSecretEnd = askedOnce((of: Of, prefix) => isEndSecret(of, prefix, of.definition.nodes));

/**
 * Says whether some workflow that a parent may start gives what is secret, or some branch of it.
 */
export const hasSecretChildren = askedOnce((of: Of, path): boolean => {
  const { starts, definition } = of;
  const { node } = placeOf(definition, path);
  if (insideOf(node).length > 0) return isSecretInside(of, path, node);
  const started = starts !== undefined && Object.hasOwn(starts, path) ? starts[path] : undefined;
  return started?.().some(({ definition: given }) => hasSecretOutput(ofGiven(given))) === true;
});

/** Says whether the functions of a stage read what is secret: all that a sensitive node reads is. */
export const readsSecret = askedOnce((of: Of, stage): boolean => {
  const place = placeOf(of.definition, stage);
  const reads = usualNames(of, stage);
  return (
    (isMarked(of, place.node) && reads.length > 0) ||
    reads.some((read) => isSecretRead(of, place, read))
  );
});

export function isSecretRead(
  of: Of,
  place: Place,
  { name, stage, children, loop, ended }: Named,
): boolean {
  if (ended === true) return hasSecretOutput(of);
  // An item is made of what `of` reads.
  if (name === "each") return readsSecret(of, itemOf(place)?.of ?? "");
  if (stage === "input") return sensitivePaths(of.definition.options).length > 0;
  const { node, path, part } = placeOf(of.definition, stage);
  if (part !== "") return isMarked(of, node);
  if (children === true) return isMarked(of, node) || hasSecretChildren(of, path);
  // The first state of a loop is made of what `initial` reads.
  return isSecret(of, path) || (loop === true && readsSecret(of, stage));
}
