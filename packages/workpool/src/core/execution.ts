import type { SlotId } from "./context.js";
import type { Report, Reported } from "./told.js";
import { ASKS_EVERY_MS, LEFT_MS, OF_LIMITS, SHORT_MS, TAKES_MS, WIDTH } from "./owners.js";
import { reportBy } from "./report.js";
import { messageOf } from "./result.js";
import { MIB } from "./room.js";

/** An executor of limits waits for others to end, for such a share of the time that a work took. */
const MOMENT_SHARE = 0.02;

/** It wants so many works ahead for each end: as many end again until the second next report. */
const AHEAD_EACH = 2;
/** That is as many as begin within so many ms, if others take as long as those before them … */
const AHEAD_MS = 200;
/** … and they are given back if none begins for so long, as slots of others may be free. */
const AHEAD_FOR_MS = 2 * AHEAD_MS;

/** What an executor needs of the component that registers it. */
export interface Executes<Attempt extends InSlot, Ended extends InSlot> {
  /** Which of these attempts are still to begin: others have been canceled. */
  readonly toBegin: (works: readonly Attempt[]) => Promise<readonly SlotId[]>;
  /** Runs an attempt. It never throws. */
  readonly perform: (attempt: Attempt) => Promise<Ended>;
  /** An attempt of which a report has told. */
  readonly attemptOf: (slot: SlotId, args: any) => Attempt;
  readonly bytesOf: (ended: Ended) => number;
  /** Reports ends in one mutation. It may leave the last ones, and refuse some. */
  readonly together: (ended: readonly Ended[], report: Report) => Promise<Told>;
  /**
   * Reports an end in ways of its own.
   * @param since when the executor began.
   * @param seats those that it holds: the work of one of them may get the slot.
   * @returns the seat of that work, if it is known.
   */
  readonly alone: (
    ended: Ended,
    since: number,
    seats: readonly SlotId[],
  ) => Promise<SlotId | null | void>;
  /** Schedules the report of an end. */
  readonly later: (ended: Ended, seats: readonly SlotId[]) => Promise<void>;
  /** Gives an attempt back that has not begun. Default: none is taken ahead. */
  readonly notBegun?: (attempt: Attempt) => Ended;
}

interface InSlot {
  readonly slot: SlotId;
}

export interface Told extends Reported {
  /** How many ends it has seen to. */
  readonly done: number;
  /** The ends that may only lack room: each is reported alone. */
  readonly refused?: readonly number[];
}

/** An executor: runs attempts side by side, reports their ends together, and goes on with others. */
export class Execution<Attempt extends InSlot, Ended extends InSlot> {
  readonly #began = Date.now();
  /** How many run, or are reported one by one: they hold slots. */
  #running = 0;
  #ended: Ended[] = [];
  /** How many ends are reported together at this moment. */
  #reporting = 0;
  /** What has not begun, in order: there are fewer slots than works. */
  #ahead: Attempt[] = [];
  /** Since when the first of them waits. */
  #aheadSince = 0;
  /** The seats that its works hold: see ahead.ts. */
  #seats: readonly SlotId[] = [];
  /** What it gives back, until a report has told of it. */
  readonly #givenBack = new Map<Ended, Attempt>();
  #wake = (): void => {};
  #asks: boolean;
  /** When a report of it was last taken. */
  #toldAt = this.#began;
  #inVain = 0;
  #lane = 0;
  /** How long the work took that ended last. */
  #lastedMs = 0;
  /** How many have ended, and how long they took together. */
  #count = 0;
  #tookMs = 0;
  /** How many ends are reported together at most: one, after that has failed. */
  #most = Infinity;
  /** An end was reported alone: whoever does that does not give up the range. */
  #owes = false;

  constructor(
    readonly host: Executes<Attempt, Ended>,
    readonly executor: { readonly range: number; readonly asks: boolean },
  ) {
    this.#asks = executor.asks;
  }

