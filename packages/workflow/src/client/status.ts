import type { StepError, TagValue } from "../definition/context.js";
import type { WorkflowOutput, WorkflowScope } from "../definition/definition.js";
import type { EventName } from "./events.js";
import type { StagePath } from "./nodes.js";

/** The states of a parent's children. */
export interface ChildCounts {
  total: number;
  /** Completed. */
  done: number;
  /** Failed or timed out. */
  failed: number;
  /** Canceled: alone, or because their parent or the run above has ended. */
  canceled: number;
  running: number;
  /** There are too many (over 500) to count them all: the numbers are approximate. */
  isEstimate?: boolean;
}

/**
 * The kind of a stage. `entry`: a stage that the run is about to enter. `turn`: one that it enters
 * when the run before it that has the same key has ended. `collect`: when no more starts come.
 */
export type NodeKind =
  | (
      | "entry"
      | "turn"
      | "collect"
      | "action"
      | "mutation"
      | "query"
      | "children"
      | "sleep"
      | "event"
      | "branch"
      | "loop"
    )
  | "end";

/** A failed attempt: when it began and ended, and when the next was due, in ms since the epoch. */
export interface FailedAttempt {
  attempt: number;
  beganAt?: number;
  failedAt: number;
  nextAt: number;
  /** The limit that it held until then, by a `RetryAfter`. The retry policy does not count it. */
  holds?: string;
  /** How long it waited for a slot, and how long it ran: only in a timeline. */
  queuedMs?: number;
  durationMs?: number;
}

/** What a run has reached: one stage, in one iteration of the loops around it. */
export interface Reached<Workflow> {
  kind: NodeKind;
  /** The iterations of the loops around it, outermost first, from 1. Absent outside loops. */
  iterations?: number[];
  /** The current or the last attempt, from 1. */
  attempt: number;
  /** How many of its attempts have held a limit by a `RetryAfter`, which no retry policy counts. */
  held?: number;
  /** The limit that its last attempt holds, while it waits for the next one. Until `dueAt`. */
  holds?: string;
  /**
   * Since when an action's attempt could begin, and when it did, in ms since the epoch. While it
   * waits for a slot it has not begun. One that runs, or was lost, began when it got its slot.
   */
  queuedAt?: number;
  beganAt?: number;
  /**
   * The limit that holds an action back, how many run and how many may. `place` is its place among
   * actions with the same limits and keys: 201 if more than 200 come before it. With `fairness`,
   * its key, it is the place among actions of that key, which take turns with others. With
   * `nextAt`, it waits for the limit's rate, which lets the next one start then; `running` is how
   * many of the burst are used up. With `paused`, the limit starts nothing: `by` says who paused
   * it, and `until` for how long, in ms since the epoch. A `RetryAfter` that holds the limit is
   * such a pause. `until`: when its `waitAtMost` is over.
   */
  waitsFor?: {
    limit: string;
    key?: string;
    running: number;
    atMost: number;
    place: number;
    fairness?: string;
    nextAt?: number;
    paused?: { by?: string; until?: number };
    until?: number;
  };
  /** Until when it waits, in ms since the epoch. */
  dueAt?: number;
  /** The names of the events that it waits for. */
  events?: EventName<Workflow>[];
  /** The current or the last iteration of a loop, from 1. */
  iteration?: number;
  /** The key of the case that a branch has chosen. */
  chosen?: string;
  /** Counts the children of a parent or a `.child`. */
  children?: ChildCounts;
  /** When its newest failed attempts ended, oldest first; absent if it was not tried again. */
  retries?: FailedAttempt[];
  /** The errors of its attempts so far; if there are very many, the first and the newest. */
  errors: StepError[];
}

/** A node that a run is at. @typeParam Workflow the run's workflow: one of `typeof workflows`. */
export interface ActiveNode<Workflow = unknown> extends Reached<Workflow> {
  /**
   * The path of the node, such as `save`, `agent.think`, `chapters.finalize` or
   * `charge.compensate`. If the node was removed, the name that it had.
   */
  node: StagePath<Workflow>;
  /** `pending`: waits for a slot. `waiting`: for an attempt, a time, an event, children. */
  state: "pending" | "running" | "waiting";
  /** When it was reached, in ms since the epoch. */
  since: number;
  /** When the `timeout` of a parent is over, in ms since the epoch. */
  timesOutAt?: number;
  /** Its run, or a run above, is paused: a running action ends, and nothing new starts. */
  paused?: boolean;
  /** Its scheduled function was lost, so it does not go on by itself. Call `repair`. */
  stalled?: boolean;
  /** Absent for a node that only holds others: a parent, a loop or a branch. */
  doing?: Doing;
}

