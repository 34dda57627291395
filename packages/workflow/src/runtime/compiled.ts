import type { Limits } from "@stepwise/workpool/core";
import {
  type GenericActionCtx,
  type GenericMutationCtx,
  type GenericQueryCtx,
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
} from "convex/server";
import { type ObjectType, v } from "convex/values";
import { attemptOf } from "../attempts.js";
import type { ComponentApi } from "../component/_generated/component.js";
import { type Settled, vCalls, vFollows, vReported } from "../component/validators.js";
import type { Info } from "../definition/context.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { Retry } from "../definition/node.js";
import type { AnySchema } from "../definition/values.js";
import { callFor, describeThrown, Failure } from "../errors/failure.js";
import { checkedOutput } from "../values.js";
import { identityOf, nestedInfo, report } from "./attempt.js";
import { callOf, callsFor } from "./call.js";
import {
  actionArgs,
  type Bound,
  type Completion,
  type CompletionArgs,
  completionArgs,
  functionsOf,
  nestedArgs,
  type Entry,
  entryArgs,
  type StepAction,
  type StepMutation,
  type StepQuery,
} from "./functions.js";
import { INPUT, inputAtBeginning } from "./begins.js";
import { checkMatch, eventsOf, received } from "./nodes/event.js";
import { casesOf, onEndOf, withOnEnd } from "./nodes/kinds.js";
import type { GENERATED_FORMAT } from "../rules.js";
import { begunWithItems } from "./gathering.js";
import { limitOfStage, usedBy } from "./limits.js";
import { type Again, nextAttempt } from "./options.js";
import {
  checkFormat,
  checkNotRenamed,
  checkUpToDate,
  placeOf,
  withPresentKeys,
  type StorageNames,
  underStorageNames,
} from "./place.js";
import { readableScope, type Reads, readsOf } from "./reads.js";
import { referenceTo, type WorkflowReference } from "./reference.js";
import { restartBy } from "./restart.js";
import { type Arrive, Run } from "./run.js";
import { knowCompiled } from "./secrets.js";
import { readsSecret } from "./shown.js";
import { stubOf } from "./stubs.js";
import { tagging } from "./tags.js";

/* The context and the scope of a handler were checked where it was written. */
type Handler<Ctx> = (ctx: Ctx, scope: any, info: Info) => unknown;
type ActionHandler = Handler<GenericActionCtx<any>>;

type Entries = Readonly<Record<string, Arrive>>;

/** What a generated file says of its workflow as a whole. */
export interface Settings {
  /** A file of another format is refused, by its type and when it is loaded. */
  readonly format: typeof GENERATED_FORMAT;
  /** The hash of the plan. */
  readonly plan?: string;
  /** The names that each stage, `recover` and `until` reads; `*` for all. Default: none. */
  readonly reads?: Readonly<Record<string, Reads>>;
  /** The workflows that each parent may start: what these give may be sensitive. */
  readonly starts?: Bound["starts"];
  /** For workflows without a `retry`. Default: one attempt. */
  readonly retry?: Retry;
  /** The app's limits, if the workflow names some. Default: none. */
  readonly limits?: Limits;
  /** Where generated files stand, under the functions folder. Default: `_workflows`. */
  readonly folder?: string;
  /** Default: each node and case is stored under its name. */
  readonly names?: StorageNames;
  /** The storage name of the workflow: its file and its runs have it. Default: its name. */
  readonly storedAs?: string;
  /** Says whether the compiler has seen how it and its nodes are renamed. Default: false. */
  readonly renamed?: boolean;
}

/** What generated code makes its functions with, bound to one workflow. */
export type Compiled = ReturnType<typeof compiled>;

