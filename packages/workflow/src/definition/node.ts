import type { FunctionReference, FunctionReturnType } from "convex/server";
import type { Duration } from "../rules.js";
import type { ActionCtx, CallInfo, Info, MutationCtx, QueryCtx, StepError } from "./context.js";
import type { LimitsOption } from "./limits.js";
import type { Simplify } from "./scope.js";
import type { Given, Misfit, Stored, Valid, ValidAt } from "./values.js";

export type FunctionKind = "action" | "mutation" | "query";

/** Which failed actions are tried again, how often and how soon; `true` is 5 attempts. */
export type Retry =
  | boolean
  | {
      /** How often it runs at most, the first time included: 1 to 1,000. */
      maxAttempts: number;
      /** The wait before the second attempt, in ms. Default: 250. */
      initialBackoffMs?: number;
      /** The factor by which the wait grows from one attempt to the next. Default: 2. */
      base?: number;
      /** No wait is longer than this, in ms. Default: a year. */
      maxBackoffMs?: number;
      /**
       * Says whether an error is tried again, if attempts are left. It sees the whole error, and is
       * synchronous. If it throws, the step fails with that. Default: every error.
       */
      when?: (error: StepError) => boolean;
    };

type MaybePromise<T> = T | Promise<T>;
type Handler<Ctx, Scope, Result, Tags> = (
  ctx: Ctx,
  scope: Scope,
  info: Info<Tags>,
) => MaybePromise<Result>;

/**
 * An inline handler: exactly one of the three kinds. @typeParam Hint what it may be meant to give:
 * it keeps literals, and is never inferred from.
 */
export type Inline<Scope, Result, Tags, Hint = never> =
  | {
      action: Handler<ActionCtx, Scope, Result | NoInfer<Hint>, Tags>;
      mutation?: never;
      query?: never;
    }
  | {
      mutation: Handler<MutationCtx, Scope, Result | NoInfer<Hint>, Tags>;
      action?: never;
      query?: never;
    }
  | {
      query: Handler<QueryCtx, Scope, Result | NoInfer<Hint>, Tags>;
      action?: never;
      mutation?: never;
    };
export type NoHandler = { action?: never; mutation?: never; query?: never };

export interface Policy {
  /** Tries a failed action again. Default: the workflow's `retry`, or else one attempt. */
  retry?: Retry;
  /**
   * Limits one attempt of an action. Default: the platform's (30 minutes; 10 in Node). With it, an
   * action that died with its machine is found within seconds. Without it, that takes 10, 30, 90,
   * 270 or 810 s after the pool became busy, then every 540 s.
   */
  timeout?: Duration;
  /** Runs a mutation or query in a transaction of its own. Default: false. */
  isolate?: boolean;
}

/* `any` is the variance-free top type that Convex itself uses here. */
export type AnyReference<Kind extends FunctionKind = FunctionKind> = FunctionReference<
  Kind,
  "internal" | "public",
  any,
  any
>;

export type AnyUndo = AnyReference<"action" | "mutation">;

interface ArgsFor<Scope, Reference> {
  /** The function's arguments; `info` has the idempotency key and the attempt. */
  args: (scope: Scope, info: CallInfo) => ArgsOf<Reference>;
}

/**
 * Undoes a step, inline or as a reference with `args`. Its scope is that of the step with `output`,
 * the step's result, and `error`, why the run is being undone. Its own result is dropped, but a
 * referenced function fails if its result is no Convex value.
 */
export type Compensation<Scope, Undo extends AnyUndo, Tags> =
  | ActionUndo<Scope, Tags>
  | MutationUndo<Scope, Tags>
  | ActionReferenceUndo<Scope, Undo>
  | MutationReferenceUndo<Scope, Undo>;

type UndoPolicy = Pick<Policy, "retry" | "timeout">;
interface ActionUndo<Scope, Tags> extends UndoPolicy {
  action: Handler<ActionCtx, Scope, unknown, Tags>;
  mutation?: never;
  args?: never;
}
interface MutationUndo<Scope, Tags> extends UndoPolicy {
  mutation: Handler<MutationCtx, Scope, unknown, Tags>;
  action?: never;
  args?: never;
}
interface ActionReferenceUndo<Scope, Undo extends AnyUndo>
  extends UndoPolicy, ArgsFor<Scope, Undo> {
  action: Undo & AnyReference<"action">;
  mutation?: never;
}
interface MutationReferenceUndo<Scope, Undo extends AnyUndo>
  extends UndoPolicy, ArgsFor<Scope, Undo> {
  mutation: Undo & AnyReference<"mutation">;
  action?: never;
}

export interface Recovering<Scope, Recovered> {
  /**
   * Gives a value to go on with when the node has failed for good; the timeline keeps the error. If
   * it throws, the run fails with that, and the node's error is its `cause`. Not called when the
   * run is canceled. Default: the run fails.
   */
  recover?: (error: StepError, scope: Scope) => MaybePromise<Recovered>;
}

