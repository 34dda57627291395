import type { Span } from "./random.js";

const MIB = 2 ** 20;

/**
 * What differs between deployments, or is not known about them. Numbers in brackets are facts of
 * docs/deployment-model.md.
 */
export interface DeploymentClass {
  /** The name that `ctx.meta.getDeploymentMetadata()` gives. */
  readonly name: string;
  /** [33] Scheduled functions that run at once. */
  readonly scheduledAtOnce: number;
  /** [47] */
  readonly queryPermits: number;
  readonly mutationPermits: number;
  readonly actionPermits: number;
  /** [48] */
  readonly permitWaitMs: number;
  readonly actionPermitWaitMs: number;
  /** [25] Written in the last second, after which no mutation begins. */
  readonly bytesPerSecond: number;
  /** [25] What an entry of an index counts. */
  readonly indexEntryBytes: number;
  /** From the start of its code to its commit. */
  readonly mutationMs: Span;
  readonly queryMs: Span;
  /** [31] What each nested call adds to that. */
  readonly nestedCallMs: number;
  /** [17] From a commit's validation to when others see it. */
  readonly persistMs: Span;
  /** [33] From what wakes the scheduler to its round. */
  readonly roundMs: Span;
  /** How long an action takes to start. */
  readonly actionStartMs: Span;
  /** How long a call by an action takes, there and back. */
  readonly callMs: number;
  /** [21] */
  readonly repetitions: number;
  readonly repeatMs: number;
  readonly mostRepeatMs: number;
  /** [23] */
  readonly scheduledRepeatMs: number;
  readonly mostScheduledRepeatMs: number;
  /** [24] */
  readonly systemRepetitions: number;
  readonly systemRepeatMs: number;
  readonly mostSystemRepeatMs: number;
  /** [38] */
  readonly systemErrorMs: number;
  readonly mostSystemErrorMs: number;
  /** [51] */
  readonly actionLimitMs: number;
  /** [3] How long a snapshot can be read after its successor. */
  readonly snapshotMs: number;
  /** [18] How long commits can be checked against. */
  readonly logMs: number;
  /** [45] */
  readonly finishedJobsMs: number;
  /** [40] From a crash until all is up again. */
  readonly restartMs: number;
  /**
   * [43] Says whether a mutation that cancels its own job fails, as it does from convex 1.50 on.
   * Before, the cancel was ignored.
   */
  readonly selfCancelFails: boolean;
}

export const S16: DeploymentClass = {
  name: "s16",
  scheduledAtOnce: 8,
  queryPermits: 16,
  mutationPermits: 16,
  actionPermits: 64,
  permitWaitMs: 5_000,
  actionPermitWaitMs: 10_000,
  bytesPerSecond: 4 * MIB,
  indexEntryBytes: 60,
  mutationMs: [10, 30],
  queryMs: [5, 15],
  nestedCallMs: 0,
  persistMs: [4, 12],
  roundMs: [1, 3],
  actionStartMs: [5, 15],
  callMs: 1,
  repetitions: 4,
  repeatMs: 100,
  mostRepeatMs: 2_000,
  scheduledRepeatMs: 100,
  mostScheduledRepeatMs: 60_000,
  systemRepetitions: 2,
  systemRepeatMs: 10,
  mostSystemRepeatMs: 2_000,
  systemErrorMs: 500,
  mostSystemErrorMs: 7_200_000,
  actionLimitMs: 30 * 60_000,
  snapshotMs: 10_000,
  logMs: 30_000,
  finishedJobsMs: 7 * 24 * 3_600_000,
  restartMs: 2_000,
  selfCancelFails: true,
};

export const S256: DeploymentClass = {
  ...S16,
  name: "s256",
  scheduledAtOnce: 256,
  queryPermits: 256,
  mutationPermits: 256,
  actionPermits: 512,
  bytesPerSecond: 8 * MIB,
};

export const D1024: DeploymentClass = {
  ...S256,
  name: "d1024",
  scheduledAtOnce: 512,
  queryPermits: 1_024,
  mutationPermits: 512,
  actionPermits: 1_024,
  bytesPerSecond: 32 * MIB,
};

export const CLASSES = { s16: S16, s256: S256, d1024: D1024 } as const;
