import { type Deployment, textOf } from "@stepwise/testing";
import { declared, type Limited, RATES } from "./limited.js";
import { measure, type Measured } from "./measure.js";

/* What limits say, held against what runs at each commit. */

export interface MeasuredLimits extends Measured {
  /** Starts at which more ran than a limit says, or that came before a rate allows them. */
  readonly tooMany: number;
  /** For how long at most a work could have started and did not, with a slot free, in ms. */
  readonly idleMs: number;
  /** Of the works that are told apart, or of all: how long 19 of 20 waited at most, in ms. */
  readonly waitMs: number;
  /** What completions read for each start of a work, lost attempts included. */
  readonly documentsOfEnds: number;
}

interface Work {
  readonly permits?: readonly string[];
  readonly fairness?: { readonly key: string };
  readonly args?: { readonly used?: number };
}
interface Waiting {
  readonly work: string;
}
interface Slot {
  readonly work?: string;
}

/** A transaction has the time of its begin, and is seen when it commits. */
const SKEW_MS = 60;

/** What there is of a rate, as time, starts and ends make it. */
class Bucket {
  #left: number;
  #at = 0;

  constructor(readonly perSecond: number) {
    this.#left = perSecond;
  }

  left(at: number): number {
    this.take(0, at);
    return this.#left;
  }

  /** @returns whether that was too much. */
  take(cost: number, at: number): boolean {
    this.#left = Math.min(this.perSecond, this.#left + ((at - this.#at) * this.perSecond) / 1_000);
    this.#left -= cost;
    this.#at = at;
    return cost > 0 && this.#left < -(this.perSecond * SKEW_MS) / 1_000 - 0.5;
  }
}

/** How much a start takes of a rate, by its permits: `tokens=500` is an estimate. */
function costsOf(permits: readonly string[]): Map<string, number> {
  const costs = new Map<string, number>();
  for (const permit of permits) {
    const [name = "", cost] = permit.split(/[=:]/);
    if (name in RATES) costs.set(name, cost === undefined ? 1 : Number(cost));
  }
  return costs;
}

/** Sees at each commit which works run and which wait, and holds that against the limits. */
class Watcher {
  readonly waits: number[] = [];
  tooMany = 0;
  idleMs = 0;
  runs = 0;
  starts = 0;
  readonly #works = new Map<string, Work>();
  readonly #slots = new Map<string, string | undefined>();
  readonly #running = new Map<string, number>();
  readonly #buckets = new Map<string, Bucket>();
  /** Since when each work waits, oldest first, of works with the same limits and keys. */
  readonly #waiting = new Map<string, Map<string, number>>();
  readonly #began: number;
  /** Of works with the same limits and keys: since when one could start. */
  readonly #idleSince = new Map<string, number>();
  #sampledAt = -Infinity;

  constructor(
    readonly deployment: Deployment,
    readonly load: Limited,
  ) {
    this.#began = deployment.clock.now();
    for (const [name, perSecond] of Object.entries(RATES))
      this.#buckets.set(name, new Bucket(perSecond));
    for (const { _id, work } of deployment.rows<Slot & { _id: string }>("workpool", "slots"))
      this.#slots.set(_id, work);
    deployment.onCommit(({ writes }) => {
      const of = (name: string, component = "workpool") =>
        writes.filter(({ table }) => table.component === component && table.name === name);
      for (const { old } of of("runs", "workflow")) if (old === undefined) this.runs += 1;
      for (const { id, next } of of("works"))
        if (next !== undefined) this.#works.set(id, next as Work);
      const queued = [...of("waiting"), ...of("limited")];
      for (const { next } of queued) this.#wait(next as Waiting | undefined);
      // What ends and what begins may be in different slots, in any order.
      const slots = of("slots").filter(
        ({ id, next }) => this.#slots.get(id) !== (next as Slot | undefined)?.work,
      );
      for (const { id } of slots) this.#leave(id);
      for (const { id, next } of slots) this.#take(id, (next as Slot | undefined)?.work);
      this.#sample();
    });
  }

