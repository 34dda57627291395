import type {
  FunctionReference,
  RegisteredAction,
  RegisteredMutation,
  RegisteredQuery,
} from "convex/server";
import { makeFunctionReference } from "convex/server";
import { v, type ObjectType, type PropertyValidators } from "convex/values";
import { vError, vEvent, vPass, vToken } from "../component/validators.js";

/*
 * The generated functions: their arguments, and the types that generated code gives its exports. None of these types depends on a
 * definition, so none of them closes a cycle through the app's `_generated/api`.
 */

export const actionArgs = {
  token: vToken,
  /** The slot of the pool that it holds. */
  slot: v.string(),
  /** The values it reads, by name; null where they are too large to pass along. */
  scope: v.any(),
  previousError: v.union(vError, v.null()),
};

/** What a handler came to. */
export const vReport = v.union(
  v.object({ kind: v.literal("success"), output: v.any() }),
  v.object({ kind: v.literal("failed"), error: vError }),
);

export const completionArgs = {
  token: vToken,
  slot: v.optional(v.string()),
  report: vReport,
  /** Whether the stages that follow may run in the same transaction. Not after that has failed. */
  fuse: v.boolean(),
};

export const resumeArgs = {
  token: vToken,
  stage: v.string(),
  event: vEvent,
  scope: v.any(),
  /** As for a completion. */
  fuse: v.boolean(),
  /** Whether the caller calls again, without fusion, when this fails. */
  callsAgain: v.boolean(),
  /** The slot of the pool that the step still holds. */
  slot: v.optional(v.string()),
};

/** Of a mutation or query that is called as a nested transaction: for which run, and what makes its record different from others. */
export const nestedArgs = {
  runId: v.string(),
  pass: v.optional(vPass),
  generation: v.optional(v.number()),
  scope: v.any(),
  /** The names that were loaded into the scope. */
  reads: v.array(v.string()),
};

type Args<Validators extends PropertyValidators> = ObjectType<Validators>;

export type StepAction = RegisteredAction<"internal", Args<typeof actionArgs>, Promise<null>>;
export type StepMutation = RegisteredMutation<
  "internal",
  Args<typeof nestedArgs>,
  Promise<unknown>
>;
export type StepQuery = RegisteredQuery<"internal", Args<typeof nestedArgs>, Promise<unknown>>;
export type Completion = RegisteredMutation<"internal", Args<typeof completionArgs>, Promise<null>>;
export type Resume = RegisteredMutation<"internal", Args<typeof resumeArgs>, Promise<null>>;

export type CompletionReference = FunctionReference<
  "mutation",
  "internal",
  Args<typeof completionArgs>,
  null
>;
type NestedReference<Kind extends "mutation" | "query"> = FunctionReference<
  Kind,
  "internal",
  Args<typeof nestedArgs>,
  unknown
>;

/** Where generated files stand in the app's functions folder, unless its config says another place. */
const USUAL_FOLDER = "_workflows";

/** `chapters.finalize` → `chaptersFinalize`: the function of a stage. */
export function functionName(stage: string): string {
  return stage.replace(/\.(\w)/g, (_dot, letter: string) => letter.toUpperCase());
}

/**
 * References to one workflow's generated functions. A reference made by name is typed as public, so each is cast to what it is.
 * @param folder where its file stands.
 */
export function functionsOf(workflow: string, folder = USUAL_FOLDER) {
  const path = (name: string) => `${folder}/${workflow}:${name}`;
  return {
    action: (stage: string) => makeFunctionReference<"action">(path(functionName(stage))),
    completion: (stage: string) =>
      makeFunctionReference<"mutation">(
        path(`${functionName(stage)}Done`),
      ) as unknown as CompletionReference,
    mutation: (stage: string) =>
      makeFunctionReference<"mutation">(
        path(functionName(stage)),
      ) as unknown as NestedReference<"mutation">,
    query: (stage: string) =>
      makeFunctionReference<"query">(
        path(functionName(stage)),
      ) as unknown as NestedReference<"query">,
    resume: makeFunctionReference<"mutation">(path("resume")),
  };
}
export type Functions = ReturnType<typeof functionsOf>;
