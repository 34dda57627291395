import type { Read } from "../component/validators.js";
import { Failure } from "../errors/failure.js";
import { fromPagesIn } from "../values.js";
import type { Bound } from "./functions.js";
import { named, type Named, type Reads, usualNames } from "./named.js";
import { onceForEach } from "./once.js";
import { placeOf } from "./place.js";
import { isSecret, isSecretRead } from "./secrets.js";
import { isMarked } from "./sensitive.js";

type Of = Pick<Bound, "definition" | "reads" | "starts">;

/** How messages call a stage, and what the component records of it. */
export const marksOf = onceForEach((own: Of, stage) => {
  const { node, path, part, parts, called } = placeOf(own.definition, stage);
  const undoable = part === "" && parts.includes("compensate");
  return {
    called: called === stage ? undefined : called,
    part: part || undefined,
    sensitive: (part === "" ? isSecret(own, path) : isMarked(own, node)) || undefined,
    undoable: undoable || undefined,
  };
});

const usualReads = onceForEach((own: Of, stage) => shown(own, stage, usualNames(own, stage)));

/** Says of each read whether it is sensitive: all that a sensitive node reads are. */
function shown(own: Of, stage: string, reads: readonly Named[]) {
  const place = placeOf(own.definition, stage);
  const all = isMarked(own, place.node);
  return reads.map((read) => ({
    ...read,
    sensitive: all || isSecretRead(own, place, read) || undefined,
  }));
}

/**
 * Returns where the values are that a stage reads. A name is found in the sequence of the stage,
 * else in those around it.
 * @param iterations the iterations of the loops around the stage, outermost first.
 */
export function readsOf(
  own: Of,
  stage: string,
  iterations: readonly number[] = [],
  names?: Reads,
): Read[] {
  const reads =
    names === undefined
      ? usualReads(own, stage)
      : shown(own, stage, named(placeOf(own.definition, stage), names));
  return reads.map(({ depth, ...read }) =>
    depth === 0 ? read : { ...read, iterations: iterations.slice(0, depth) },
  );
}

/** The names of what is sensitive that a function reads, of these: it may not tell them. */
export function secretNames(own: Bound, stage: string, names: Reads): ReadonlySet<string> {
  const place = placeOf(own.definition, stage);
  const secret = named(place, names).filter((read) => isSecretRead(own, place, read));
  return new Set(secret.map(({ name }) => name));
}

/**
 * A scope as a function of the definition sees it. Reading a name that was not loaded throws: the
 * generated code is out of date, or the compiler missed how the function reads it.
 * @param name the function, as messages call it. @param reads the names that were loaded.
 */
export function readableScope(
  own: Bound,
  stage: string,
  name: string,
  values: unknown,
  reads = own.reads.get(stage) ?? [],
): never {
  // What a function reads was checked where it was written.
  const scope = fromPagesIn(values) as never;
  if (reads.includes("*")) return scope;
  const visible = () => readsOf(own, stage, [], ["*"]).map((read) => read.name);
  const check = (key: string | symbol): void => {
    if (typeof key !== "string" || reads.includes(key) || !visible().includes(key)) return;
    const { workflow } = own;
    const { called, loops } = placeOf(own.definition, stage);
    // It is seen from inside its loop.
    const loop = name === "until" ? loops.at(-1) : undefined;
    throw new Failure(
      "nonRetryable",
      `The ${name} of "${loop === undefined ? called : placeOf(own.definition, loop.path).called}" in workflow "${workflow}" reads "${key}", which the generated code does not load. Run workflow-codegen. If that changes nothing, name it in the parameters: ({ ${key} }) => …`,
    );
  };
  return new Proxy(scope, {
    get(target, key) {
      check(key);
      return Reflect.get(target, key) as unknown;
    },
    has(target, key) {
      check(key);
      return Reflect.has(target, key);
    },
    getOwnPropertyDescriptor(target, key) {
      check(key);
      return Reflect.getOwnPropertyDescriptor(target, key);
    },
    ownKeys(target) {
      visible().forEach(check);
      return Reflect.ownKeys(target);
    },
  });
}
