import {
  type ComponentFunction,
  isOf,
  type TableNames,
} from "../../packages/workflow/test/component.js";

/** Tables whose rows are there only while something is under way. */
export const UNDER_WAY = [
  "deadlines",
  "childPages",
  "continuations",
  "waiting",
  "largeArgs",
  "setAside",
  "limited",
  "lines",
  "permits",
  "turns",
  "collectors",
  "collected",
] as const satisfies readonly TableNames[];
/**
 * Those besides that have no row when all runs are gone. What stays is the pool's own, and when
 * something expires.
 */
export const OF_RUNS = [
  "runs",
  "contexts",
  "steps",
  "failedChildren",
  "inbox",
  "undos",
  "tags",
  ...UNDER_WAY,
] as const satisfies readonly TableNames[];

const UNWATCHED: readonly ComponentFunction[] = [
  "watchdog:sweep",
  "watchdog:drainQueue",
  "engine/entry:enter",
  "features/deadlines:expire",
  "features/retention:removeExpired",
  "features/retention:removeMore",
];
/**
 * Says whether nobody notices that a function was lost, while all sleeps: a `repair` brings it
 * back.
 */
export const isUnwatched = isOf(...UNWATCHED);
