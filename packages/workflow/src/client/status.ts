import type { WorkflowOutput } from "../definition/definition.js";
import type { StepError } from "../definition/step-error.js";

/** A node that a run is at. */
export interface ActiveNode {
  node: string;
  /** `pending`: waits for a slot. `running`. `waiting`: for its next attempt (see `dueAt`), or for its children. */
  state: "pending" | "running" | "waiting";
  /** Since when it was reached, in ms since the epoch. */
  since: number;
  /** Which attempt it is at, from 1. */
  attempt: number;
  /** When its next attempt is due, in ms since the epoch. */
  dueAt?: number;
  /** Of a parent. */
  children?: { done: number; total: number };
  /** The errors of its attempts so far. */
  errors: StepError[];
}

interface Common {
  runId: string;
  workflow: string;
  /** In ms since the epoch. */
  startedAt: number;
  active: ActiveNode[];
}

/** What `workflow.status` tells of a run of the workflow. Told apart by `state`. */
export type Status<Workflow> = Common &
  (
    | { state: "pending" | "running" }
    | { state: "completed"; endedAt: number; output: OutputOf<Workflow> }
    | { state: "failed" | "canceled"; endedAt: number; error: StepError }
  );

/** A workflow's output, found by way of the definition only when it is asked for. */
export type OutputOf<Workflow> = Workflow extends { readonly "~definition": infer Definition }
  ? WorkflowOutput<Definition>
  : unknown;
