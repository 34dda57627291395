/** A year. Nothing waits longer: the scheduler takes times up to five years ahead. */
export const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

/**
 * What is so late, in ms, may have been lost: its job tells. The scheduler is seldom that far
 * behind, and a job is a document more to read.
 */
export const LATE_MS = 15_000;

/** How soon the watchdog checks again, in ms, what goes on in pages of its own. */
export const CHECK_AGAIN_MS = 60_000;
