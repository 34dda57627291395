import type { AnyDefinition } from "../definition/definition.js";
import type { Bound } from "./functions.js";
import { type AnyNode, insideOf, kindOf, type Nodes, outputsIn } from "./nodes/kinds.js";
import { askProvisionally, isFinal } from "./once.js";
import { allNodes, placeOf } from "./place.js";

/* What must neither be shown, nor logged, nor be an argument of a scheduled function: [S97]. */

type Of = Pick<Bound, "definition" | "starts"> & Partial<Pick<Bound, "readsSecret">>;

/** What is compiled of each definition, by the definition as it is written. */
const compiledOf = new WeakMap<AnyDefinition, Of>();

export function knowCompiled(given: AnyDefinition, own: Of): void {
  compiledOf.set(given, own);
}

/** Says whether a node, or its workflow as a whole, is said to be sensitive. */
export const isMarked = ({ definition }: Of, node: AnyNode): boolean =>
  node?.sensitive === true || definition.options.sensitive === true;

/** The paths of an input that are sensitive: `input`, `input.card`. */
export const sensitivePaths = ({
  sensitive,
}: Pick<AnyDefinition["options"], "sensitive">): readonly string[] =>
  sensitive === true ? ["input"] : sensitive || [];

/** A node that has another node's output, or those of runs, is as secret as these. */
export function isSecret(of: Of, path: string, node: AnyNode, seen?: Set<AnyDefinition>): boolean {
  if (isMarked(of, node)) return true;
  const { workflow, startsRuns, endsRun } = kindOf(node);
  if (endsRun === true) return isSecretEnd(of, path);
  if (workflow !== undefined) return givesSecret(workflow(node), seen);
  // What a finalize makes of the outputs is its own, as what a step makes of what it reads.
  if (startsRuns === true) return node.finalize === undefined && hasSecretChildren(of, path, seen);
  return isSecretInside(of, path, node, seen);
}

/** The ends that are asked about, by their definitions. Until then they count as not secret. */
const asked = new WeakMap<AnyDefinition, Set<string>>();

/** An end hands on what it reads: that may be the loop in which a branch ends with it. */
function isSecretEnd({ definition, readsSecret }: Of, path: string): boolean {
  const paths = asked.get(definition) ?? new Set();
  asked.set(definition, paths);
  if (paths.has(path)) return false;
  paths.add(path);
  try {
    return askProvisionally(() => readsSecret?.(path) === true);
  } finally {
    paths.delete(path);
  }
}

const isSecretInside = (of: Of, path: string, node: AnyNode, seen?: Set<AnyDefinition>): boolean =>
  insideOf(node).some(({ key, nodes, apart }) => {
    const prefix = key === undefined ? `${path}.` : `${path}.${key}.`;
    return (apart === undefined ? isLastSecret : isEndSecret)(of, prefix, nodes, seen);
  });

/** Says whether the output of a run is secret: that of its last node, or of one of its ends. */
const isEndSecret: typeof isLastSecret = (of, prefix, nodes, seen) =>
  isLastSecret(of, prefix, nodes, seen) ||
  allNodes(nodes, prefix).some(
    ({ node, path, within }) =>
      within === undefined && kindOf(node).endsRun === true && isSecret(of, path, node),
  );

function isLastSecret(of: Of, prefix: string, nodes: Nodes, seen?: Set<AnyDefinition>): boolean {
  const last = outputsIn(nodes).at(-1);
  return last !== undefined && isSecret(of, prefix + last, nodes[last], seen);
}

/** Says whether a run's output is secret. Errors never show what is. */
export const hasSecretOutput = (of: Of): boolean => isEndSecret(of, "", of.definition.nodes);

/** @param seen workflows that are asked already: one can be its own descendant. */
function givesSecret(given: AnyDefinition, seen = new Set<AnyDefinition>()): boolean {
  if (seen.has(given)) return false;
  seen.add(given);
  const of = compiledOf.get(given) ?? { definition: given };
  return isEndSecret(of, "", of.definition.nodes, seen);
}

/** Many workflows may be asked; what they are does not change. */
const answers = new WeakMap<object, boolean>();

/**
 * Says whether some workflow that a parent may start gives what is secret, or some branch of it.
 */
export function hasSecretChildren(of: Of, path: string, seen?: Set<AnyDefinition>): boolean {
  const { starts } = of;
  const { node } = placeOf(of.definition, path);
  if (insideOf(node).length > 0) return isSecretInside(of, path, node, seen);
  const started = starts !== undefined && Object.hasOwn(starts, path) ? starts[path] : undefined;
  if (started === undefined) return false;
  const all = seen ?? new Set<AnyDefinition>();
  const answer =
    answers.get(started) ?? started().some(({ definition }) => givesSecret(definition, all));
  if (seen === undefined && (answer || isFinal())) answers.set(started, answer);
  return answer;
}
