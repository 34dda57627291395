/** What `setTimeout` waits at most, in ms: 24.8 days. Asked for more, it fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** Whose timers are meant: a fake clock, or the global object. */
export interface TimerHost {
  setTimeout: (fire: (...args: unknown[]) => void, ms?: number, ...args: unknown[]) => unknown;
  clearTimeout: (timer: unknown) => void;
}

/**
 * Has timers last as long as they are asked to, by setting several in a row. convex-test schedules
 * functions by `setTimeout`; those of a deployment may well be due in a year.
 *
 * @returns a function that takes it back
 */
export function spanLongTimers(host: TimerHost): () => void {
  const { setTimeout: set, clearTimeout: clear } = host;
  /** By the first timer of a row, the one that waits now. */
  const rows = new Map<unknown, unknown>();
  const long = (fire: (...args: unknown[]) => void, ms: number, ...args: unknown[]): unknown => {
    let left = ms;
    const wait = (): unknown => {
      const part = Math.min(left, LONGEST_MS);
      left -= part;
      return set(() => {
        if (left > 0) return void rows.set(first, wait());
        rows.delete(first);
        fire(...args);
      }, part);
    };
    const first = wait();
    return first;
  };
  const setLong: TimerHost["setTimeout"] = (fire, ms = 0, ...args) =>
    ms > LONGEST_MS && Number.isFinite(ms) ? long(fire, ms, ...args) : set(fire, ms, ...args);
  const clearLong: TimerHost["clearTimeout"] = (timer) => {
    clear(rows.get(timer) ?? timer);
    rows.delete(timer);
  };
  // A fake clock keeps in its functions' properties what it has to do when it is uninstalled.
  host.setTimeout = Object.assign(setLong, set);
  host.clearTimeout = Object.assign(clearLong, clear);
  return () => void Object.assign(host, { setTimeout: set, clearTimeout: clear });
}