  async run(works: readonly Attempt[]): Promise<void> {
    const ask = async () => {
      const left = await this.host.toBegin(works);
      for (const work of works) if (left.includes(work.slot)) this.#perform(work);
    };
    await reportBy([ask], this.#began, async () => {});
    // While it asks, others leave free slots to it: it goes on until it has given that up.
    while (this.#goesOn || this.#owes) {
      const isOver = !this.#goesOn;
      if (this.#ended.length === 0 && !isOver) await this.#pause();
      await this.#moment();
      if (this.#ahead.length > 0 && Date.now() >= this.#aheadSince + AHEAD_FOR_MS) this.#giveBack();
      const ended = this.#next();
      if (isOver) this.#owes = false;
      if (ended.length > 0 || this.#asks || isOver) await this.#report(ended);
    }
  }

  get #goesOn(): boolean {
    return this.#holds > 0 || this.#ended.length > 0 || this.#asks;
  }

  /**
   * What ends at one moment is reported together: it waits for that. One without a range does not
   * once all have ended, so that a batch in a test needs no clock that goes on.
   */
  async #moment(): Promise<void> {
    const isLast = (): boolean => this.executor.range === OF_LIMITS && this.#running === 0;
    if (isLast()) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = () => {
        if (isLast()) resolve();
      };
      timer = setTimeout(resolve, this.#momentMs());
    });
    clearTimeout(timer);
  }

  /** Waits for works of limits that began together to end together: otherwise few run at once. */
  #momentMs(): number {
    if (this.executor.range !== OF_LIMITS) return 0;
    return Math.min(this.#lastedMs * MOMENT_SHARE, ASKS_EVERY_MS);
  }

  get #holds(): number {
    return this.#running + this.#ahead.length;
  }

