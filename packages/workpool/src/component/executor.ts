import type { FunctionHandle } from "convex/server";
import { getConvexSize, type ObjectType, v } from "convex/values";
import {
  ASKS_EVERY_MS,
  LEFT_MS,
  messageOf,
  MIB,
  reportBy,
  type Reported,
  TAKES_MS,
} from "../core/index.js";
import { internal } from "./_generated/api.js";
import type { Id } from "./_generated/dataModel.js";
import { type ActionCtx, internalAction, internalQuery } from "./_generated/server.js";
import { vAttempt } from "./schema.js";
import { type ActionAttempt, type EndedAttempt, outcomeOf, report, vAction } from "./worker.js";

const executorFields = { range: v.number(), asks: v.boolean() };

/** Runs attempts side by side, reports their ends together, and goes on with others. */
export const execute = internalAction({
  args: { ...executorFields, works: v.array(vAction) },
  returns: v.null(),
  handler: async (ctx, { works, ...executor }): Promise<null> => {
    await new Execution(ctx, executor).run(works);
    return null;
  },
});

/** Which of these attempts are still to begin: others have been canceled. */
export const toBegin = internalQuery({
  args: { works: v.array(v.object(vAttempt)) },
  returns: v.array(v.id("slots")),
  handler: async (ctx, { works }): Promise<Id<"slots">[]> => {
    const rows = await Promise.all(works.map(({ slot }) => ctx.db.get("slots", slot)));
    return works.flatMap(({ slot, workId }, at) => (rows[at]?.work === workId ? [slot] : []));
  },
});

class Execution {
  readonly #began = Date.now();
  /** How many run, or are reported one by one: they hold slots. */
  #running = 0;
  #ended: EndedAttempt[] = [];
  #wake = (): void => {};
  #asks: boolean;
  /** When a report of it was last taken. */
  #toldAt = this.#began;
  #inVain = 0;
  #lane = 0;
  /** How many ends are reported together at most: one, after that has failed. */
  #most = Infinity;

  constructor(
    readonly ctx: ActionCtx,
    readonly executor: ObjectType<typeof executorFields>,
  ) {
    this.#asks = executor.asks;
  }

  async run(works: readonly ActionAttempt[]): Promise<void> {
    const attempts = works.map(({ workId, attempt, slot }) => ({ workId, attempt, slot }));
    const ask = async () => {
      const left = await this.ctx.runQuery(internal.executor.toBegin, { works: attempts });
      for (const work of works) if (left.includes(work.slot)) this.#begin(work);
    };
    await reportBy([ask], this.#began, async () => {});
    // While it asks, others leave free slots to it: it goes on until it has given that up.
    while (this.#running > 0 || this.#ended.length > 0 || this.#asks) {
      if (this.#ended.length === 0) await this.#pause();
      // What ends at one moment is reported together.
      await new Promise((resolve) => setTimeout(resolve, 0));
      const ended = this.#next();
      if (ended.length > 0 || this.#asks) await this.#report(ended);
    }
  }

  #begin({ fn, args, ...attempt }: ActionAttempt): void {
    this.#running += 1;
    const call = () => this.ctx.runAction(fn as FunctionHandle<"action">, args);
    void outcomeOf(call).then((outcome) => {
      this.#running -= 1;
      this.#ended.push({ ...attempt, outcome });
      this.#wake();
    });
  }

  /** Until a work ends, or it is time to ask: ever less often while that fails. */
  async #pause(): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      const askMs = Math.max(ASKS_EVERY_MS, Date.now() - this.#toldAt);
      if (this.#asks) timer = setTimeout(resolve, askMs);
    });
    clearTimeout(timer);
  }

  /** What is reported next. */
  #next(): EndedAttempt[] {
    let bytes = 0;
    const fits = ({ outcome }: EndedAttempt, index: number): boolean => {
      bytes += getConvexSize(outcome);
      return index === 0 || (index < this.#most && bytes <= MIB);
    };
    const end = this.#ended.findIndex((each, index) => !fits(each, index));
    return this.#ended.splice(0, end === -1 ? this.#ended.length : end);
  }

  async #report(ended: EndedAttempt[]): Promise<void> {
    const together = async () => {
      const told: Reported & { done: number } = await this.ctx.runMutation(
        internal.complete.completeTogether,
        {
          ended,
          range: this.executor.range,
          running: this.#running + this.#ended.length,
          inVain: this.#inVain,
          lane: this.#lane,
          calledAt: Date.now(),
          isOver: Date.now() >= this.#began + TAKES_MS,
        },
      );
      this.#ended.unshift(...ended.slice(told.done));
      this.#most *= 2;
      this.#asks = told.asks;
      this.#toldAt = Date.now();
      this.#lane = told.lane;
      this.#inVain = told.next.length > 0 || ended.length > 0 ? 0 : this.#inVain + 1;
      for (const { slot, args } of told.next) this.#begin({ ...args, slot });
    };
    // Nothing waits for those that are repeated meanwhile, but the end of the executor.
    const alone = async () => {
      this.#most = 1;
      for (const each of ended) void this.#reportAlone(each);
    };
    const later = async () => {
      for (const each of ended)
        await this.ctx.scheduler.runAfter(0, internal.complete.complete, each);
    };
    await reportBy([together, alone], this.#began, later);
    // By then, others take it for dead, and leave no slot to it.
    if (Date.now() > this.#toldAt + LEFT_MS) this.#asks = false;
  }

  async #reportAlone(ended: EndedAttempt): Promise<void> {
    this.#running += 1;
    try {
      await report(this.ctx, ended, this.#began);
    } catch (error) {
      // The watchdog finds it. The others go on.
      console.error(`The end of work "${ended.workId}" was not reported: ${messageOf(error)}`);
    }
    this.#running -= 1;
    this.#wake();
  }
}
