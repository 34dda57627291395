import { type Duration, durationMs } from "../rules.js";
import { pinToClock } from "./pinned-time.js";

export interface FakeTimers {
  isFakeTimers(): boolean;
  getTimerCount(): number;
  advanceTimersByTime(ms: number): unknown;
  advanceTimersToNextTimer(): unknown;
  dynamicImportSettled(): Promise<void>;
}

/** The part of convex-test's `t` by which scheduled functions are watched. */
export interface Scheduled {
  finishInProgressScheduledFunctions(): Promise<void>;
}

// As they are before a test makes time virtual. Not every environment has `setImmediate`.
const realNow = performance.now.bind(performance);
const realSetTimeout = globalThis.setTimeout;
const realDate = globalThis.Date;
const { setImmediate: realImmediate } = globalThis as {
  setImmediate?: (done: () => void) => unknown;
};
const realTurn = realImmediate ?? ((done: () => void) => realSetTimeout(done, 0));

/** How many turns without input or output mean that functions wait for virtual time. */
const QUIET_TURNS = 100;

/** Says whether the process reads a file or asks for an address. Only Node tells. */
function isReading(): boolean {
  const { process } = globalThis as { process?: { getActiveResourcesInfo?(): string[] } };
  const active = process?.getActiveResourcesInfo?.() ?? ["ReqWrap"];
  return active.some((name) => /Req(?:Callback|Promise|Wrap)$/.test(name));
}

/** How many turns of the event loop functions get to end. */
const TURNS = 50;
/** After this many instants without an end, something must be scheduling itself forever. */
const MAX_INSTANTS = 100_000;

/** Runs an app over convex-test in virtual time. */
export class VirtualTime {
  #loaded: Promise<unknown> | undefined;
  /** How many watched functions wait for a virtual timer, and how many for anything else. */
  readonly #waiting = { forTimer: 0, else: 0 };

  constructor(
    private readonly t: Scheduled,
    private readonly vi: FakeTimers,
    /** Loads what must be there before anything runs. */
    private readonly load: () => Promise<unknown>,
    /** How many real ms functions are waited for that have not ended, before the clock moves on. */
    private readonly patienceMs: number,
    /** Has go on what would in a moment. It returns what that was, and null if nothing would. */
    private readonly goOn: () => Promise<string | null>,
  ) {
    spanLongTimers();
    pinToClock(t);
  }

  /** Has everything there before anything runs. */
  async prepare(): Promise<void> {
    await (this.#loaded ??= this.load());
  }

  /** Runs everything that is due now, and what follows from it at once. The clock stands still. */
  async settle(): Promise<void> {
    this.#check();
    await this.prepare();
    // What is still to do after an attempt cannot be done now.
    for (let before: string | null = null; ;) {
      await this.#settleOnce();
      const toDo = await this.goOn();
      if (toDo === null || toDo === before) return;
      before = toDo;
    }
  }

  async #settleOnce(): Promise<void> {
    for (;;) {
      const haveEnded = this.#watchRunning();
      for (let turns = 0; !haveEnded() && turns < TURNS; turns++) await turn();
      this.#check();
      if (this.#fireDue()) continue;
      if (haveEnded() || !(await this.#moves(haveEnded))) return;
    }
  }

  /** Moves the clock to the next timer, and runs what follows. @returns false if there is none. */
  async #next(): Promise<boolean> {
    this.#check();
    if (this.vi.getTimerCount() === 0) return false;
    this.vi.advanceTimersToNextTimer();
    await this.settle();
    return true;
  }

  async advance(duration: Duration): Promise<void> {
    await this.settle();
    const ms = durationMs(duration);
    const end = Date.now() + ms;
    // So that there is a timer at the end, and the clock does not move beyond it.
    const mark = setTimeout(() => {}, ms);
    await this.until(() => Date.now() >= end);
    clearTimeout(mark);
  }

  /** Moves from timer to timer until a condition holds. @returns whether it does. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
    for (let instants = 0; instants < MAX_INSTANTS; instants++) {
      if (await isSo()) return true;
      if (!(await this.#next())) return false;
    }
    const what = "something schedules itself for ever";
    throw new Error(`There was no end after ${MAX_INSTANTS} timers: ${what}`);
  }

  /** @returns whether the scheduled functions that run now have ended. */
  #watchRunning(): () => boolean {
    let haveEnded = false;
    const ended = () => void (haveEnded = true);
    void this.t.finishInProgressScheduledFunctions().then(ended, ended);
    return () => haveEnded;
  }

  #fireDue(): boolean {
    const before = this.vi.getTimerCount();
    this.vi.advanceTimersByTime(0);
    return this.vi.getTimerCount() !== before;
  }

  /** Says whether functions go on without a timer: by input or output, or a module that loads. */
  async #moves(haveEnded: () => boolean): Promise<boolean> {
    const timers = this.vi.getTimerCount();
    await this.vi.dynamicImportSettled();
    const since = realNow();
    for (let quietTurns = 0; quietTurns < QUIET_TURNS;) {
      if (haveEnded() || this.vi.getTimerCount() !== timers) return true;
      if (realNow() - since >= this.patienceMs) return false;
      quietTurns = this.#isQuiet() ? quietTurns + 1 : 0;
      await turn();
    }
    return false;
  }

  /** Calls a function of the test, and notes whether it waits for virtual time. */
  watch<Result>(call: () => Result): Result {
    const timers = this.vi.getTimerCount();
    const result = call();
    if (!(result instanceof Promise)) return result;
    const what = this.vi.getTimerCount() > timers ? "forTimer" : "else";
    this.#waiting[what]++;
    const ended = () => void this.#waiting[what]--;
    result.then(ended, ended);
    return result;
  }

  /** Says whether all functions that have not ended seem to wait for virtual time. */
  #isQuiet(): boolean {
    return this.#waiting.forTimer > 0 && this.#waiting.else === 0 && !isReading();
  }

  /**
   * Throws if the test has given back its clock, as one that has timed out does. It is called
   * often.
   */
  #check(): void {
    if (!this.vi.isFakeTimers())
      throw new Error(
        "Time is real: call vi.useFakeTimers() before each test that drives workflows",
      );
    if ("clock" in realTurn || "clock" in realSetTimeout)
      throw new Error(
        "@stepwise/workflow/test was imported while time was virtual: import it before vi.useFakeTimers() is called",
      );
    const real = globalThis.Date === realDate ? "Date" : "setTimeout";
    if (real === "Date" || globalThis.setTimeout === realSetTimeout)
      throw new Error(
        `${real} is real: call vi.useFakeTimers() without toFake, or name "${real}" there too`,
      );
    spanLongTimers();
  }
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => void realTurn(resolve));
}

/** What `setTimeout` waits at most, in ms: 24.8 days. Asked for more, it fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

type Fire = (...args: unknown[]) => void;

interface FakeClock {
  setTimeout: (fire: Fire, ms?: number, ...args: unknown[]) => unknown;
  clearTimeout: (timer: unknown) => void;
}

const spanned = new WeakSet<FakeClock>();

/** Lets vitest's fake timers last as long as asked, by setting several in a row. */
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
