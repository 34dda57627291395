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

/** Why a step, and with it perhaps a run, failed. A type and no interface, so that it is a Convex value: a step may return it. */
export type StepError = {
  message: string;
  kind: ErrorKind;
  /** The `data` of a `ConvexError` that was thrown; absent of others, and where it takes more than 64 KiB, is nested more than 6 deep, or is no value that can be stored. */
  data?: Value | undefined;
  /** The workflow of the run that failed. */
  workflow: string;
  /** The node that failed; empty where the run was canceled or timed out as a whole. */
  node: string;
  /** The attempt that failed last, from 1. */
  attempt: number;
  /** Of a failed child: its index in the list, or its key in the record, that `children` gave. */
  key?: string | undefined;
  /**
   * Of kind `childFailed`: the child's own error. Of a `recover` that threw: the step's error, which it was asked about. Up to 6 stand inside
   * each other; of a longer chain, the innermost is the last.
   */
  cause?: StepError | undefined;
  /**
   * Of a run: the errors of the compensations that failed for good, its own and those of the runs below it, the first 20. Absent if none did;
   * what is a `cause` has none.
   */
  compensationErrors?: StepError[] | undefined;
};
