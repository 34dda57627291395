import { install } from "@sinonjs/fake-timers";
import { spanLongTimers, type TimerHost } from "./long-timers.js";

/** Virtual time, as far as the driver needs it. */
export interface Timers {
  /** ms since the epoch, by the virtual clock. */
  now(): number;
  /** Moves the clock to the timer that is due next and fires it. False when there is none. */
  nextTimer(): boolean;
}

/** The part of vitest's `vi` that is used; `vi.useFakeTimers()` must have been called. */
interface VitestClock {
  getTimerCount(): number;
  advanceTimersToNextTimer(): unknown;
}

/**
 * The fake timers of vitest. Its `advanceTimersToNextTimer` fires all the timers that are due at
 * one instant together. With `installTimers`, which works in vitest as well, they are fired one by
 * one, each when the one before it has settled.
 *
 * @example
 * vi.useFakeTimers();
 * await counter.drive({ timers: vitestTimers(vi) });
 */
export function vitestTimers(vi: VitestClock): Timers {
  return {
    now: () => Date.now(),
    nextTimer() {
      if (vi.getTimerCount() === 0) return false;
      vi.advanceTimersToNextTimer();
      return true;
    },
  };
}

export interface InstalledTimers extends Timers {
  /** When the next timer is due, in ms since the epoch; undefined if there is none. */
  nextAt(): number | undefined;
  /** Gives the process its real clock back. */
  uninstall(): void;
}

/**
 * Fake timers for plain Node: replaces `Date`, `performance`, timeouts and intervals of the
 * process. What moves by itself (promises, microtasks, immediates, input and output) stays real. A
 * timeout may be of any length.
 *
 * @param now Where the virtual clock starts, in ms since the epoch.
 */
export function installTimers({ now = Date.now() }: { now?: number } = {}): InstalledTimers {
  const clock = install({
    now,
    toFake: ["Date", "performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"],
  });
  // Its types say more of a timer than is asked here.
  spanLongTimers(clock as unknown as TimerHost);
  return {
    now: () => clock.now,
    nextTimer() {
      if (clock.countTimers() === 0) return false;
      clock.next();
      return true;
    },
    nextAt() {
      // Not in its types: there is no other way to ask without firing it.
      const { timers } = clock as unknown as { timers?: Map<number, { callAt: number }> };
      let next: number | undefined;
      for (const { callAt } of timers?.values() ?? []) next = Math.min(callAt, next ?? callAt);
      return next;
    },
    uninstall: () => clock.uninstall(),
  };
}
