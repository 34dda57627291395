import type { Value } from "convex/values";

/** What kind of failure it was. Errors are told apart by this, never by class. */
export type ErrorKind =
  | "thrown"
  | "nonRetryable"
  | "timedOut"
  | "canceled"
  | "childFailed"
  | "invalidInput"
  | "invalidOutput"
  | "tooLarge"
  | "lost"
  | "removedNode";

/** Why a step, and with it perhaps a run, failed. */
export interface StepError {
  message: string;
  kind: ErrorKind;
  /** The `data` of a `ConvexError` that was thrown; else absent. */
  data?: Value;
  /** The workflow and the node that failed. */
  workflow: string;
  node: string;
  /** The attempt that failed last, from 1. */
  attempt: number;
  /** Of a failed child: its index in the list, or its key in the record, that `children` gave. */
  key?: string;
  /** Of kind `childFailed`: the child's own error. */
  cause?: StepError;
}
