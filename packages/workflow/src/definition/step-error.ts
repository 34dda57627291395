import type { Value } from "convex/values";

/** The kind of a failure. Errors are told apart by this, never by class. */
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

/** Why a step, or a run, failed. A type and no interface, so that it is a Convex value. */
export type StepError = {
  message: string;
  kind: ErrorKind;
  /** The `data` of a `ConvexError`; absent if over 64 KiB, or nested more than 6 deep. */
  data?: Value | undefined;
  /** The workflow of the run that failed. */
  workflow: string;
  /** The node that failed; empty if the run was canceled or timed out as a whole. */
  node: string;
  /** The attempt that failed last, from 1. */
  attempt: number;
  /** Of a failed child: its index or its key in what `children` gave. */
  key?: string | undefined;
  /** The failed child's error, or the step's if its `recover` threw. Up to 6. */
  cause?: StepError | undefined;
  /** Of a run: the first 20 errors of compensations that failed for good. */
  compensationErrors?: StepError[] | undefined;
};
