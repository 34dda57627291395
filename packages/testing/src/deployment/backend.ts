import type { DeploymentClass } from "./classes.js";
import type { Clock } from "./clock.js";
import type { Committer, Conflict } from "./committer.js";
import type { Faults } from "./faults.js";
import type { Functions } from "./functions.js";
import type { Frame } from "./isolate.js";
import type { FunctionPath, Job } from "./job.js";
import type { Permits } from "./permits.js";
import type { Draws } from "./random.js";
import type { Store } from "./store.js";
import type { Snapshot, Transaction } from "./transaction.js";

/** What the parts of a deployment know of each other. */
export interface Backend {
  readonly of: DeploymentClass;
  readonly clock: Clock;
  readonly draws: Draws;
  readonly store: Store;
  readonly functions: Functions;
  readonly committer: Committer;
  readonly faults: Faults;
  readonly queryPermits: Permits;
  readonly mutationPermits: Permits;
  readonly actionPermits: Permits;
  /** The time that functions see, in ms since the epoch. */
  wall(): number;
  begin(): Transaction;
  staleSnapshot(of: Transaction): Snapshot;
  /** Runs a function's code. In a transaction that takes no time. */
  invoke(frame: Frame, args: string): Promise<string>;
  frameOf(
    path: FunctionPath,
    type: Frame["type"],
    transaction: Transaction | undefined,
    job: Job | undefined,
  ): Frame;
  /** Tells whoever listens what happens. */
  told(event: Happening): void;
}

/** Something that happened to a call of a function. */
export type Happening =
  | {
      /** A transaction has run its code; a mutation's may still conflict. */
      readonly what: "ran";
      readonly path: FunctionPath;
      readonly transaction: Transaction;
    }
  | { readonly what: "committed"; readonly path: FunctionPath; readonly attempts: number }
  | { readonly what: "conflict"; readonly path: FunctionPath; readonly with: Conflict }
  /** Its attempts are used up. */
  | { readonly what: "exhausted"; readonly path: FunctionPath; readonly attempts: number }
  | { readonly what: "failed"; readonly path: FunctionPath; readonly error: string }
  /** A scheduled function was started, `lagMs` ms after it was due. */
  | { readonly what: "started"; readonly path: FunctionPath; readonly lagMs: number }
  /** An action's code begins or has ended, however. */
  | { readonly what: "began" | "ended"; readonly path: FunctionPath }
  | { readonly what: "refused"; readonly path: FunctionPath; readonly why: string }
  | { readonly what: "crash" | "fault"; readonly note: string };
