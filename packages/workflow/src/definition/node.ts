import type { FunctionArgs, FunctionReference, FunctionReturnType } from "convex/server";
import type { ActionCtx, Info, MutationCtx, QueryCtx } from "./context.js";
import type { Duration } from "./duration.js";
import type { Stored } from "./values.js";

export type FunctionKind = "action" | "mutation" | "query";

/** How often and how soon a failed action is tried again; `true` is 5 attempts, 250 ms, base 2. */
export type Retry =
  boolean | { maxAttempts: number; initialBackoffMs: number; base: number; maxBackoffMs?: number };

type MaybePromise<T> = T | Promise<T>;
type Handler<Ctx, Scope, Result> = (ctx: Ctx, scope: Scope, info: Info) => MaybePromise<Result>;

/** An inline handler: exactly one of the three kinds. */
export type Inline<Scope, Result> =
  | { action: Handler<ActionCtx, Scope, Result>; mutation?: never; query?: never }
  | { mutation: Handler<MutationCtx, Scope, Result>; action?: never; query?: never }
  | { query: Handler<QueryCtx, Scope, Result>; action?: never; mutation?: never };
export type NoHandler = { action?: never; mutation?: never; query?: never };

export interface Policy {
  /** Of an action. Default: the workflow's, else one attempt. */
  retry?: Retry;
  /** Of one attempt of an action. Default: none but the platform's (30 minutes; 10 in Node). */
  timeout?: Duration;
  /** Of a mutation or query: it runs in a transaction of its own. Default: false. */
  isolate?: boolean;
}

export type InlineStep<Scope, Result> = Inline<Scope, Result> & { args?: never } & Policy;

/* The reference may be of any visibility and of whatever arguments: `any` is the variance-free top type that Convex itself uses here. */
export type AnyReference<Kind extends FunctionKind = FunctionKind> = FunctionReference<
  Kind,
  "internal" | "public",
  any,
  any
>;

export type ReferenceStep<Reference extends AnyReference, Scope> = (
  | { action: Reference & AnyReference<"action">; mutation?: never; query?: never }
  | { mutation: Reference & AnyReference<"mutation">; action?: never; query?: never }
  | { query: Reference & AnyReference<"query">; action?: never; mutation?: never }
) & {
  /** The function's arguments, from what came before. */
  args: (scope: Scope) => FunctionArgs<Reference>;
} & Policy;

/** What a referenced function returned, as it is stored. */
export type Returned<Reference extends AnyReference> = Stored<FunctionReturnType<Reference>>;