/** Binds the functions of one generated file to its workflow. */
export function compiled(
  component: ComponentApi,
  workflow: string,
  given: AnyDefinition,
  settings: Settings,
) {
  checkFormat(workflow, settings);
  if (settings.renamed !== true) checkNotRenamed(workflow, given);
  const {
    plan,
    retry,
    limits,
    folder,
    names: storageNames,
    starts,
    storedAs = workflow,
  } = settings;
  const definition = underStorageNames(withOnEnd(given), storageNames);
  const functions = functionsOf(storedAs, folder);
  const following = new Map<string, Arrive>();
  const actions = new Set<string>();
  /** Stages whose actions are something else now. */
  const replaced = new Set<string>();
  /** Stages whose actions are gone. */
  const removed = new Set<string>();
  const reads = new Map(Object.entries(settings.reads ?? {}));
  const facts = { component, workflow, storedAs, definition, functions, plan, retry, limits };
  const own: Bound = {
    ...facts,
    following,
    recovered: new Map(),
    actions,
    reads,
    starts,
    readsSecret: (stage) => readsSecret(own, stage),
  };
  knowCompiled(given, own);
  const removedFailure = (stage: string) =>
    new Failure("removedNode", `Workflow "${workflow}" has no node "${stage}" any more`);
  const failRemoved = (run: Run) => run.failed(describeThrown(removedFailure(run.stage)), null);
  /** The token's stage has ended. Gives where the run goes on. */
  const ended = async (run: Run, reported: CompletionArgs["report"], next: Arrive | undefined) => {
    run.noted = { beganAt: reported.beganAt };
    if (reported.kind === "success") {
      const used = usedBy(own, run.stage, reported.output);
      await run.succeeded(reported.output, used && { used });
      return next;
    }
    const { stage, token } = run;
    const { error } = reported;
    if (error.node === INPUT) return run.failAt(stage, error);
    const { node, path, runs } = placeOf(definition, stage);
    // The whole node can have failed, of which the stage may be the children: its time is over.
    if (error.node !== stage || (node !== undefined && runs === undefined)) {
      // The component knows a branch by its storage name.
      return await run.failed(withPresentKeys(error, casesOf(node)), null, next, path);
    }
    const { attempt, uncounted } = token;
    // An action that has not begun is not there any more: what is there now runs.
    if (replaced.has(stage) && ["lost", "removedNode"].includes(error.kind))
      return await run.failed(error, { dueAt: Date.now() }, next);
    let again: Again | null;
    try {
      const holds = limitOfStage(own, stage, reported.holds);
      const asked = { retryAt: reported.retryAt, holds, uncounted };
      again = nextAttempt(own, stage, { ...error, attempt }, asked);
    } catch (thrown) {
      const { message, ...rest } = describeThrown(thrown);
      const where = `The retry.when of "${placeOf(definition, stage).called}" failed`;
      const why = `${where}: ${message}. It was asked about: ${error.message}`;
      return await run.failed({ ...rest, message: why }, null, next);
    }
    return await run.failed(error, again, next);
  };
  /** Goes where the generated function says, and reports. @returns `last`: how it went on. */
  const follow = async (run: Run, arrive: Arrive | undefined): Promise<Settled & { last: Run }> => {
    try {
      await arrive?.(run);
    } catch (error) {
      run.failAt(run.stage, run.errorAt(run.stage, describeThrown(error), 1));
    }
    const settled = await run.commit();
    if (settled.goesOn === undefined) return { ...settled, last: run };
    const { token, stage, event } = settled.goesOn;
    const { scheduled } = run.options;
    const parent = new Run(run.ctx, own, token, stage, {
      scheduled,
      fuse: true,
      budget: run.budget,
    });
    const next = following.get(stage);
    return await follow(parent, event.kind === "failed" ? await ended(parent, event, next) : next);
  };
  const actionOf = (stage: string, handler: ActionHandler): StepAction =>
    internalActionGeneric({
      args: actionArgs,
      returns: v.union(v.null(), vReported),
      handler: async (ctx, { token, slot, scope, previousError }) => {
        const beganAt = Date.now();
        const info = {
          ...identityOf(token, stage),
          attempt: token.attempt,
          previousError,
          isCanceled: async () => await ctx.runQuery(component.lib.isCanceled, { token }),
          tag: tagging(ctx, component, token.run),
        };
        const { called, policy, isVoid } = placeOf(definition, stage);
        // A scope that cannot be loaded is a failure of the attempt like any other.
        const begun = await inputAtBeginning(ctx, own, token);
        if ("error" in begun) return await report(ctx, own, stage, { token, slot, beganAt }, begun);
        const attempt = attemptOf(called, policy.timeout, async (signal) => {
          const full = { ...info, signal };
          const stub = stubOf(definition, stage);
          const names = stub === undefined ? undefined : ["*"];
          const all = readsOf(own, stage, token.iterations, names);
          // An earlier version of the code may have scheduled it, with less than it reads now.
          const missing = all.filter(({ name }) => !Object.hasOwn(scope ?? {}, name));
          const args = { run: token.run, reads: missing };
          const loaded = missing.length > 0 ? await ctx.runQuery(component.lib.load, args) : {};
          const reader = "args" in policy ? "args" : "action";
          const values = readableScope(
            own,
            stage,
            reader,
            { ...scope, ...loaded, ...begun },
            names,
          );
          const run = handlerOf(handler, "action", policy);
          const result: unknown =
            stub === undefined
              ? await run(contextFor(ctx, policy, called), values, full)
              : await stub(values, full);
          return isVoid ? null : result;
        });
        return await report(ctx, own, stage, { token, slot, beganAt }, attempt);
      },
    });
  const restart = async (
    ctx: GenericMutationCtx<any>,
    runId: string,
    { from, retentionMs }: { from?: string; retentionMs?: number },
  ) => {
    const { nodes } = definition;
    if (Object.keys(nodes).length === 0)
      throw new Failure("removedNode", `The app has no workflow "${workflow}" any more`);
    if (from !== undefined && !Object.hasOwn(nodes, from)) throw removedFailure(from);
    return await restartBy(ctx, component, referenceTo(own, given), runId, { from, retentionMs });
  };
  const completionOf = (stage: string, next?: Arrive): Completion =>
    internalMutationGeneric({
      args: completionArgs,
      returns: v.null(),
      handler: async (ctx, { token, slot, report: reported, fuse }) => {
        const run = new Run(ctx, own, token, stage, { slot, fuse });
        const arrive = next === undefined ? failRemoved(run) : ended(run, reported, next);
        await follow(run, await arrive);
        return null;
      },
    });
  const nested = <Ctx>(stage: string, kind: string, given: Handler<Ctx>) => ({
    args: nestedArgs,
    returns: v.any(),
    handler: async (ctx: Ctx, args: ObjectType<typeof nestedArgs>): Promise<unknown> => {
      const { scope, runId, iterations, generation } = args;
      try {
        const values = readableScope(own, stage, kind, scope);
        // That of a query cannot run a mutation.
        const tag = tagging(ctx as Parameters<typeof tagging>[0], component, runId);
        const info = nestedInfo({ run: runId, iterations, generation }, stage, tag);
        const { called, policy, isVoid } = placeOf(definition, stage);
        const result = await handlerOf(given, kind, policy)(ctx, values, info);
        return checkedOutput(called, isVoid ? null : result);
      } catch (error) {
        // So that it keeps what it was on the way out of the nested transaction.
        throw Failure.from(error);
      }
    },
  });
  return {
    /** The functions of the workflow's `onEnd`, which has a stage of its own. */
    onEnd: onEndOf(given),
    /** An internal action: runs the handler with what it reads, and reports to `<stage>Done`. */
    action(stage: string, handler: ActionHandler) {
      actions.add(stage);
      return actionOf(stage, handler);
    },
    queue:
      (stage: string): Arrive =>
      (run) =>
        run.action(stage),
    /** The action of a stage that was removed from the definition: it fails. */
    removed: (stage: string) =>
      actionOf(stage, () => {
        throw removedFailure(stage);
      }),
    /** An internal mutation: the handler, nested in the transaction that arrives. */
    mutation: (stage: string, handler: Handler<GenericMutationCtx<any>>): StepMutation =>
      internalMutationGeneric(nested(stage, "mutation", handler)),
    /** The same for a query. */
    query: (stage: string, handler: Handler<GenericQueryCtx<any>>): StepQuery =>
      internalQueryGeneric(nested(stage, "query", handler)),
    /** An internal mutation: takes an action's report; retries it, or goes on with `next`. */
    completion(stage: string, next: Arrive) {
      following.set(stage, next);
      return completionOf(stage, next);
    },
    /** The completion of an action that is a query or mutation now. */
    replacedCompletion(stage: string, next: Arrive) {
      replaced.add(stage);
      following.set(stage, next);
      return completionOf(stage, next);
    },
    /** The completion of a removed action: takes the report of one that still runs, and fails. */
    removedCompletion(stage: string) {
      removed.add(stage);
      return completionOf(stage);
    },
    /**
     * An internal mutation: the component enters the workflow at a stage, or after a wait.
     * @param ways.recovered what follows a parent or a `.child` that has recovered.
     */
    entry(ways: { at: Entries; after?: Entries; recovered?: Entries }): Entry {
      const { at, after = {} } = ways;
      checkUpToDate(workflow, definition, Object.keys(at));
      Object.freeze(given.nodes);
      for (const [stage, arrive] of Object.entries(after)) following.set(stage, arrive);
      own.recovered = new Map(Object.entries(ways.recovered ?? {}));
      return internalMutationGeneric({
        args: entryArgs,
        returns: v.union(v.null(), v.string(), vFollows, vCalls),
        handler: async (ctx, { token, stage, event, nested, ...options }) => {
          if (event.kind === "restart") return await restart(ctx, token.run, event);
          if (event.kind === "collected") return await begunWithItems(ctx, own, token);
          if (event.kind === "callsFor") return await callsFor(ctx, own, event.steps);
          // Its parent may have ended already, and cancel its many children in pages.
          const mayBeCalledOff = event.kind === "arrive" && token.parentOfMany !== undefined;
          if (mayBeCalledOff && (await ctx.runQuery(component.lib.isCalledOff, { token })))
            return null;
          const begun = event.kind === "arrive" ? await inputAtBeginning(ctx, own, token) : {};
          const scope = options.scope && { ...options.scope, ...begun };
          const hasKeys = event.kind === "arrive" && event.hasKeys;
          const how = { ...options, scope, hasKeys, scheduled: !nested };
          const run = new Run(ctx, own, token, stage, how);
          const entry = (entries: Entries, name = stage) =>
            Object.hasOwn(entries, name) ? entries[name] : undefined;
          const { node, kind, path, part } = placeOf(definition, stage);
          let arrive = entry(event.kind === "arrive" ? at : after);
          // A parent's handler may be removed before it has begun: its children are next.
          const isAhead = event.kind === "arrive" && token.attempt === 1 && part === "output";
          if (isAhead && node?.children !== undefined) arrive ??= entry(at, path);
          if (event.kind === "success" || event.kind === "failed") arrive = following.get(stage);
          if (arrive === undefined && (event.kind !== "failed" || removed.has(stage)))
            await failRemoved(run);
          else if ("error" in begun) arrive = run.failAt(stage, begun.error);
          else if (event.kind === "success" || event.kind === "failed")
            arrive = await ended(run, event, arrive);
          else if (event.kind === "due") {
            const { due = null } = kind;
            await run.succeeded(due, due === null ? {} : { timedOut: true });
          } else if (event.kind === "got") {
            const events = eventsOf(definition, stage);
            await checkMatch(run, stage, node, { ...event, name: events.get(event.name) });
            const { output, ...took } = received(node, events, event);
            await run.succeeded(output, took);
          }
          const { last, stale, queued } = await follow(run, arrive);
          const { nextAction } = last;
          if (queued === undefined || nextAction === undefined) return stale ? "stale" : null;
          const { iterations } = last.at(nextAction);
          const of = { ...last.token, iterations: iterations && [...iterations], attempt: 1 };
          const asked = { token: of, stage: nextAction, scope: queued.scope };
          return { row: queued.row, stage: nextAction, call: await callOf(ctx, own, asked) };
        },
      });
    },

    /** What others know of the workflow. The copy of its input is for the type; it is not run. */
    reference: <Reference extends WorkflowReference<never>>(
      _input: AnySchema | (() => AnySchema),
      _events?: () => Readonly<Record<string, readonly AnySchema[]>>,
    ) =>
      // The interface that generated code declares adds members that exist in types only.
      referenceTo(own, given) as unknown as Reference,
  };
}

/** The functions of a removed workflow: its runs fail with `removedNode`, and are undone. */
export function removedWorkflow(
  component: ComponentApi,
  workflow: string,
  settings: Pick<Settings, "format" | "folder">,
): Omit<Compiled, "query" | "reference" | "onEnd"> {
  // Nobody starts it, so nobody asks for its schema.
  const definition = { options: { input: undefined as never }, nodes: {} as never };
  return compiled(component, workflow, definition, settings);
}

/**
 * Returns what the compiler took for a handler: a function reference, if its `args` were not seen.
 */
function handlerOf(given: Handler<any>, kind: string, policy: any): Handler<any> {
  if (typeof given === "function") return given;
  const method = `run${kind.slice(0, 1).toUpperCase()}${kind.slice(1)}`;
  return (ctx, scope, info) => ctx[method](given, policy.args(scope, info));
}

/** The context of an action's handler. A call by reference tells refused results. */
function contextFor(ctx: GenericActionCtx<any>, policy: object, stage: string): typeof ctx {
  if ("action" in policy && typeof policy.action === "function") return ctx;
  const runAction: typeof ctx.runAction = (action, ...args) =>
    callFor(stage, args[0], () => ctx.runAction(action, ...args));
  return { ...ctx, runAction };
}