/**
 * A step's options. The order matters to inference: handler, recover, compensate. A generic base
 * would cost the compiler more than its members do.
 */
interface StepOptions<Scope, Result, Recovered, Undo extends AnyUndo, Tags> extends Policy {
  /**
   * Gives a value to go on with when the step has failed for good; the timeline keeps the error. If
   * it throws, the run fails with that, and the step's error is its `cause`. Not called when the
   * run is canceled. Default: the run fails.
   */
  recover?: (error: StepError, scope: Scope) => MaybePromise<Recovered>;
  /**
   * Its result, its arguments, and the message and data of its errors are neither shown, logged,
   * nor passed to a scheduled function. Only its own `recover` sees the whole error. Default:
   * false.
   */
  sensitive?: boolean;
  /**
   * The limits of the app's config that an action takes part in, such as `["exports"]`, or
   * `{ tenant: ({ input }) => input.org }` for one with keys. It waits until each has room.
   * Default: those of the workflow.
   */
  limits?: LimitsOption<Scope, Result>;
  /**
   * How long each attempt of an action waits at most for a slot and its limits. Then the step
   * fails as `timedOut` with the reason `waiting`, and is not tried again. Default: as long as it
   * takes.
   */
  waitAtMost?: Duration;
  /**
   * Undoes the completed step when the run fails, times out or is canceled later. Compensations run
   * one by one, newest step first. Each is retried like a step; if one fails for good, the others
   * still run.
   */
  compensate?: Compensation<
    Simplify<Scope & { output: Result | Stored<Given<Recovered>>; error: StepError }>,
    Undo,
    Tags
  >;
}

export type InlineStep<Scope, Result, Recovered, Undo extends AnyUndo, Tags, Hint = never> = Inline<
  Scope,
  Result,
  Tags,
  Hint
> & {
  args?: never;
} & StepOptions<Scope, Stored<Result>, Recovered, Undo, Tags> &
  Valid<Result> &
  ValidAt<"recover", Recovered>;

/*
 * A reference of the right kind, or what is wrong with it. TypeScript explains the last overload, so
 * a right handler passes here: the error is then at the option that is wrong.
 */
type Referenced<Reference, Kind extends FunctionKind> = Reference extends AnyReference
  ? Reference["_type"] extends Kind
    ? Reference
    : `this is a reference to ${WithArticle<Reference["_type"]>}: write \`${Reference["_type"]}\` instead of \`${Kind}\``
  : Reference extends (ctx: Contexts[Kind], ...rest: never[]) => infer Result
    ? Misfit<Awaited<Result>, Reference>
    : AnyReference<Kind> | ((ctx: Contexts[Kind], ...rest: never[]) => unknown);

interface Contexts {
  action: ActionCtx;
  mutation: MutationCtx;
  query: QueryCtx;
}

type WithArticle<Kind extends FunctionKind> = Kind extends "action" ? "an action" : `a ${Kind}`;

export type ReferenceStep<Reference, Scope, Recovered, Undo extends AnyUndo, Tags> = (
  | { action: Referenced<Reference, "action">; mutation?: never; query?: never }
  | { mutation: Referenced<Reference, "mutation">; action?: never; query?: never }
  | { query: Referenced<Reference, "query">; action?: never; mutation?: never }
) &
  StepOptions<Scope, Returned<Reference>, Recovered, Undo, Tags> &
  // TypeScript names what is wrong first: a handler, which passes here, has no `args` to miss.
  ArgsFor<Scope, Reference> &
  ValidAt<"recover", Recovered>;

/** Makes the output of a workflow or of a parent: inline, or a reference with `args`. */
export type FinalizeNode<Scope, Result, Final extends AnyReference, Tags> = (
  | (Inline<Scope, Result, Tags> & { args?: never } & Valid<Result>)
  | ((
      | { action: Final & AnyReference<"action">; mutation?: never; query?: never }
      | { mutation: Final & AnyReference<"mutation">; action?: never; query?: never }
      | { query: Final & AnyReference<"query">; action?: never; mutation?: never }
    ) &
      ArgsFor<Scope, Final>)
) &
  Policy;

/** What a finalize gives. If it is inline, `Final` is inferred to be any reference. */
export type FinalOutput<Result, Final extends AnyReference> = AnyReference extends Final
  ? Stored<Result>
  : Returned<Final>;

/** What a referenced function returned, as it is stored. */
export type Returned<Reference> = Reference extends AnyReference
  ? Stored<FunctionReturnType<Reference>>
  : Reference extends (...args: never[]) => infer Result
    ? Stored<Awaited<Result>>
    : never;
type ArgsOf<Reference> = Reference extends { readonly _args: infer Args }
  ? Args
  : "a handler has no `args`: a reference has";
