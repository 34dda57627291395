import type { Doc } from "../../packages/workflow/test/component.js";
import type { Job } from "../edits/deployed.js";
import type { Line } from "./behaviour.js";
import type { Workflows } from "./definition.js";

export type RunRow = Doc<"runs">;
export type StepRow = Doc<"steps">;

/** What was seen of a run of the top level while it was steered. */
export interface Steered {
  readonly workflow: string;
  /** How its generations ended, but for the last: seen when it was restarted. */
  readonly ends: string[];
  /** Its `onComplete` throws. */
  refuses: boolean;
  /** It was cleaned up: its last end is among `ends` too. */
  isGone: boolean;
}

/** A time in which nothing of a run was to begin: from a line of the log, up to one. */
export interface Still {
  readonly why: "canceled" | "paused" | "gone";
  readonly run: string;
  readonly generation: number;
  /** The run, and those that were under it. */
  readonly family: ReadonlySet<string>;
  readonly from: number;
  to: number;
}

/** An event that was sent, and not refused. */
export interface Sent {
  readonly run: string;
  readonly generation: number;
  readonly value: string;
  readonly answer: "taken" | "kept";
}

/** An app at rest, and what was seen on the way. */
export interface Rest {
  readonly workflows: Workflows;
  /** Runs may have begun with other definitions. */
  readonly isEdited?: boolean;
  readonly runs: readonly RunRow[];
  /** In the order in which they were inserted. */
  readonly steps: readonly StepRow[];
  readonly undos: readonly Pick<Doc<"undos">, "run">[];
  readonly inbox: readonly Pick<Doc<"inbox">, "run" | "value">[];
  /** By table, how many rows there are that only something has which is under way. */
  readonly underWay: Readonly<Record<string, number>>;
  readonly jobs: readonly Job[];
  /** Something was made to fail: then scheduled functions do too. */
  readonly hasFaults: boolean;
  /** What a deployment would have refused. */
  readonly violations: readonly string[];
  readonly log: readonly Line[];
  /** What `onComplete` was called with, in order, and the state of the run that it saw. */
  readonly completions: readonly {
    readonly runId: string;
    readonly state: string;
    readonly seen: string | undefined;
  }[];
  readonly steered: ReadonlyMap<string, Steered>;
  readonly stills: readonly Still[];
  readonly sent: readonly Sent[];
}

export interface Invariant {
  readonly says: string;
  /** @returns what breaks it. */
  broken(rest: Rest): string[];
}
