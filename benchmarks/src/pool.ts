import { type Call, Counter, type Timers, type Totals } from "@stepwise/testing";
import { makeFunctionReference } from "convex/server";
import type { App } from "./apps.js";

/*
 * Interfaces have no index signature, which the arguments of a reference must have: so this is a
 * type.
 */
/**
 * Works that are enqueued by one call: what `pools:enqueue` of both apps takes; see
 * `apps/works.ts`.
 */
export type Works = {
  readonly kind: "action" | "busyAction" | "failingAction" | "settlingAction" | "mutation";
  readonly count: number;
  readonly maxParallelism: number;
  /** How long a busy action takes. */
  readonly ms: number;
  /** Of a start that is delayed, for how long. */
  readonly runAfter?: number;
};

/**
 * What some works took. The calls that enqueued them are left out, but for what the pool did within
 * them.
 */
export interface WorksRun {
  /** Until the last of them had ended. */
  readonly toEnd: Totals;
  /** Until nothing was scheduled any more. */
  readonly toRest: Totals;
  /**
   * For how many virtual ms slots were free while works waited that were due: each slot counts.
   * Undefined where works were retried: when those were due is not known.
   */
  readonly waitMs: number | undefined;
}

const enqueue = makeFunctionReference<"mutation", Works, string[]>("pools:enqueue");
const finished = makeFunctionReference<"query", { id: string }, boolean>("pools:finished");

/** The functions of works. */
const WORK = /^(steps:(act|actFor|actAtSecond|write)|settling:act)$/;

/** An app's pool on a back end of its own, counted, in exact virtual time. */
export class Pool {
  readonly #counter = new Counter({ deploymentClass: "s256" });
  readonly #t;

  constructor(
    app: App,
    private readonly timers: Timers,
  ) {
    this.#t = app.mount(this.#counter);
  }

  /** @returns the ids of the works. */
  async enqueue(works: Works): Promise<string[]> {
    return await this.#t.mutation(enqueue, works);
  }

  /**
   * Enqueues works, and lets them end and everything come to rest. @throws where not all of them
   * run and succeed.
   */
  async run(works: Works): Promise<WorksRun> {
    const first = this.mark();
    const dueAt = this.timers.now() + (works.runAfter ?? 0);
    const ids = await this.enqueue(works);
    await this.end(ids);
    const toEnd = this.since(first);
    await this.rest();
    const ran = this.#calls(first).filter(({ name }) => WORK.test(name));
    const succeeded = ran.filter(({ failed }) => !failed).length;
    if (succeeded !== works.count) throw new Error(`Of ${works.count} works ${succeeded} ran`);
    const due = ids.map(() => dueAt);
    const waitMs =
      ran.length > succeeded ? undefined : waitWithFreeSlots(due, ran, works.maxParallelism);
    return { toEnd, toRest: this.since(first), waitMs };
  }

  /** Lets works end. */
  async end(ids: readonly string[]): Promise<void> {
    let next = 0;
    const done = async () => {
      while (next < ids.length && (await this.#t.query(finished, { id: ids[next]! }))) next += 1;
      return next === ids.length;
    };
    if (!(await this.#counter.drive({ timers: this.timers, done })).done)
      throw new Error(`${ids.length - next} works of ${ids.length} never end`);
  }

  /** Lets everything come to rest. */
  async rest(): Promise<void> {
    await this.#counter.drive({ timers: this.timers });
    const [violation] = this.#counter.violations;
    if (violation !== undefined) throw new Error(violation.message);
  }

  /** Lets so much virtual time pass. */
  async advance(ms: number): Promise<void> {
    let passed = false;
    setTimeout(() => (passed = true), ms);
    await this.#counter.drive({ timers: this.timers, done: () => passed });
  }

  /** Where to count from. */
  mark(): number {
    return this.#counter.calls.length;
  }

  /** What was done since a mark. */
  since(mark: number): Totals {
    const counted = new Set(this.#calls(mark));
    return this.#counter.totals((call) => counted.has(call) && call.name !== "pools:enqueue");
  }

  /** How many functions of works have begun since a mark. */
  begun(mark: number): number {
    return this.#calls(mark).filter(({ name }) => WORK.test(name)).length;
  }

  #calls(mark: number): Call[] {
    return this.#counter.calls.slice(mark);
  }
}

/** Sums up over time how many slots were free for which a work was due. */
export function waitWithFreeSlots(
  dueAt: readonly number[],
  ran: readonly Pick<Call, "startedAt" | "endedAt">[],
  slots: number,
): number {
  const events = [
    ...dueAt.map((at) => ({ at, waiting: 1, running: 0 })),
    ...ran.map(({ startedAt: at }) => ({ at, waiting: -1, running: 1 })),
    ...ran.flatMap(({ endedAt: at }) =>
      at === undefined ? [] : [{ at, waiting: 0, running: -1 }],
    ),
  ].sort((one, other) => one.at - other.at);
  let [sum, last, waiting, running] = [0, 0, 0, 0];
  for (const event of events) {
    sum += Math.max(0, Math.min(waiting, slots - running)) * (event.at - last);
    last = event.at;
    waiting += event.waiting;
    running += event.running;
  }
  return sum;
}
