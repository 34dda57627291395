import { Failure } from "../errors/failure.js";
import { fromPagesIn } from "../values.js";
import type { Bound } from "./functions.js";
import { placeOf } from "./place.js";
import { readsOf } from "./reads.js";

/**
 * A scope as a function of the definition sees it. Reading a name that was not loaded throws: the
 * generated code is older than the definition, or the compiler has missed how the function reads
 * it.
 * @param name the function, as messages call it: `args`, `recover`, `until`.
 * @param reads the names that were loaded; `*` for all.
 */
export function readableScope(
  { definition, workflow }: Bound,
  stage: string,
  name: string,
  reads: readonly string[],
  values: unknown,
): unknown {
  const scope = fromPagesIn(values) as object;
  if (reads.includes("*")) return scope;
  const visible = () => readsOf(definition, stage, ["*"], []).map((read) => read.name);
  const check = (key: string | symbol): void => {
    if (typeof key !== "string" || reads.includes(key) || !visible().includes(key)) return;
    const called = placeOf(definition, stage).called.replace(/\.until$/, "");
    throw new Failure(
      "nonRetryable",
      `The ${name} of "${called}" in workflow "${workflow}" reads "${key}", which the generated code does not load. Run workflow-codegen. If that changes nothing, name it in the parameters: ({ ${key} }) => …`,
    );
  };
  const checked =
    <Result>(trap: (target: object, key: string | symbol) => Result) =>
    (target: object, key: string | symbol) => {
      check(key);
      return trap(target, key);
    };
  return new Proxy(scope, {
    get: checked<unknown>(Reflect.get),
    has: checked(Reflect.has),
    getOwnPropertyDescriptor: checked(Reflect.getOwnPropertyDescriptor),
    ownKeys(target) {
      visible().forEach(check);
      return Reflect.ownKeys(target);
    },
  });
}
