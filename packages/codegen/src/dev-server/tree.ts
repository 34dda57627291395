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
  /** The passes of the loops around it, outermost first, each from 1. */
  readonly pass?: readonly number[];
  readonly state: string;
  readonly attempt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** When it goes on by itself: the end of a sleep, of the wait for an event, of a backoff. */
  readonly dueAt?: number;
  /** The names of the events it waits for. */
  readonly events?: readonly string[];
  /** Of a loop: which pass it is at. */
  readonly iteration?: number;
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

/** Which of a run's steps it is: of a body there is one for each pass. */
export function stepKey({ stage, pass = [] }: TreeStep): string {
  return [stage, ...pass].join(" ");
}

/** Whether a state is one that a run or step record does not leave any more. */
export function hasEnded(state: string): boolean {
  return !ACTIVE.has(state);
}
const ACTIVE = new Set(["pending", "running", "waiting", "compensating"]);
