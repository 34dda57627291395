/** What `setTimeout` waits at most, in ms: 24.8 days. Asked for more, it fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

type Fire = (...args: unknown[]) => void;

/** The part of a fake clock that is used. */
interface FakeClock {
  setTimeout: (fire: Fire, ms?: number, ...args: unknown[]) => unknown;
  clearTimeout: (timer: unknown) => void;
}

const spanned = new WeakSet<FakeClock>();

/**
 * Lets the timers of vitest's fake clock last as long as asked, by setting several in a row:
 * convex-test schedules functions with `setTimeout`. Does nothing if time is real, or it was done
 * for this clock.
 */
export function spanLongTimers(): void {
  // Fake timers tell their clock.
  const { clock } = globalThis.setTimeout as { clock?: FakeClock };
  if (clock === undefined || spanned.has(clock)) return;
  spanned.add(clock);
  const { setTimeout: set, clearTimeout: clear } = clock;
  /** By the first timer of a row, the one that waits now. */
  const rows = new Map<unknown, unknown>();
  const long = (fire: Fire, ms: number, ...args: unknown[]): unknown => {
    let remaining = ms;
    const wait = (): unknown => {
      const part = Math.min(remaining, LONGEST_MS);
      remaining -= part;
      return set(() => {
        if (remaining > 0) return void rows.set(first, wait());
        rows.delete(first);
        fire(...args);
      }, part);
    };
    const first = wait();
    return first;
  };
  const setLong: FakeClock["setTimeout"] = (fire, ms = 0, ...args) =>
    ms > LONGEST_MS && Number.isFinite(ms) ? long(fire, ms, ...args) : set(fire, ms, ...args);
  const clearLong: FakeClock["clearTimeout"] = (timer) => {
    clear(rows.get(timer) ?? timer);
    rows.delete(timer);
  };
  // The clock keeps in its functions' properties what it does when it is uninstalled.
  clock.setTimeout = Object.assign(setLong, set);
  clock.clearTimeout = Object.assign(clearLong, clear);
}
