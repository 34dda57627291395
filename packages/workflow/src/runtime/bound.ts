import type { ComponentApi } from "../component/_generated/component.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { Functions } from "./functions.js";
import type { Arrive } from "./run.js";

/** What a run needs to know of its workflow. */
export interface Bound {
  readonly component: ComponentApi;
  readonly workflow: string;
  readonly definition: AnyDefinition;
  readonly functions: Functions;
  /** The hash of its plan, from when generated code has said it. */
  plan?: string;
  /** What follows a stage, as generated code has said: after an action, after a wait, and what `recover` reads. */
  readonly following: ReadonlyMap<string, Arrive>;
  readonly recovers: ReadonlyMap<string, readonly string[]>;
}
