import type { ComponentApi } from "../component/_generated/component.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { Functions } from "./functions.js";
import type { Arrive } from "./run.js";

/** What a run needs to know of its workflow. */
export interface Bound {
  readonly component: ComponentApi;
  readonly workflow: string;
  /** With its nodes under their storage names. */
  readonly definition: AnyDefinition;
  readonly functions: Functions;
  /** The hash of its plan, from when generated code has said it. */
  plan?: string;
  /** What follows a stage, as generated code has said: after an action, and after a wait. */
  readonly following: ReadonlyMap<string, Arrive>;
  readonly recovers: ReadonlyMap<string, Recover>;
  /** What the actions read. */
  readonly reads: ReadonlyMap<string, readonly string[]>;
}

/** What generated code says of a node's `recover`: what it reads, and for a node of several stages what follows the node. */
export interface Recover {
  readonly reads: readonly string[];
  readonly next?: Arrive | undefined;
}
