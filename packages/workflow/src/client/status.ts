import type { WorkflowOutput } from "../definition/definition.js";
import type { StepError } from "../definition/step-error.js";
import type { EventName } from "./events.js";
import type { StagePath } from "./nodes.js";

/** What a parent's children do. */
export interface ChildCounts {
  total: number;
  /** Completed. */
  done: number;
  /** Failed, timed out, or canceled. */
  failed: number;
  running: number;
  /** More than 500 have ended badly, or run while as many are done, and not all were counted: the numbers are about right. */
  isEstimate?: boolean;
}

/** What kind of a stage it is. `entry`: a mutation, a query, or any other, that the run has come to and will go on with at once. */
export type NodeKind =
  "entry" | "action" | "mutation" | "query" | "children" | "sleep" | "event" | "branch" | "loop";

/** A node that a run is at. @typeParam Workflow one of `typeof workflows`, of which the run is. */
export interface ActiveNode<Workflow = unknown> {
  /**
   * The node, by its path: `save`, `agent.think`; of a parent `chapters.output`, `chapters`, `chapters.finalize`; `charge.compensate`. Of a run
   * whose node was removed, the name that it had.
   */
  node: StagePath<Workflow>;
  kind: NodeKind;
  /** Which passes of the loops around it, outermost first, from 1. Absent outside loops. */
  pass?: number[];
  /** `pending`: waits for a slot, or for its time. `running`. `waiting`: for its next attempt, the end of a sleep, an event, its children. */
  state: "pending" | "running" | "waiting";
  /** Since when it was reached, in ms since the epoch. */
  since: number;
  /** Which attempt it is at, from 1. */
  attempt: number;
  /** Until when it waits, in ms since the epoch: for its next attempt, a sleep, an event with a timeout, the start of the run. */
  dueAt?: number;
  /** Of a parent with a `timeout`: when its time is over, in ms since the epoch. It goes on counting while the run is paused. */
  timesOutAt?: number;
  /** Of an event: the names that it waits for. */
  events?: EventName<Workflow>[];
  /** Of a loop: which pass it is at, from 1. */
  iteration?: number;
  /** Of a branch: the key of its case. */
  chosen?: string;
  /** Of a parent and a `.child`. */
  children?: ChildCounts;
  /** The errors of its attempts so far; of very many the first and the newest. */
  errors: StepError[];
  /** Its run was paused, or one above: nothing goes on with it, though an action that runs ends. */
  paused?: boolean;
  /** Nothing will go on with it by itself: its scheduled function was canceled, or is gone. `repair` mends it. */
  stalled?: boolean;
}

/** The states of a run. */
export type RunState =
  "pending" | "running" | "completed" | "compensating" | "failed" | "canceled" | "timedOut";

interface Common<Workflow> {
  runId: string;
  workflow: string;
  /** The key that it was started with. */
  key?: string;
  /** The hash of the workflow's plan that it started under, … */
  plan?: string;
  /** … and whether the workflow has another one by now. */
  isOutdated: boolean;
  /** How often it was restarted, plus one. */
  generation: number;
  /** Of a child: the run whose child it is. */
  parentRunId?: string;
  /** In ms since the epoch. */
  startedAt: number;
  active: ActiveNode<Workflow>[];
  /** Of a workflow with a `timeout`, while it goes on: when its time is over, in ms since the epoch. It goes on counting while it is paused. */
  timesOutAt?: number;
  /** It was paused, or is in part. */
  paused: boolean;
  /** One of its nodes is. */
  stalled: boolean;
}

interface Ended {
  endedAt: number;
  /** From when on it may be removed, in ms since the epoch. Absent without a retention. */
  expiresAt?: number;
  /** Why its `onComplete` has failed. */
  onCompleteError?: string;
}

/** What `workflow.status` tells of a run of the workflow. Told apart by `state`. */
export type Status<Workflow> = Common<Workflow> &
  (
    | {
        /** `pending`: it begins later, or is about to be restarted. */ state:
          "pending" | "running";
      }
    | { /** What it has done is being undone. */ state: "compensating"; error: StepError }
    | ({ state: "completed"; output: OutputOf<Workflow> } & Ended)
    | ({ state: "failed" | "canceled" | "timedOut"; error: StepError } & Ended)
  );

/** A workflow's output, found by way of the definition only when it is asked for. */
export type OutputOf<Workflow> = Workflow extends { readonly "~definition": infer Definition }
  ? WorkflowOutput<Definition>
  : unknown;
