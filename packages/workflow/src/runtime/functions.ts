import type { Limits } from "@stepwise/workpool/core";
import {
  makeFunctionReference,
  type RegisteredAction,
  type RegisteredMutation,
  type RegisteredQuery,
} from "convex/server";
import { v, type Infer, type ObjectType } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import {
  vEvent,
  vAsked,
  type vCalls,
  type vFollows,
  vReported,
  vStarting,
} from "../component/protocol.js";
import { vError, vIterations, vToken } from "../component/validators.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { Retry } from "../definition/node.js";
import type { Reads } from "./named.js";
import type { WorkflowReference } from "./reference.js";
import type { Arrive } from "./run.js";

/* Types that do not depend on a definition, so that none cycles through `_generated/api`. */

export const actionArgs = {
  token: vToken,
  /** Absent in an executor, which reports what the action returns. */
  slot: v.optional(v.string()),
  /** The values it reads, by name; null if they are too large to pass along. */
  scope: v.any(),
  previousError: v.union(vError, v.null()),
};

export const completionArgs = {
  token: vToken,
  slot: v.optional(v.string()),
  report: vReported,
  /**
   * Says whether the stages that follow may run in the same transaction. Not after that has failed.
   */
  fuse: v.boolean(),
};

/** A bulk has the run of the token restarted. `from`: the storage name of a node. */
const vRestart = v.object({
  kind: v.literal("restart"),
  from: v.optional(v.string()),
  retentionMs: v.optional(v.number()),
});

/** A run that has collected starts gets their items. */
const vCollected = v.object({ kind: v.literal("collected") });

/** An executor asks what to call for these steps; the token is that of the first one. */
const vCallsFor = v.object({ kind: v.literal("callsFor"), steps: v.array(vAsked) });

export const entryArgs = {
  token: vToken,
  stage: v.string(),
  event: v.union(...vEvent.members, vRestart, vCollected, vCallsFor),
  scope: v.any(),
  fuse: v.boolean(),
  slot: v.optional(v.string()),
  /** Another function of the component calls it. Default: it is scheduled. */
  nested: v.optional(v.boolean()),
  /** The transaction that starts the run, as a child, calls it. */
  starting: v.optional(vStarting),
  /** The transaction that has ended the run calls its `onEnd`. */
  ending: v.optional(v.boolean()),
};

/** The arguments of a mutation or query that is called as a nested transaction. */
export const nestedArgs = {
  runId: v.string(),
  iterations: v.optional(vIterations),
  generation: v.optional(v.number()),
  scope: v.any(),
};

export type Reported = Infer<typeof vReported>;
type NestedArgs = ObjectType<typeof nestedArgs>;
type CompletionArgs = ObjectType<typeof completionArgs>;

export type StepAction = RegisteredAction<
  "internal",
  ObjectType<typeof actionArgs>,
  Promise<Reported | null>
>;
export type StepMutation = RegisteredMutation<"internal", NestedArgs, Promise<unknown>>;
export type StepQuery = RegisteredQuery<"internal", NestedArgs, Promise<unknown>>;
export type Completion = RegisteredMutation<"internal", CompletionArgs, Promise<null>>;
/**
 * It returns what became of a restart, what was asked for, what follows in the pool's queue, or
 * `"stale"` for a token that is; else null.
 */
export type Entry = RegisteredMutation<
  "internal",
  ObjectType<typeof entryArgs>,
  Promise<string | Infer<typeof vFollows> | Infer<typeof vCalls> | null>
>;

/** References to one workflow's generated functions. */
export function functionsOf(workflow: string, folder = "_workflows") {
  /** `chapters.finalize` → `chaptersFinalize`: the function of a stage. */
  const pathOf = (stage: string): string => {
    const name = stage.replace(/\.(\w)/g, (_dot, letter: string) => letter.toUpperCase());
    return `${folder}/${workflow}:${name}`;
  };
  return {
    action: (stage: string) => makeFunctionReference<"action">(pathOf(stage)),
    completion: (stage: string) =>
      makeFunctionReference<"mutation", CompletionArgs, null>(`${pathOf(stage)}Done`),
    mutation: (stage: string) => makeFunctionReference<"mutation", NestedArgs>(pathOf(stage)),
    query: (stage: string) => makeFunctionReference<"query", NestedArgs>(pathOf(stage)),
    entry: makeFunctionReference<"mutation">(pathOf("entry")),
  };
}

export interface Bound {
  readonly component: ComponentApi;
  readonly workflow: string;
  /** Its storage name. */
  readonly storedAs: string;
  readonly definition: AnyDefinition;
  readonly functions: ReturnType<typeof functionsOf>;
  /** The app's `retry`. Default: one attempt. */
  readonly retry?: Retry | undefined;
  /** The app's limits. Default: none. */
  readonly limits?: Limits | undefined;
  readonly plan: string | undefined;
  /** What follows an action, or a wait. */
  readonly following: ReadonlyMap<string, Arrive>;
  /** What follows a node of several stages that has recovered. */
  recovered: ReadonlyMap<string, Arrive>;
  readonly actions: ReadonlySet<string>;
  /** The stages whose actions are something else now. */
  readonly replaced: ReadonlySet<string>;
  readonly reads: ReadonlyMap<string, Reads>;
  /** The workflows that each parent may start. Their modules may be loaded later than its own. */
  readonly starts?: Readonly<Record<string, () => readonly WorkflowReference<never>[]>>;
}