  #perform(attempt: Attempt): void {
    this.#running += 1;
    const since = Date.now();
    void this.host.perform(attempt).then((ended) => {
      this.#running -= 1;
      this.#lastedMs = Date.now() - since;
      this.#tookMs += this.#lastedMs;
      this.#count += 1;
      this.#ended.push(ended);
      this.#begin();
      this.#wake();
    });
  }

  /** Begins as many works as it has slots for. What has ended holds one until it is reported. */
  #begin(): void {
    const wait = Math.max(0, this.#seats.length - this.#reporting - this.#ended.length);
    while (this.#ahead.length > wait) {
      this.#perform(this.#ahead.shift()!);
      this.#aheadSince = Date.now();
    }
  }

  #giveBack(): void {
    for (const attempt of this.#ahead.splice(0)) {
      const ended = this.host.notBegun!(attempt);
      this.#givenBack.set(ended, attempt);
      this.#ended.push(ended);
    }
  }

  /**
   * How many works it wants ahead: none beside those that it gives back, nor if reports have just
   * failed. An older version does not know what this is, so that it is told nothing of none.
   */
  #wantsAhead(ended: readonly Ended[]): number | undefined {
    if (this.host.notBegun === undefined || this.executor.range === OF_LIMITS) return undefined;
    if (this.#most < WIDTH || ended.some((each) => this.#givenBack.has(each))) return undefined;
    const eachMs = Math.max(1, this.#tookMs / this.#count);
    const endSoon = ((this.#running + ended.length) * AHEAD_MS) / eachMs;
    return Math.floor(Math.min(AHEAD_EACH * ended.length, endSoon)) || undefined;
  }

  /** Until a work ends, or it is time to ask: ever less often while that fails. */
  async #pause(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      const often = this.executor.range === OF_LIMITS ? SHORT_MS : ASKS_EVERY_MS;
      const askMs = Math.max(often, Date.now() - this.#toldAt);
      const backMs = this.#aheadSince + AHEAD_FOR_MS - Date.now();
      const untilMs = Math.min(
        this.#asks ? askMs : Infinity,
        this.#ahead.length > 0 ? Math.max(0, backMs) : Infinity,
      );
      if (untilMs < Infinity) timer = setTimeout(resolve, untilMs);
    });
    clearTimeout(timer);
  }

  /** Returns what is reported next. */
  #next(): Ended[] {
    let bytes = 0;
    const fits = (each: Ended, index: number): boolean => {
      bytes += this.host.bytesOf(each);
      // What is larger is reported alone.
      return index === 0 || (index < this.#most && bytes <= MIB);
    };
    const end = this.#ended.findIndex((each, index) => !fits(each, index));
    return this.#ended.splice(0, end === -1 ? this.#ended.length : end);
  }

  async #report(ended: Ended[]): Promise<void> {
    const together = async () => {
      const running = this.#holds + this.#ended.length;
      const told = await this.host.together(ended, {
        range: this.executor.range,
        running,
        inVain: this.#inVain,
        lane: this.#lane,
        calledAt: Date.now(),
        isOver: Date.now() >= this.#began + TAKES_MS,
        ahead: this.#wantsAhead(ended),
        seats: this.#seats.length === 0 ? undefined : [...this.#seats],
      });
      this.#reporting = 0;
      if (running === 0) this.#owes = false;
      this.#ended.unshift(...ended.slice(told.done));
      for (const each of ended.slice(0, told.done)) this.#givenBack.delete(each);
      for (const index of told.refused ?? []) void this.#reportAlone(ended[index]!);
      this.#most *= 2;
      this.#asks = told.asks;
      this.#toldAt = Date.now();
      this.#lane = told.lane;
      this.#inVain = told.next.length > 0 || ended.length > 0 ? 0 : this.#inVain + 1;
      this.#seats = told.seats ?? [];
      if (this.#ahead.length === 0) this.#aheadSince = Date.now();
      for (const { slot, args } of told.next) this.#ahead.push(this.host.attemptOf(slot, args));
      this.#begin();
      if (told.givesBack === true) this.#giveBack();
    };
    // Nothing waits for those that are repeated meanwhile, but the end of the executor.
    const alone = async () => {
      this.#most = 1;
      const own = ended.filter((each) => !this.#givenBack.has(each));
      if (own.length < ended.length) await this.#keep(ended);
      this.#reporting = 0;
      const slots = new Set(own.map(({ slot }) => slot));
      this.#seats = this.#seats.filter((seat) => !slots.has(seat));
      for (const each of own) void this.#reportAlone(each);
    };
    const later = async () => {
      this.#reporting = 0;
      for (const each of ended) {
        const attempt = this.#givenBack.get(each);
        // Nothing else would begin it.
        if (this.#givenBack.delete(each)) this.#perform(attempt!);
        else await this.host.later(each, this.#seats);
      }
    };
    this.#reporting = ended.length;
    await reportBy([together, alone], this.#began, later);
    // By then, others take it for dead, and leave no slot to it.
    if (Date.now() > this.#toldAt + LEFT_MS) this.#asks = false;
  }

  /**
   * Keeps what it could not give back. That runs in the end, if no report is taken, as by an older
   * version: then nobody else can run it, and others may have its slots.
   */
  async #keep(ended: readonly Ended[]): Promise<void> {
    const attempts = ended.flatMap((each) => this.#givenBack.get(each) ?? []);
    // The report may have arrived, and its answer may not.
    const left = await this.host.toBegin(attempts);
    for (const each of ended) this.#givenBack.delete(each);
    this.#aheadSince = Date.now();
    const kept = attempts.filter(({ slot }) => left.includes(slot));
    if (Date.now() < this.#toldAt + LEFT_MS) this.#ahead.unshift(...kept);
    else for (const attempt of kept) this.#perform(attempt);
  }

  async #reportAlone(ended: Ended): Promise<void> {
    this.#owes = true;
    this.#running += 1;
    try {
      const moved = await this.host.alone(ended, this.#began, this.#seats);
      this.#seats = this.#seats.filter((seat) => seat !== moved);
    } catch (error) {
      // The watchdog finds it. The others go on.
      console.error(`The end of a work was not reported: ${messageOf(error)}`);
    }
    this.#running -= 1;
    this.#begin();
    this.#wake();
  }
}
