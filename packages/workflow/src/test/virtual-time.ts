import { durationMs, type Duration } from "../definition/duration.js";
import { spanLongTimers } from "./long-timers.js";

/** The part of vitest's `vi` that is used. */
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
const { setImmediate: realImmediate } = globalThis as {
  setImmediate?: (done: () => void) => unknown;
};
const realTurn = realImmediate ?? ((done: () => void) => realSetTimeout(done, 0));

/** Turns of the event loop that functions are given to end in. What waits for no input or output needs one or two. */
const TURNS = 50;
/** So many instants without an end, and something schedules itself for ever. */
const MAX_INSTANTS = 100_000;

/** Lets an app over convex-test run in virtual time. A function takes no time, but for the timers that it waits for itself. */
export class VirtualTime {
  #loaded: Promise<unknown> | undefined;

  constructor(
    private readonly t: Scheduled,
    private readonly vi: FakeTimers,
    /** Loads what must be there before anything runs. */
    private readonly load: () => Promise<unknown>,
    /** How many real ms functions are waited for that have not ended, before the clock moves on. */
    private readonly patienceMs: number,
  ) {
    spanLongTimers();
  }

  /** Lets all happen that is due now, and all that follows from it at once. The clock stands still. */
  async settle(): Promise<void> {
    this.#check();
    await (this.#loaded ??= this.load());
    for (;;) {
      const haveEnded = this.#watchRunning();
      for (let turns = 0; !haveEnded() && turns < TURNS; turns++) await turn();
      this.#check();
      if (this.#fireDue()) continue;
      if (haveEnded() || !(await this.#moves(haveEnded))) return;
    }
  }

  /**
   * Moves the clock to the timer that is due next, and lets happen what follows. All must have settled before.
   * @returns false where there is none.
   */
  async next(): Promise<boolean> {
    this.#check();
    if (this.vi.getTimerCount() === 0) return false;
    this.vi.advanceTimersToNextTimer();
    await this.settle();
    return true;
  }

  /** Lets so much time go by. */
  async pass(duration: Duration): Promise<void> {
    await this.settle();
    const ms = durationMs(duration);
    const end = Date.now() + ms;
    // So that there is a timer at the end, and the clock does not move beyond it.
    const mark = setTimeout(() => {}, ms);
    await this.until(() => Date.now() >= end);
    clearTimeout(mark);
  }

  /**
   * Moves from timer to timer until something is so.
   * @returns false where no timer is left and it is not.
   * @throws after 100,000 timers.
   */
  async until(isSo: () => boolean | Promise<boolean>): Promise<boolean> {
    for (let instants = 0; instants < MAX_INSTANTS; instants++) {
      if (await isSo()) return true;
      if (!(await this.next())) return false;
    }
    throw new Error(
      `There was no end after ${MAX_INSTANTS} timers: something schedules itself for ever`,
    );
  }

  /** @returns whether the scheduled functions that run now have ended, and those that they have begun meanwhile. */
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

  /** Whether functions that have not ended go on by themselves: by input or output, or a module that is loaded. Else they wait for a timer. */
  async #moves(haveEnded: () => boolean): Promise<boolean> {
    const timers = this.vi.getTimerCount();
    await this.vi.dynamicImportSettled();
    const since = realNow();
    for (;;) {
      if (haveEnded() || this.vi.getTimerCount() !== timers) return true;
      if (realNow() - since >= this.patienceMs) return false;
      await turn();
    }
  }

  /** Also in the midst of a drive: a test that has timed out gives back its clock. */
  #check(): void {
    if (!this.vi.isFakeTimers())
      throw new Error(
        "Time is real: call vi.useFakeTimers() before each test that drives workflows",
      );
    spanLongTimers();
    if ("clock" in realTurn || "clock" in realSetTimeout)
      throw new Error(
        "@stepwise/workflow/test was imported while time was virtual: import it before vi.useFakeTimers() is called",
      );
  }
}

async function turn(): Promise<void> {
  await new Promise<void>((resolve) => void realTurn(resolve));
}
