import type { Limits } from "@stepwise/workpool/core";
import { internalMutationGeneric, internalQueryGeneric } from "convex/server";
import { v } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import { type Settled, vCalls, vFollows } from "../component/protocol.js";
import type { ActionCtx, MutationCtx, QueryCtx } from "../definition/context.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { Retry } from "../definition/node.js";
import type { AnySchema } from "../definition/values.js";
import { describeThrown, Failure } from "../errors/failure.js";
import type { TransactionOptions } from "./at-hand.js";
import { callOf, callsFor } from "./call.js";
import { knowComponent } from "./component-of.js";
import { ended } from "./ended.js";
import {
  type Bound,
  type Completion,
  completionArgs,
  functionsOf,
  type Entry,
  entryArgs,
  type StepMutation,
  type StepQuery,
} from "./functions.js";
import { actionOf, type Handler, nestedOf } from "./handlers.js";
import { inputAtBeginning } from "./begins.js";
import { checkMatch, eventsOf, received } from "./nodes/event.js";
import { onEndOf, withOnEnd } from "./nodes/kinds.js";
import type { GENERATED_FORMAT } from "../rules.js";
import { begunWithItems } from "./gathering.js";
import { placeOf } from "./place.js";
import { type StorageNames, underStorageNames } from "./storage-names.js";
import { checkFormat, checkNotRenamed, checkUpToDate } from "./up-to-date.js";
import type { Reads } from "./named.js";
import { referenceTo, type WorkflowReference } from "./reference.js";
import { restartBy } from "./restart.js";
import { type Arrive, Run } from "./run.js";
import { checkWorkflowOptions } from "./workflow-options.js";
import { knowCompiled } from "./secrets.js";

type Entries = Readonly<Record<string, Arrive>>;

/** What a transaction that does not come to a stage knows of it. */
const NOTHING_MADE: Pick<TransactionOptions, "hasKeys" | "hasTime"> = {};

/** What a generated file says of its workflow as a whole. */
interface Settings {
  /** A file of another format is refused, by its type and when it is loaded. */
  readonly format: typeof GENERATED_FORMAT;
  /** The hash of the plan. */
  readonly plan?: string;
  /** The names that each stage, `recover` and `until` reads; `*` for all. Default: none. */
  readonly reads?: Readonly<Record<string, Reads>>;
  /** The workflows that each parent may start: what these give may be sensitive. */
  readonly starts?: Bound["starts"];
  /** The `retry` of workflows without one. Default: one attempt. */
  readonly retry?: Retry;
  /** The app's limits, if the workflow or a child of it may name some. Default: none. */
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
  checkWorkflowOptions(workflow, given.options);
  if (settings.renamed !== true) checkNotRenamed(workflow, given);
  const { plan, retry, limits, starts, storedAs = workflow } = settings;
  const definition = underStorageNames(withOnEnd(given), settings.names);
  const following = new Map<string, Arrive>();
  const actions = new Set<string>();
  const replaced = new Set<string>();
  /** Stages whose actions are gone. */
  const removed = new Set<string>();
  const own: Bound = {
    component,
    workflow,
    storedAs,
    definition,
    functions: functionsOf(storedAs, settings.folder),
    plan,
    retry,
    limits,
    following,
    recovered: new Map(),
    actions,
    replaced,
    reads: new Map(Object.entries(settings.reads ?? {})),
    starts,
  };
  knowCompiled(given, own);
  knowComponent(definition, component);
  const removedFailure = (stage: string) =>
    new Failure("removedNode", `Workflow "${workflow}" has no node "${stage}" any more`);
  const failRemoved = (run: Run) => run.failed(describeThrown(removedFailure(run.stage)), null);
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
  const restart = async (
    ctx: MutationCtx,
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
  return {
    /** The functions of the workflow's `onEnd`, which has a stage of its own. */
    onEnd: onEndOf(given),
    /** An internal action: runs the handler with what it reads, and reports to `<stage>Done`. */
    action(stage: string, handler: Handler<ActionCtx>) {
      actions.add(stage);
      return actionOf(own, stage, handler);
    },
    queue:
      (stage: string): Arrive =>
      (run) =>
        run.action(stage),
    /** The action of a stage that was removed from the definition: it fails. */
    removed: (stage: string) =>
      actionOf(own, stage, () => {
        throw removedFailure(stage);
      }),
    /** An internal mutation: the handler, nested in the transaction that arrives. */
    mutation: (stage: string, handler: Handler<MutationCtx>): StepMutation =>
      internalMutationGeneric(nestedOf(own, stage, "mutation", handler)),
    /** The same for a query. */
    query: (stage: string, handler: Handler<QueryCtx>): StepQuery =>
      internalQueryGeneric(nestedOf(own, stage, "query", handler)),
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
          const { hasKeys, hasTime } = event.kind === "arrive" ? event : NOTHING_MADE;
          const how = { ...options, scope, hasKeys, hasTime, scheduled: !nested };
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