/**
 * What a run does at a node. `queued`: an action waits for a slot of the pool. `retrying`: it waits
 * for its next attempt. `waitingForTurn`: the run begins when another with its key has ended.
 * `collecting`: it begins when no more starts come to it.
 */
export type Doing =
  | ("stalled" | "running" | "queued" | "retrying" | "waitingForEvent" | "sleeping")
  | ("collecting" | "waitingForTurn");

/** The states of a run. */
export type RunState =
  "pending" | "running" | "completed" | "compensating" | "failed" | "canceled" | "timedOut";

/** What every view returns for a run. */
export interface RunFacts {
  runId: string;
  workflow: string;
  /** The key that it was started with. */
  key?: string;
  /** The hash of the workflow's plan that it started under. */
  plan?: string;
  /** How often it was restarted, plus one. */
  generation: number;
  /** The parent run of a child. */
  parentRunId?: string;
  /**
   * The part of its workflow that a branch of a `.parallel`, or an item of an `.each`, goes
   * through, such as `facts.thumb`. It has storage names.
   */
  within?: string;
  /**
   * When it was created and when it began, in ms since the epoch: the same until it begins. One
   * that has never begun has the time of its end.
   */
  createdAt: number;
  startedAt: number;
}

/** What a run that waits for its turn waits for, by the `one` of its workflow. */
export interface Waiting {
  key: string;
  /** The run that has the key now. */
  runId?: string;
  /**
   * Its place among those that wait, from 1; those of paused runs are left out. 101 means 101 or
   * higher.
   */
  place: number;
}

/** What a run has collected, by the `collect` of its workflow. */
export interface Collecting {
  key: string;
  /** How many starts it has. 101 means 101 or more, if its `collect` has no `size`. */
  items: number;
  /** When it begins at the latest, in ms since the epoch. */
  until: number;
}

interface Common<Workflow> extends RunFacts {
  /** What the run was started with, as its schema has parsed it. Absent if it is not shown. */
  input?: InputOf<Workflow>;
  tags?: Record<string, TagValue>;
  /** Absent unless it waits for its turn. */
  waitsFor?: Waiting;
  /** Absent unless it collects starts. It has no `input` yet. */
  collecting?: Collecting;
  /** Says whether the workflow has another plan by now. */
  isOutdated: boolean;
  active: ActiveNode<Workflow>[];
  /** When the workflow's `timeout` is over, in ms since the epoch. Absent once the run ended. */
  timesOutAt?: number;
  /** It was paused, or a part of it was. */
  paused: boolean;
  /** One of its nodes is stalled. */
  stalled: boolean;
  /** What was done to it by hand, oldest first; the newest 20. `from`: of a restart, its node. */
  steered?: { what: "paused" | "resumed" | "canceled" | "restarted"; at: number; from?: string }[];
  /** The events that came early and wait for their nodes; after the end, those never taken. */
  kept: KeptEvents<Workflow>[];
}

/** Events of one name that no node has taken (yet). */
export interface KeptEvents<Workflow> {
  name: EventName<Workflow>;
  /** At most 100 events of a run are counted. */
  count: number;
  /** Since when the first of them is kept, in ms since the epoch. */
  since: number;
}

interface Ended {
  endedAt: number;
  /** When it may be removed, in ms since the epoch. Absent without a retention. */
  expiresAt?: number;
  /** Why its `onEnd` has failed. */
  onEndError?: string;
  /** Why its `onComplete` has failed. */
  onCompleteError?: string;
}

/**
 * What `workflow.status` returns; `state` tells its variants apart. `pending`: the run begins
 * later, or is about to be restarted. `compensating`: the run is being undone.
 */
export type Status<Workflow> = Common<Workflow> &
  (
    | { state: "pending" | "running" }
    | { state: "compensating"; error: StepError }
    /** `isSensitive`: the output is that of a `sensitive` node, and absent. */
    | ({ state: "completed"; output: OutputOf<Workflow>; isSensitive?: boolean } & Ended)
    | ({ state: "failed" | "canceled" | "timedOut"; error: StepError } & Ended)
  );

/** What handlers of a workflow see as `input`. */
export type InputOf<Workflow> = Workflow extends { readonly "~definition": infer Definition }
  ? WorkflowScope<Definition> extends { readonly input: infer Input }
    ? Input
    : unknown
  : unknown;

/** A workflow's output, looked up through the definition only when it is asked for. */
export type OutputOf<Workflow> = Workflow extends { readonly "~definition": infer Definition }
  ? WorkflowOutput<Definition>
  : unknown;
