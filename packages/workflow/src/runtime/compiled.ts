import type { GenericActionCtx, GenericMutationCtx, GenericQueryCtx } from "convex/server";
import {
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
} from "convex/server";
import { v } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import type { Token } from "../component/validators.js";
import type { Info } from "../definition/context.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { AnySchema } from "../definition/schema.js";
import { attemptOf } from "./attempt.js";
import { describeThrown, Failure, type Problem } from "../errors/failure.js";
import {
  actionArgs,
  completionArgs,
  functionsOf,
  nestedArgs,
  resumeArgs,
  type Completion,
  type Resume,
  type StepAction,
  type StepMutation,
  type StepQuery,
} from "./functions.js";
import { policyOf } from "./reads.js";
import { referenceTo, type First, type WorkflowReference } from "./reference.js";
import { report } from "./report.js";
import { retryAt } from "./retry.js";
import { Run, type Arrive } from "./run.js";
import { checkedOutput } from "./values.js";

/* The context and the scope of a handler were checked where it was written; here they only pass through. */
type ActionHandler = (ctx: GenericActionCtx<any>, scope: any, info: Info) => unknown;
type MutationHandler = (ctx: GenericMutationCtx<any>, scope: any, info: Info) => unknown;
type QueryHandler = (ctx: GenericQueryCtx<any>, scope: any, info: Info) => unknown;

/** What generated code makes its functions with, bound to one workflow. */
export interface Compiled {
  /** An internal action: runs the handler, and reports to `<stage>Done`. */
  action(stage: string, handler: ActionHandler): StepAction;
  /** An internal mutation: the handler, as the nested transaction of whoever arrives at the stage. */
  mutation(stage: string, handler: MutationHandler): StepMutation;
  /** The same for a query. */
  query(stage: string, handler: QueryHandler): StepQuery;
  /** An internal mutation: takes an action's report, has it tried again, or goes on with `next`. */
  completion(stage: string, next: Arrive): Completion;
  /** An internal mutation: the component's way into the workflow, `at` a stage or `after` the children of a parent. */
  resume(entries: {
    at: Readonly<Record<string, Arrive>>;
    after?: Readonly<Record<string, Arrive>>;
  }): Resume;
  /** What others know of the workflow. Its type is that of the annotation it is assigned to. */
  reference<Reference extends WorkflowReference<never>>(options: {
    input: AnySchema;
    first: First;
  }): Reference;
}

/** Binds the functions of one generated file to its workflow. */
export function compiled(
  component: ComponentApi,
  workflow: string,
  definition: AnyDefinition,
): Compiled {
  const functions = functionsOf(workflow);
  const own = { component, workflow, definition, functions };
  return {
    action: (stage, handler) =>
      internalActionGeneric({
        args: actionArgs,
        returns: v.null(),
        handler: async (ctx, { token, slot, scope, reads, previousError }) => {
          const load = async () =>
            await ctx.runQuery(component.lib.load, { run: token.run, reads });
          const info = { ...infoOf(token, stage), previousError };
          // A scope that cannot be loaded is a failure of the attempt like any other: it is reported.
          const attempt = await attemptOf(stage, policyOf(definition, stage), info, async (full) =>
            handler(ctx, scope ?? (await load()), full),
          );
          await report(ctx, own, stage, token, slot, attempt);
          return null;
        },
      }),

    mutation: (stage, handler) =>
      internalMutationGeneric({
        args: nestedArgs,
        returns: v.any(),
        handler: (ctx, { runId, scope }) =>
          nested(stage, runId, (info) => handler(ctx, scope, info)),
      }),

    query: (stage, handler) =>
      internalQueryGeneric({
        args: nestedArgs,
        returns: v.any(),
        handler: (ctx, { runId, scope }) =>
          nested(stage, runId, (info) => handler(ctx, scope, info)),
      }),

    completion: (stage, next) =>
      internalMutationGeneric({
        args: completionArgs,
        returns: v.null(),
        handler: async (ctx, { token, slot, report: reported, fuse }) => {
          const run = new Run(ctx, own, token, stage, { slot, fuse, callsAgain: fuse });
          if (reported.kind === "success") {
            run.succeeded(reported.output);
            await run.follow(next);
          } else {
            const { error } = reported;
            run.failed(error, retryAt(definition, stage, token.attempt, error.kind));
          }
          await run.commit();
          return null;
        },
      }),

    resume: ({ at, after = {} }) =>
      internalMutationGeneric({
        args: resumeArgs,
        returns: v.null(),
        handler: async (ctx, { token, stage, event, scope }) => {
          const run = new Run(ctx, own, token, stage, { fuse: true, callsAgain: false, scope });
          const entries = event.kind === "joined" ? after : at;
          const arrive = Object.hasOwn(entries, stage) ? entries[stage] : undefined;
          const failed = (problem: Problem) =>
            run.failed(problem, retryAt(definition, stage, token.attempt, problem.kind));
          if (event.kind === "failed") failed(event.error);
          else if (arrive !== undefined) await run.follow(arrive);
          else
            failed({
              kind: "removedNode",
              message: `Workflow "${workflow}" has no node "${stage}" any more`,
            });
          await run.commit();
          return null;
        },
      }),

    reference: <Reference extends WorkflowReference<never>>(options: {
      input: AnySchema;
      first: First;
    }) =>
      // The interface that generated code declares adds members that exist in types only.
      referenceTo(workflow, definition, functions, options) as unknown as Reference,
  };
}

function infoOf({ run, attempt }: Pick<Token, "run" | "attempt">, stage: string) {
  return { runId: run, attempt, idempotencyKey: `${run}/${stage}` };
}

/** A handler inside a nested transaction. An error leaves it as a {@link Failure}, so that it keeps what it was on the way out. */
async function nested(
  stage: string,
  runId: string,
  handler: (info: Info) => unknown,
): Promise<unknown> {
  const info = {
    ...infoOf({ run: runId, attempt: 1 }, stage),
    previousError: null,
    /** Never aborted; made for whoever asks for it. */
    get signal() {
      return new AbortController().signal;
    },
  };
  try {
    return checkedOutput(stage, await handler(info));
  } catch (error) {
    const { kind, message, data } = describeThrown(error);
    throw new Failure(kind, message, data);
  }
}
