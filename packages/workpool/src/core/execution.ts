import type { SlotId } from "./context.js";
import type { Report, Reported } from "./told.js";
import { ASKS_EVERY_MS, LEFT_MS, OF_LIMITS, SHORT_MS, TAKES_MS } from "./owners.js";
import { reportBy } from "./report.js";
import { messageOf } from "./result.js";
import { MIB } from "./room.js";

/** An executor of limits waits for others to end, for such a share of the time that a work took. */
const MOMENT_SHARE = 0.02;

/** What an executor needs of the component that registers it. */
export interface Executes<Attempt, Ended> {
  /** Which of these attempts are still to begin: others have been canceled. */
  readonly toBegin: (works: readonly Attempt[]) => Promise<readonly SlotId[]>;
  /** Runs an attempt. It never throws. */
  readonly perform: (attempt: Attempt) => Promise<Ended>;
  /** An attempt of which a report has told. */
  readonly attemptOf: (slot: SlotId, args: any) => Attempt;
  readonly bytesOf: (ended: Ended) => number;
  /** Reports ends in one mutation. It may leave the last ones, and refuse some. */
  readonly together: (ended: readonly Ended[], report: Report) => Promise<Told>;
  /** Reports an end in ways of its own. @param since when the executor began. */
  readonly alone: (ended: Ended, since: number) => Promise<void>;
  /** Schedules the report of an end. */
  readonly later: (ended: Ended) => Promise<void>;
}

export interface Told extends Reported {
  /** How many ends it has seen to. */
  readonly done: number;
  /** The ends that may only lack room: each is reported alone. */
  readonly refused?: readonly number[];
}

/** An executor: runs attempts side by side, reports their ends together, and goes on with others. */
export class Execution<Attempt extends { readonly slot: SlotId }, Ended> {
  readonly #began = Date.now();
  /** How many run, or are reported one by one: they hold slots. */
  #running = 0;
  #ended: Ended[] = [];
  #wake = (): void => {};
  #asks: boolean;
  /** When a report of it was last taken. */
  #toldAt = this.#began;
  #inVain = 0;
  #lane = 0;
  /** How long the work took that ended last. */
  #lastedMs = 0;
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
      for (const work of works) if (left.includes(work.slot)) this.#begin(work);
    };
    await reportBy([ask], this.#began, async () => {});
    // While it asks, others leave free slots to it: it goes on until it has given that up.
    while (this.#goesOn || this.#owes) {
      const isOver = !this.#goesOn;
      if (this.#ended.length === 0 && !isOver) await this.#pause();
      // What ends at one moment is reported together.
      await new Promise((resolve) => setTimeout(resolve, this.#momentMs()));
      const ended = this.#next();
      if (isOver) this.#owes = false;
      if (ended.length > 0 || this.#asks || isOver) await this.#report(ended);
    }
  }

  get #goesOn(): boolean {
    return this.#running > 0 || this.#ended.length > 0 || this.#asks;
  }

  /** Waits for works of limits that began together to end together: otherwise few run at once. */
  #momentMs(): number {
    if (this.executor.range !== OF_LIMITS || this.#running === 0) return 0;
    return Math.min(this.#lastedMs * MOMENT_SHARE, ASKS_EVERY_MS);
  }

  #begin(attempt: Attempt): void {
    this.#running += 1;
    const since = Date.now();
    void this.host.perform(attempt).then((ended) => {
      this.#running -= 1;
      this.#lastedMs = Date.now() - since;
      this.#ended.push(ended);
      this.#wake();
    });
  }

  /** Until a work ends, or it is time to ask: ever less often while that fails. */
  async #pause(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      const often = this.executor.range === OF_LIMITS ? SHORT_MS : ASKS_EVERY_MS;
      const askMs = Math.max(often, Date.now() - this.#toldAt);
      if (this.#asks) timer = setTimeout(resolve, askMs);
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
      const running = this.#running + this.#ended.length;
      const told = await this.host.together(ended, {
        range: this.executor.range,
        running,
        inVain: this.#inVain,
        lane: this.#lane,
        calledAt: Date.now(),
        isOver: Date.now() >= this.#began + TAKES_MS,
      });
      if (running === 0) this.#owes = false;
      this.#ended.unshift(...ended.slice(told.done));
      for (const index of told.refused ?? []) void this.#reportAlone(ended[index]!);
      this.#most *= 2;
      this.#asks = told.asks;
      this.#toldAt = Date.now();
      this.#lane = told.lane;
      this.#inVain = told.next.length > 0 || ended.length > 0 ? 0 : this.#inVain + 1;
      for (const { slot, args } of told.next) this.#begin(this.host.attemptOf(slot, args));
    };
    // Nothing waits for those that are repeated meanwhile, but the end of the executor.
    const alone = async () => {
      this.#most = 1;
      for (const each of ended) void this.#reportAlone(each);
    };
    const later = async () => {
      for (const each of ended) await this.host.later(each);
    };
    await reportBy([together, alone], this.#began, later);
    // By then, others take it for dead, and leave no slot to it.
    if (Date.now() > this.#toldAt + LEFT_MS) this.#asks = false;
  }

  async #reportAlone(ended: Ended): Promise<void> {
    this.#owes = true;
    this.#running += 1;
    try {
      await this.host.alone(ended, this.#began);
    } catch (error) {
      // The watchdog finds it. The others go on.
      console.error(`The end of a work was not reported: ${messageOf(error)}`);
    }
    this.#running -= 1;
    this.#wake();
  }
}
