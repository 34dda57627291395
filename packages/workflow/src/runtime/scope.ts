import { Failure } from "../errors/failure.js";
import { unpackedScope } from "../packing.js";
import type { Bound } from "./bound.js";
import { placeOf } from "./place.js";
import { readsOf } from "./reads.js";

/** One of a stage's functions, as messages call it: `args`, `recover`, `finalize`. */
export interface Reader {
  readonly stage: string;
  readonly function: string;
}

/**
 * A scope as a function of the definition sees it. A name that it could read, but that was not loaded, throws: the generated code is
 * older than the definition, or the compiler has missed how the function reads it.
 *
 * @param reads the names that were loaded; `*` for all
 */
export function readableScope(
  own: Bound,
  reader: Reader,
  reads: readonly string[],
  values: unknown,
): unknown {
  const scope = unpackedScope(values) as object;
  if (reads.includes("*")) return scope;
  const isMissed = (name: string): boolean => !reads.includes(name);
  const visible = () => readsOf(own.definition, reader.stage, ["*"], []).map(({ name }) => name);
  const check = (name: string | symbol): void => {
    if (typeof name === "string" && isMissed(name) && visible().includes(name))
      throw missed(own, reader, name);
  };
  return new Proxy(scope, {
    get(target, name) {
      check(name);
      return Reflect.get(target, name);
    },
    has(target, name) {
      check(name);
      return Reflect.has(target, name);
    },
    getOwnPropertyDescriptor(target, name) {
      check(name);
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
    ownKeys(target) {
      visible().forEach(check);
      return Reflect.ownKeys(target);
    },
  });
}

function missed({ workflow, definition }: Bound, reader: Reader, name: string): Failure {
  const { called } = placeOf(definition, reader.stage);
  return new Failure(
    "nonRetryable",
    `The ${reader.function} of "${called.replace(/\.until$/, "")}" in workflow "${workflow}" reads "${name}", which the generated code does not load. Run workflow-codegen. If that changes nothing, name it in the parameters: ({ ${name} }) => …`,
  );
}