  get #at(): number {
    return this.deployment.clock.now() - this.#began;
  }

  #allowed(permit: string): number {
    return (this.load.allows ?? declared)(permit, this.#at);
  }

  /** It waits, in the queue or in a line, or goes from one to the other. */
  #wait(row: Waiting | undefined): void {
    if (row === undefined) return;
    const line = JSON.stringify(this.#permitsOf(row.work));
    const works = this.#waiting.get(line) ?? new Map<string, number>();
    this.#waiting.set(line, works);
    if (!works.has(row.work)) works.set(row.work, this.#at);
  }

  #leave(slot: string): void {
    const work = this.#slots.get(slot);
    for (const permit of this.#permitsOf(work)) this.#count(permit, -1);
    const { permits = [], args } = this.#works.get(work ?? "") ?? {};
    if (args?.used !== undefined)
      for (const [name, cost] of costsOf(permits))
        this.#buckets.get(name)!.take(args.used - cost, this.#at);
  }

  #take(slot: string, work: string | undefined): void {
    this.#slots.set(slot, work);
    if (work === undefined) return;
    this.starts += 1;
    const permits = this.#permitsOf(work);
    for (const permit of permits) {
      this.#count(permit, 1);
      if (this.#running.get(permit)! > this.#allowed(permit)) this.tooMany += 1;
    }
    for (const [name, cost] of costsOf(permits))
      if (this.#buckets.get(name)!.take(cost, this.#at)) this.tooMany += 1;
    const waiting = this.#waiting.get(JSON.stringify(permits));
    const since = waiting?.get(work) ?? this.#at;
    waiting?.delete(work);
    const owner = this.#works.get(work)?.fairness?.key;
    if (this.load.small?.(permits, owner) !== false) this.waits.push(this.#at - since);
  }

  #permitsOf(work: string | undefined): readonly string[] {
    return this.#works.get(work ?? "")?.permits ?? [];
  }

  #count(permit: string, more: number): void {
    this.#running.set(permit, (this.#running.get(permit) ?? 0) + more);
  }

  #sample(): void {
    const at = this.#at;
    if (at < this.#sampledAt + 100) return;
    this.#sampledAt = at;
    const isFree = [...this.#slots.values()].some((work) => work === undefined);
    for (const [line, works] of this.#waiting) {
      const [oldest] = works.values();
      if (!isFree || oldest === undefined || !this.#mayStart(JSON.parse(line) as string[])) {
        this.#idleSince.delete(line);
        continue;
      }
      const since = this.#idleSince.get(line) ?? at;
      this.#idleSince.set(line, since);
      this.idleMs = Math.max(this.idleMs, at - Math.max(since, oldest));
    }
  }

  #mayStart(permits: readonly string[]): boolean {
    return (
      permits.every((permit) => (this.#running.get(permit) ?? 0) < this.#allowed(permit)) &&
      [...costsOf(permits)].every(([name, cost]) => this.#buckets.get(name)!.left(this.#at) >= cost)
    );
  }
}

/** What ends works, and starts those that follow them. */
const COMPLETION = /^workpool\/complete:/;

/** Measures a load with limits. Only Stepwise has them. */
export async function measureLimits(
  load: Limited,
  seed: number,
  conditions: readonly string[] = [],
): Promise<MeasuredLimits> {
  let watcher: Watcher | undefined;
  let documents = 0;
  const measured = await measure(load, "ours", seed, conditions, (deployment) => {
    watcher = new Watcher(deployment, load);
    deployment.onHappening((event) => {
      if (event.what !== "ran" || !COMPLETION.test(textOf(event.path))) return;
      const { usage, staleUsage } = event.transaction;
      documents += usage.documentsRead + staleUsage.documentsRead;
    });
  });
  const { idleMs, waits, runs, starts } = watcher!;
  const tooMany = watcher!.tooMany + (load.runs === undefined ? 0 : Math.abs(runs - load.runs));
  const waitMs = waits.sort((a, b) => a - b)[Math.floor(0.95 * waits.length)] ?? 0;
  return { ...measured, tooMany, idleMs, waitMs, documentsOfEnds: documents / starts };
}
