import { messageOf } from "./result.js";

/** An action ends at the latest 10 minutes after its begin: a minute is left to schedule. */
const REPEATS_MS = 9 * 60_000;
/** Convex has then repeated the call for about a second … */
const FIRST_PAUSE_MS = 500;
/** … and some calls may be refused, but not all: the watchdog gives it time for ten or more. */
const LONGEST_PAUSE_MS = 2_000;
/** An action that has run so long may have scheduled its report … */
export const SCHEDULES_MS = REPEATS_MS - LONGEST_PAUSE_MS;
/** … which Convex repeats after 2 hours at most: so long it is waited for, and a little more. */
export const LATER_MS = 130 * 60_000;
/** Writes may be refused for so long. Sweeps may come late for ever, and no slot is held so long. */
export const HELD_UP_MS = 24 * 60 * 60_000;

/** How a deployment refuses a call before its code runs. */
const REFUSED = /\btoo ?many ?(?:writes|concurrent ?requests)/i;
/** What code throws, what does not fit, and what is not there: the same call fails again. */
const PERMANENT =
  /^Uncaught |ValidationError|Validator error|\b(?:is|are) too (?:large|long|nested)|\bToo much |too many (?:bytes|fields)|allows at most|^Could not find|not a supported Convex type/i;

/** What code throws has another beginning. */
const NOT_BEGUN = /^too ?many ?concurrent ?requests/i;

/**
 * Calls an action. One that finds no permit within seconds has not begun: then it is called again.
 */
export async function untilBegun<Result>(call: () => Promise<Result>): Promise<Result> {
  const until = Date.now() + REPEATS_MS;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!NOT_BEGUN.test(messageOf(error)) || Date.now() > until) throw error;
    }
    await pause(FIRST_PAUSE_MS);
  }
}

/** Pauses for a random time: works that were refused together must not come back together. */
async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms * (0.5 + Math.random())));
}

/**
 * Reports from an action what it has done. A way that fails gives way to the next; what passes by
 * is waited for. A success is never given up for that.
 * @param since when the action began.
 * @param later schedules the report: that is not throttled, and is repeated without end.
 * @throws if the last way fails for good.
 */
export async function reportBy(
  ways: readonly (() => Promise<unknown>)[],
  since: number,
  later: () => Promise<unknown>,
): Promise<void> {
  let left = ways;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      await left[0]!();
      return;
    } catch (error) {
      const message = messageOf(error);
      const isLast = left.length === 1;
      if (isLast && PERMANENT.test(message)) throw error;
      if (!isLast && !REFUSED.test(message)) {
        left = left.slice(1);
        continue;
      }
    }
    if (Date.now() + pauseMs > since + REPEATS_MS) return void (await later());
    await pause(pauseMs);
  }
}
