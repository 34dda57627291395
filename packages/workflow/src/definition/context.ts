import type {
  GenericActionCtx,
  GenericDataModel,
  GenericMutationCtx,
  GenericQueryCtx,
} from "convex/server";
import type { Value } from "convex/values";

/** The generated `index.ts` declares the app's `dataModel` here, for the types of `ctx`. */
export interface Register {}

type DataModel = Register extends { dataModel: infer Model extends GenericDataModel }
  ? Model
  : GenericDataModel;
export type ActionCtx = GenericActionCtx<DataModel>;
export type MutationCtx = GenericMutationCtx<DataModel>;
export type QueryCtx = GenericQueryCtx<DataModel>;

/** The second parameter of `args`: what it can ask about the execution of its step. */
export type CallInfo = Omit<Info, "signal" | "isCanceled" | "tag">;

/** The `AbortSignal` of the app's libraries: not every `lib` has one. */
type Signal = typeof globalThis extends { AbortSignal: { prototype: infer Known } }
  ? Known
  : {
      readonly aborted: boolean;
      readonly reason: unknown;
      throwIfAborted(): void;
      addEventListener(type: "abort", listener: () => void): void;
      removeEventListener(type: "abort", listener: () => void): void;
    };

/** What a tag of a run says. */
export type TagValue = string | number | boolean;
/** The tags of a run whose workflow does not say which there are. */
export type AnyTags = { readonly [Name in string]: TagValue };

/* By its method, so that a function of the app that takes an `Info` is given any. */
type Tagging<Tags> = {
  tag<Name extends keyof Tags & string>(name: Name, value: Tags[Name]): Promise<void>;
}["tag"];

/**
 * The third parameter of a handler: what it can ask about its own execution.
 * @typeParam Tags the tags that it can give, such as `{ risk: "low" | "high" }`. Default: any.
 */
export interface Info<Tags = AnyTags> {
  /** The run's id, as `workflow.start` returned it; in a branch or an item, that of its own run. */
  readonly runId: string;
  /** Which attempt this is, from 1. */
  readonly attempt: number;
  /** The same for every attempt of one step record, and different for every other. */
  readonly idempotencyKey: string;
  /** Why the attempt before this one failed; null on the first. */
  readonly previousError: StepError | null;
  /** Aborted when the step's `timeout` is over. Never aborted in a mutation or query. */
  readonly signal: Signal;
  /**
   * Asks whether the run was canceled meanwhile, timed out, failed elsewhere or was restarted, so
   * that this handler's result will change nothing. For long actions. Always false in a mutation or
   * query.
   */
  readonly isCanceled: () => Promise<boolean>;
  /**
   * Gives the run a tag by which it is found, or changes it. In a child, a branch or an item, the
   * run at the top gets it. In a mutation it is part of the transaction. A run has at most 10. Not
   * in a query.
   * @param name one that the `tags` of the workflow declare; `{ risk: undefined }` only declares.
   * @param value of the type that they declare; of any, if they only declare the name.
   */
  readonly tag: Tagging<Tags>;
}

/** The kinds of failures. Errors are told apart by these, never by class. */
export const ERROR_KINDS = [
  ...(["thrown", "nonRetryable", "timedOut", "canceled", "childFailed"] as const),
  ...(["invalidInput", "invalidOutput", "tooLarge", "lost", "removedNode"] as const),
];
export type ErrorKind = (typeof ERROR_KINDS)[number];

/** Why a step, or a run, failed. A type, not an interface, so that it is a Convex value. */
export type StepError = {
  message: string;
  kind: ErrorKind;
  /** Set if it timed out before it began: it has waited longer than its `waitAtMost`. */
  reason?: "waiting" | undefined;
  /** What it waited for then: `for the limit "tenant" of "acme"`, or `for a slot of the pool`. */
  waitedFor?: string | undefined;
  /** The `data` of a `ConvexError`; absent if over 64 KiB, or nested more than 6 deep. */
  data?: Value | undefined;
  /** The workflow of the run that failed. */
  workflow: string;
  /** The node that failed; empty if the run was canceled or timed out as a whole. */
  node: string;
  /** The attempt that failed last, from 1. */
  attempt: number;
  /** The index or the key of a failed child among the children. */
  key?: string | undefined;
  /** The failed child's error, or the step's if its `recover` threw. Up to 6. */
  cause?: StepError | undefined;
  /** The errors of the cases of a race, which have all failed, by case. */
  causes?: { [Case in string]: StepError } | undefined;
  /** The first 20 errors of a run's compensations that failed for good. */
  compensationErrors?: StepError[] | undefined;
};
