import type { Timers } from "./timers.js";

// Captured at import, before a test installs fake timers and before convex-test replaces globals.
const realSetImmediate = globalThis.setImmediate;
const realSetTimeout = globalThis.setTimeout;
const realNow = performance.now.bind(performance);

/** What knows itself when nothing moves any more. The simulated deployment is one. */
export interface Settling {
  settled(): Promise<void>;
}

/** What the driver watches to see whether anything still moves. A `Counter` is one. */
export interface Activity {
  readonly activity: number;
  readonly running: number;
  /** How many of those that run only wait for others, or for a timer. */
  readonly waiting: number;
  uncounted<Result>(observer: () => Promise<Result>): Promise<Result>;
}

export interface DriveOptions {
  readonly timers: Timers;
  /** Asked after every timer, uncounted. Without it the drive ends when no timer is left. */
  readonly done?: () => boolean | Promise<boolean>;
  /** Throws after that many timers: something schedules itself without end. Default: 200,000. */
  readonly maxTimers?: number;
  /** How many timers run between two calls of `done`, which may be expensive. Default: 1. */
  readonly checkEvery?: number;
  /**
   * Real ms to wait, before the next timer, for functions that are still running without moving.
   * Needed by actions that do real input and output. The default 0 gives them some hundred turns of
   * the event loop, which is enough for promises, blobs and hashes.
   */
  readonly patienceMs?: number;
}

export interface Drive {
  /** Says whether `done` said so; true too without `done`, when no timer was left. */
  readonly done: boolean;
  readonly virtualMs: number;
  readonly wallMs: number;
  readonly timers: number;
}

/**
 * Drives virtual time exactly: lets everything settle, fires the one timer that is due next, lets
 * everything settle, … A function takes no virtual time unless it waits for a timer itself. So the
 * virtual time of a run is what the code under test put into its own schedules.
 */
export async function drive(watched: Activity | Settling, options: DriveOptions): Promise<Drive> {
  const { timers, done, maxTimers = 200_000, checkEvery = 1, patienceMs = 0 } = options;
  const isDone = async () => {
    if (done === undefined) return false;
    return "settled" in watched ? await done() : await watched.uncounted(async () => done());
  };
  const virtualStart = timers.now();
  const wallStart = realNow();
  let fired = 0;
  const result = (finished: boolean): Drive => ({
    done: finished,
    virtualMs: timers.now() - virtualStart,
    wallMs: realNow() - wallStart,
    timers: fired,
  });
  for (;;) {
    if ("settled" in watched) await watched.settled();
    else await settle(watched, patienceMs);
    if (fired % checkEvery === 0 && done !== undefined) {
      if (await isDone()) return result(true);
      // It may have begun something, which has its time before the next timer's.
      if ("settled" in watched) await watched.settled();
    }
    if (fired === maxTimers) {
      const virtualMs = timers.now() - virtualStart;
      throw new Error(`drive: not done after ${maxTimers} timers and ${virtualMs} virtual ms.`);
    }
    if (!timers.nextTimer()) return result(done === undefined || (await isDone()));
    fired += 1;
  }
}

/** Turns of the event loop without movement after which nothing is expected to move any more. */
const QUIET_TURNS = 3;
/** The same while functions are running: they may wait for a thread pool. */
const QUIET_TURNS_WHILE_RUNNING = 100;

/**
 * Waits until nothing moves by itself any more: no function has started or ended for several turns
 * of the real event loop. Functions that still run then wait for a timer.
 */
export async function settle(watched: Activity, patienceMs = 0): Promise<void> {
  let last = watched.activity;
  let quietTurns = 0;
  let quietSince = realNow();
  for (;;) {
    await turn(quietTurns > QUIET_TURNS_WHILE_RUNNING);
    if (watched.activity !== last) {
      last = watched.activity;
      quietTurns = 0;
      quietSince = realNow();
      continue;
    }
    quietTurns += 1;
    if (watched.running === 0 && quietTurns >= QUIET_TURNS) return;
    const patience = watched.running === watched.waiting ? 0 : patienceMs;
    if (quietTurns >= QUIET_TURNS_WHILE_RUNNING && realNow() - quietSince >= patience) return;
  }
}

/** One turn of the real event loop; a slow one leaves the processor to others meanwhile. */
async function turn(slow: boolean): Promise<void> {
  await new Promise<void>((resolve) => {
    if (slow) realSetTimeout(resolve, 1);
    else realSetImmediate(resolve);
  });
}
