import type { Info } from "../definition/context.js";
import type { AnyDefinition } from "../definition/definition.js";

/* Its scope, all that the stage could have read, was checked where the stub was written. */
export type AnyStub = (scope: never, info: Info) => unknown;

/* Only `@stepwise/workflow/test` sets any. */
let stubs = new WeakMap<AnyDefinition, Map<string, AnyStub>>();

/** Returns what is called instead of a stage's own function, if anything is. */
export const stubOf = (definition: AnyDefinition, stage: string): AnyStub | undefined =>
  stubs.get(definition)?.get(stage);

export function setStub(definition: AnyDefinition, stage: string, stub: AnyStub): void {
  const ofWorkflow = stubs.get(definition) ?? new Map<string, AnyStub>();
  stubs.set(definition, ofWorkflow.set(stage, stub));
}

export function clearStubs(): void {
  stubs = new WeakMap();
}
