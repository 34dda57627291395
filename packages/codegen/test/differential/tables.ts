/** Tables whose rows are there only while something is under way. */
export const UNDER_WAY = [
  "deadlines",
  "childPages",
  "continuations",
  "waiting",
  "largeArgs",
  "setAside",
];
/** Those besides that have no row when all runs are gone. What stays is the pool's own, and when something expires. */
export const OF_RUNS = [
  "runs",
  "contexts",
  "steps",
  "failedChildren",
  "inbox",
  "undos",
  ...UNDER_WAY,
];

/** What nobody notices that it was lost, while all sleeps: a `repair` brings it back. */
export const UNWATCHED =
  /^(watchdog:(sweep|drainLine)|engine\/entry:enter|features\/(deadlines:expire|retention:))/;
