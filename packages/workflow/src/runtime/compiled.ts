import type { GenericActionCtx, GenericMutationCtx, GenericQueryCtx } from "convex/server";
import {
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
} from "convex/server";
import { v } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import type { Read, Token } from "../component/validators.js";
import type { Info } from "../definition/context.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { Retry } from "../definition/node.js";
import { describeThrown, Failure, type Problem } from "../errors/failure.js";
import { callFor } from "../errors/refused-result.js";
import { attemptOf } from "./attempt.js";
import type { Bound, Recover } from "./bound.js";
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
import { identityOf, nestedInfo } from "./info.js";
import { endOfWait, eventOutput, eventsOf } from "./nodes/event.js";
import { checkUpToDate, placeOf } from "./place.js";
import { policyOf, readsOf } from "./reads.js";
import { referenceTo, type Facts, type WorkflowReference } from "./reference.js";
import { report } from "./report.js";
import { retryAt } from "./retry.js";
import { Run, type Arrive } from "./run.js";
import { readableScope } from "./scope.js";
import { underStorageNames, type StorageNames } from "./storage-names.js";
import { stubOf } from "./stubs.js";
import { Transaction } from "./transaction.js";
import { checkedOutput } from "../values.js";

/* The context and the scope of a handler were checked where it was written; here they only pass through. */
type ActionHandler = (ctx: GenericActionCtx<any>, scope: any, info: Info) => unknown;
type MutationHandler = (ctx: GenericMutationCtx<any>, scope: any, info: Info) => unknown;
type QueryHandler = (ctx: GenericQueryCtx<any>, scope: any, info: Info) => unknown;

/** What generated code makes its functions with, bound to one workflow. */
export interface Compiled {
  /** An internal action: runs the handler with what it reads, and reports to `<stage>Done`. */
  action(stage: string, reads: readonly string[], handler: ActionHandler): StepAction;
  /** An internal mutation: the handler, as the nested transaction of whoever arrives at the stage. */
  mutation(stage: string, handler: MutationHandler): StepMutation;
  /** The same for a query. */
  query(stage: string, handler: QueryHandler): StepQuery;
  /** An internal mutation: takes an action's report, has it tried again, or goes on with `next`. */
  completion(stage: string, next: Arrive): Completion;
  /** What the `recover` of a node reads of its scope. @param next what follows the node, of a parent and a `.child`. */
  recover(stage: string, reads: readonly string[], next?: Arrive): void;
  /** The action of a stage that the definition does not have any more: it fails. */
  removed(stage: string): StepAction;
  /** Its completion: takes the report of one that still runs, and fails. */
  removedCompletion(stage: string): Completion;
  /** An internal mutation: the component's way into the workflow, `at` a stage or `after` one at which it has waited. */
  resume(entries: {
    at: Readonly<Record<string, Arrive>>;
    after?: Readonly<Record<string, Arrive>>;
  }): Resume;
  /** What others know of the workflow. Its type is that of the annotation it is assigned to. */
  reference<Reference extends WorkflowReference<never>>(facts: Facts): Reference;
}

/** What the app's config says: for workflows that say nothing themselves, and where their functions are. */
export interface Defaults {
  readonly retry?: Retry;
  /** The folder under the functions folder that generated files stand in. Default: `_workflows`. */
  readonly folder?: string;
  /** Default: each node and case is stored under its name. */
  readonly names?: StorageNames;
}

