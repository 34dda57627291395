/*
 * What the workflow component's query `views.tree` returns. Written out here, because the compiler does
 * not depend on the run time: it drives whichever version the app has installed.
 */

export interface StepError {
  readonly message: string;
  readonly kind: string;
  readonly data?: unknown;
  readonly workflow: string;
  readonly node: string;
  readonly attempt: number;
  /** Of a failed child: which one. */
  readonly key?: string;
  readonly cause?: StepError;
}

export interface TreeStep {
  readonly stage: string;
  readonly kind: string;
  readonly state: string;
  readonly attempt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  readonly dueAt?: number;
  readonly error?: StepError;
  /** Of the attempts that failed, in their order. */
  readonly errors?: readonly StepError[];
}

export interface TreeRun {
  readonly runId: string;
  readonly parentRunId?: string;
  readonly parentStage?: string;
  readonly key?: string;
  readonly index?: number;
  readonly workflow: string;
  readonly state: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly error?: StepError;
  readonly steps: readonly TreeStep[];
}

/** A run and those below it, oldest first. */
export interface RunTree {
  readonly runs: readonly TreeRun[];
  readonly truncated: boolean;
}

/** Whether a state is one that a run or step record does not leave any more. */
export function hasEnded(state: string): boolean {
  return !ACTIVE.has(state);
}
const ACTIVE = new Set(["pending", "running", "waiting", "compensating"]);
