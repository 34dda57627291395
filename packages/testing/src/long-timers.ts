/** What `setTimeout` waits at most, in ms: 24.8 days. Asked for more, it fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Whose timers are meant: a fake clock, or the global object. */
export interface TimerHost {
  setTimeout: (fire: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => unknown;
  clearTimeout: (timer: unknown) => void;
}

/**
 * Lets timers last as long as they were asked to, by setting several in a row. convex-test
 * schedules functions by `setTimeout`; those of a deployment may well be due in a year.
 *
 * @param isStandby whether the process may end although the timer that is set now still waits.
 * Default: it goes on for each.
 * @returns a function that undoes this, and clears the timers that still wait
 */
export function spanLongTimers(host: TimerHost, isStandby = () => false): () => void {
  const { setTimeout: set, clearTimeout: clear } = host;
  /** By the timer that was given out, the one that waits now: itself, or a later one of its row. */
  const waiting = new Map<unknown, unknown>();
  const setLong: TimerHost["setTimeout"] = (fire, ms = 0, ...args) => {
    let left = Number.isFinite(ms) ? ms : 0;
    const mayStay = isStandby();
    const wait = (): unknown => {
      const part = Math.min(left, LONGEST_MS);
      left -= part;
      const timer = set(() => {
        if (left > 0) return void waiting.set(first, wait());
        waiting.delete(first);
        fire(...args);
      }, part);
      // Only those of Node hold up a process.
      if (mayStay && timer instanceof Object && "unref" in timer) (timer as NodeJS.Timeout).unref();
      return timer;
    };
    const first = wait();
    waiting.set(first, first);
    return first;
  };
  const clearLong: TimerHost["clearTimeout"] = (timer) => {
    clear(waiting.get(timer) ?? timer);
    waiting.delete(timer);
  };
  // A fake clock keeps in its functions' properties what it has to do when it is uninstalled.
  host.setTimeout = Object.assign(setLong, set);
  host.clearTimeout = Object.assign(clearLong, clear);
  return () => {
    Object.assign(host, { setTimeout: set, clearTimeout: clear });
    for (const timer of waiting.values()) clear(timer);
  };
}