/** Binds the functions of one generated file to its workflow. */
export function compiled(
  component: ComponentApi,
  workflow: string,
  given: AnyDefinition,
  defaults: Defaults = {},
): Compiled {
  const definition = underStorageNames(given, defaults.names);
  const functions = functionsOf(workflow, defaults.folder);
  const following = new Map<string, Arrive>();
  const recovers = new Map<string, Recover>();
  const reads = new Map<string, readonly string[]>();
  const own: Bound = { component, workflow, definition, functions, following, recovers, reads };
  const removedProblem = (stage: string): Problem => ({
    kind: "removedNode",
    message: `Workflow "${workflow}" has no node "${stage}" any more`,
  });
  const actionOf = (stage: string, handler: ActionHandler): StepAction =>
    internalActionGeneric({
      args: actionArgs,
      returns: v.null(),
      handler: async (ctx, { token, slot, scope, previousError }) => {
        const load = async (some: Read[]): Promise<Record<string, unknown>> =>
          some.length === 0
            ? {}
            : await ctx.runQuery(component.lib.load, { run: token.run, reads: some });
        const info = {
          ...identityOf(token, stage),
          previousError,
          isCanceled: async () => await ctx.runQuery(component.lib.isCanceled, { token }),
        };
        // A scope that cannot be loaded is a failure of the attempt like any other: it is reported.
        const policy = policyOf(definition, stage);
        const { called } = placeOf(definition, stage);
        const attempt = await attemptOf(called, policy, info, async (full) => {
          const stub = stubOf(definition, stage);
          const names = stub === undefined ? (reads.get(stage) ?? []) : ["*"];
          const all = readsOf(definition, stage, names, token.pass ?? []);
          // An earlier version of the code may have scheduled it, with less than it reads now.
          const missing = all.filter(({ name }) => !Object.hasOwn(scope ?? {}, name));
          const values = { ...scope, ...(await load(missing)) };
          const reader = { stage, function: "args" in policy ? "args" : "action" };
          const given = readableScope(own, reader, names, values);
          return stub === undefined
            ? handler(contextFor(ctx, policy, called), given, full)
            : stub(given, full);
        });
        await report(ctx, own, stage, token, slot, attempt);
        return null;
      },
    });
  const completionOf = (stage: string, next: Arrive, isRemoved: boolean): Completion =>
    internalMutationGeneric({
      args: completionArgs,
      returns: v.null(),
      handler: async (ctx, { token, slot, report: reported, fuse }) => {
        const transaction = new Transaction(ctx, own, token, stage, {
          slot,
          fuse,
          callsAgain: fuse,
        });
        if (isRemoved) await transaction.failed(removedProblem(stage), null);
        else if (reported.kind === "success") {
          await transaction.succeeded(reported.output);
          await follow(transaction, next);
        } else {
          const { error } = reported;
          const again = retryAt(definition, defaults, stage, token.attempt, error.kind);
          const after = await transaction.failed(error, again, next);
          if (after !== undefined) await follow(transaction, after);
        }
        await transaction.commit();
        return null;
      },
    });
  return {
    action(stage, names, handler) {
      reads.set(stage, names);
      return actionOf(stage, handler);
    },
    removed: (stage) =>
      actionOf(stage, () => {
        const { kind, message } = removedProblem(stage);
        throw new Failure(kind, message);
      }),

    mutation: (stage, handler) =>
      internalMutationGeneric({
        args: nestedArgs,
        returns: v.any(),
        handler: (ctx, { scope, reads: loaded, ...of }) =>
          nested(stage, placeOf(definition, stage).called, of, (info) =>
            handler(ctx, readableScope(own, { stage, function: "mutation" }, loaded, scope), info),
          ),
      }),

    query: (stage, handler) =>
      internalQueryGeneric({
        args: nestedArgs,
        returns: v.any(),
        handler: (ctx, { scope, reads: loaded, ...of }) =>
          nested(stage, placeOf(definition, stage).called, of, (info) =>
            handler(ctx, readableScope(own, { stage, function: "query" }, loaded, scope), info),
          ),
      }),

    completion(stage, next) {
      following.set(stage, next);
      return completionOf(stage, next, false);
    },
    removedCompletion: (stage) => completionOf(stage, async () => {}, true),

    recover(stage, reads, next) {
      recovers.set(stage, { reads, next });
    },

    resume({ at, after = {} }) {
      checkUpToDate(workflow, definition, Object.keys(at));
      for (const [stage, arrive] of Object.entries(after)) following.set(stage, arrive);
      return internalMutationGeneric({
        args: resumeArgs,
        returns: v.null(),
        handler: async (ctx, { token, stage, event, scope, ...options }) => {
          // Its parent may have ended already, and cancel its many children in pages.
          const mayBeCalledOff = event.kind === "arrive" && token.childOf !== undefined;
          if (mayBeCalledOff && (await ctx.runQuery(component.lib.isCalledOff, { token })))
            return null;
          const transaction = new Transaction(ctx, own, token, stage, { ...options, scope });
          const entry = (entries: Readonly<Record<string, Arrive>>) =>
            Object.hasOwn(entries, stage) ? entries[stage] : undefined;
          const { node } = placeOf(definition, stage);
          let arrive =
            event.kind === "arrive"
              ? entry(at)
              : event.kind === "done"
                ? following.get(stage)
                : entry(after);
          if (event.kind === "failed") {
            const { kind, node: failing } = event.error;
            // What has failed may be the whole node of which the stage is a part: its time is over.
            const isOwn = failing === stage;
            const again = isOwn ? retryAt(definition, defaults, stage, token.attempt, kind) : null;
            const failed = isOwn ? stage : placeOf(definition, stage).path;
            arrive = await transaction.failed(event.error, again, following.get(stage), failed);
          } else if (arrive === undefined) {
            await transaction.failed(removedProblem(stage), null);
          } else if (event.kind === "due") {
            const due = endOfWait(node);
            if (due === "waits") arrive = entry(at);
            else await transaction.succeeded(due.output);
          } else if (event.kind === "done") {
            await transaction.succeeded(event.output);
          } else if (event.kind === "got") {
            const name = eventsOf(definition, stage).get(event.name) ?? event.name;
            await transaction.succeeded(eventOutput(node, name, event.value));
          }
          if (arrive !== undefined) await follow(transaction, arrive);
          await transaction.commit();
          return null;
        },
      });
    },

    reference: <Reference extends WorkflowReference<never>>(facts: Facts) => {
      own.plan = facts.plan;
      // The interface that generated code declares adds members that exist in types only.
      return referenceTo(own, given, facts) as unknown as Reference;
    },
  };
}

/** What an action's handler is called with. One that calls the user's function by reference is told apart what that gives from what it throws. */
function contextFor(ctx: GenericActionCtx<any>, policy: object, stage: string): typeof ctx {
  if ("action" in policy && typeof policy.action === "function") return ctx;
  const runAction: typeof ctx.runAction = (action, ...args) =>
    callFor(stage, args[0], () => ctx.runAction(action, ...args));
  return { ...ctx, runAction };
}

/** Goes where the generated function says. */
async function follow(transaction: Transaction, arrive: Arrive): Promise<void> {
  try {
    await arrive(new Run(transaction));
  } catch (error) {
    transaction.fail(transaction.stage, describeThrown(error));
  }
}

/** A handler inside a nested transaction. An error leaves it as a {@link Failure}, so that it keeps what it was on the way out. */
async function nested(
  stage: string,
  called: string,
  { runId, ...of }: { runId: string } & Pick<Token, "pass" | "generation">,
  handler: (info: Info) => unknown,
): Promise<unknown> {
  try {
    return checkedOutput(called, await handler(nestedInfo({ run: runId, ...of }, stage)));
  } catch (error) {
    const { kind, message, data } = describeThrown(error);
    throw new Failure(kind, message, data);
  }
}
