import type { Commit, Deployment } from "@stepwise/testing";
import type { Limits } from "@stepwise/workpool/core";
import type { Doc } from "../../packages/workpool/src/component/_generated/dataModel.js";
import type { Job } from "../edits/deployed.js";
import { isMoving, LATE_MS } from "./clock-moves.js";
import { isPause, type Place } from "./pool-limits.js";

/** A work of a pool, or the record of a step. */
type Work = Pick<Doc<"works">, "_id" | "permits"> & {
  readonly attempts?: number;
  readonly attempt?: number;
};

/** The releaser starts works that have waited so often, in groups: a bucket holds two of them. */
const ROUND_MS = 250;

/** What is taken of a rate, at a time. */
interface Level {
  readonly taken: number;
  readonly at: number;
}

/** How a bucket is named, and how much a work takes of it. */
interface Taken {
  readonly bucket: string;
  readonly limit: string;
  readonly cost: number;
}

/** What a work takes of each rate when it starts. */
function takenBy(
  limits: Limits,
  rateOf: (bucket: string) => Rate | undefined,
  { permits, isAgain }: Asking,
): Taken[] {
  return Object.entries(limits).flatMap(([limit, { unit, perKey }]) => {
    const own = permits.filter((permit) => permit.split(/[:=]/)[0] === limit);
    const keyed = own.find((permit) => permit.startsWith(`${limit}:`));
    const bucket = perKey === undefined ? limit : (keyed ?? limit);
    const rate = rateOf(bucket);
    if (rate === undefined || own.length === 0 || (rate.count === "works" && isAgain)) return [];
    const cost = own.flatMap((permit) => /^\w+=(\d+)/.exec(permit)?.[1] ?? [])[0];
    return [{ bucket, limit, cost: unit === undefined ? 1 : Number(cost ?? 1) }];
  });
}

/** What a function gets that runs a work or a step, or several. */
interface Started {
  readonly workId?: string;
  readonly args?: { readonly workId?: string; readonly token?: { readonly step: string } };
  readonly works?: readonly Started[];
}

type Rate = NonNullable<Limits[string]["rate"]>;
/** What a work says of limits, and whether it has had an attempt. */
interface Asking {
  readonly permits: readonly string[];
  readonly isAgain: boolean;
}

/**
 * No more starts in any time than a rate allows: of each one it is known what was taken, from what
 * has started and ended alone.
 */
export class PoolRates {
  readonly #levels = new Map<string, Level>();
  readonly #works = new Map<string, Asking>();
  /** By bucket, how often one more may start, as of the last commit. */
  readonly #paces = new Map<string, number>();

  constructor(
    readonly deployment: Deployment,
    readonly tell: (problem: string) => void,
    readonly place: Place,
    /** By work, what ends in a commit has used, by limit. */
    readonly used: (commit: Commit) => ReadonlyMap<string, Readonly<Record<string, number>>>,
  ) {}

  /** What there is now is not what it has seen. */
  forget(): void {
    const { component, works } = this.place;
    this.#levels.clear();
    for (const { name, taken, at } of this.#rows()) this.#levels.set(name, { taken, at });
    for (const work of this.deployment.rows<Work>(component, works)) this.#seeWork(work);
  }

  #seeWork({ _id, permits = [], attempts = 0, attempt = 1 }: Work): void {
    this.#works.set(_id, { permits, isAgain: attempts > 0 || attempt > 1 });
  }

  see(commit: Commit): void {
    const { component, works } = this.place;
    const [left, entered] = [new Set<string>(), new Set<string>()];
    for (const { table, old, next } of commit.writes) {
      // What a table holds is for its schema to say.
      if (table.path === `${component}/${works}` && next !== undefined)
        this.#seeWork(next as unknown as Work);
      if (table.path !== `${component}/slots`) continue;
      if (old?.["work"] !== undefined) left.add(String(old["work"]));
      if (next?.["work"] !== undefined) entered.add(String(next["work"]));
    }
    this.#seePaces();
    for (const [work, used] of this.used(commit))
      for (const { bucket, limit, cost } of this.#takes(work)) {
        const more = (used[limit] ?? cost) - cost;
        // A bucket that is not written keeps its time, also if the clock went back.
        if (more === 0) continue;
        const { taken, at } = this.#level(bucket);
        this.#levels.set(bucket, { taken: Math.max(0, taken + more), at });
      }
    // [S216] A start counts, and nothing gives it back: also if the same commit cancels it.
    for (const work of this.#canceledAtOnce(commit)) entered.add(work);
    for (const work of entered) if (!left.has(work)) this.#start(commit.by, work);
    if (isMoving(this.deployment)) return this.forget();
    for (const { table, old, next } of commit.writes)
      if (table.path === `${component}/buckets` && next === undefined) {
        const { name } = old as unknown as Doc<"buckets">;
        if (this.#rows().some((row) => row.name === name)) continue;
        // It is full, and stays so at any other pace.
        this.#agrees(commit.by, { name, taken: 0, at: this.deployment.wall() });
        this.#levels.delete(name);
        this.#paces.delete(name);
      } else if (table.path === `${component}/buckets`) {
        const bucket = next as unknown as Doc<"buckets">;
        // At another pace from then on, what was taken before comes back at that.
        if (old?.["at"] !== bucket.at) this.#levels.set(bucket.name, this.#level(bucket.name));
        this.#agrees(commit.by, bucket);
      }
  }

  /** A few ms of a fast pace, by which a bucket may differ, would be too many starts of a slow one. */
  #seePaces(): void {
    for (const [name, { at }] of this.#levels) {
      const { everyMs } = this.#paceOf(name);
      if ((this.#paces.get(name) ?? everyMs) === everyMs) continue;
      const row = this.#rows().find((each) => each.name === name);
      this.#levels.set(name, row ?? { taken: 0, at });
    }
    for (const name of this.#levels.keys()) this.#paces.set(name, this.#paceOf(name).everyMs);
  }

  #start(by: string, work: string): void {
    for (const { bucket, cost } of this.#takes(work)) {
      const { everyMs, burst } = this.#paceOf(bucket);
      const level = this.#level(bucket);
      // One that takes more than there can be waits for all.
      const over = level.taken + Math.min(cost, burst) - burst;
      if (over > LATE_MS / everyMs + 0.01 && !isMoving(this.deployment))
        this.tell(`${by} takes ${cost} of ${bucket}, ${over.toFixed(1)} more than there are`);
      this.#levels.set(bucket, { taken: level.taken + cost, at: level.at });
    }
  }

  /** Returns the buckets that a work takes of, and those that have not enough for it now. */
  bucketsOf(work: string): { all: string[]; lacking: string[] } {
    const takes = this.#takes(work);
    const lacking = takes.filter(({ bucket, cost }) => {
      const { burst } = this.#paceOf(bucket);
      return this.#level(bucket).taken + Math.min(cost, burst) > burst;
    });
    const named = (some: readonly Taken[]) => some.map(({ bucket }) => bucket);
    return { all: named(takes), lacking: named(lacking) };
  }

  /** At the end every bucket is full, or says what was taken. */
  atRest(): void {
    const rows = this.#rows();
    const jobs = this.deployment.rows<Job>(this.place.component, "_scheduled_functions");
    for (const row of rows) {
      this.#agrees("the end", row);
      const job = jobs.find(({ _id }) => _id === row.job);
      // Whoever waits for it next replaces one that was lost.
      if (job !== undefined && !/^(failed|canceled)$/.test(job.state.kind))
        this.tell(`somebody is to let go on who waits for ${row.name}`);
    }
    for (const name of this.#levels.keys())
      if (!rows.some((row) => row.name === name))
        this.#agrees("the end", { name, taken: 0, at: this.deployment.wall() });
  }

  /** What a row says now is what was taken. */
  #agrees(by: string, { name, taken, at }: Pick<Doc<"buckets">, "name" | "taken" | "at">): void {
    const { everyMs } = this.#paceOf(name);
    if (everyMs === Infinity) return;
    const shown = Math.max(0, taken - Math.max(0, this.deployment.wall() - at) / everyMs);
    const known = this.#level(name).taken;
    if (Math.abs(shown - known) > LATE_MS / everyMs + 0.01)
      this.tell(`${by}: of ${name} ${known.toFixed(1)} are taken, the bucket says ${shown}`);
  }

  #takes(work: string): Taken[] {
    const asking = this.#works.get(work) ?? { permits: [], isAgain: false };
    return takenBy(this.#gate().limits ?? {}, (bucket) => this.#rateOf(bucket), asking);
  }

  #gate(): Partial<Doc<"gate">> {
    const [gate] = this.deployment.rows<Doc<"gate">>(this.place.component, "gate");
    return gate ?? {};
  }

  /** That of the code, or what an operator has said of the limit, or of this key. */
  #rateOf(bucket: string): Rate | undefined {
    const { limits = {}, overrides = [] } = this.#gate();
    const [limit = "", of] = bucket.split(":");
    const said = overrides.filter((each) => each.name === limit && !isPause(each));
    const own = of === undefined ? undefined : said.find(({ key }) => key === of);
    const ofLimit = said.find(({ key, rate }) => key === undefined && rate !== undefined);
    const asked = limits[limit]?.rate;
    return asked && ((own ?? ofLimit)?.rate ?? asked);
  }

  /** Of a rate that is gone nothing comes back. */
  #paceOf(bucket: string) {
    const rate = this.#rateOf(bucket);
    if (rate === undefined) return { everyMs: Infinity, burst: Infinity };
    const { limit: most, per, burst = most } = rate;
    const everyMs = Number(per) / most;
    return { everyMs, burst: Math.max(burst, Math.ceil((2 * ROUND_MS) / everyMs)) };
  }

  /** The works that a commit has scheduled a function for, and that hold no slot by its end. */
  #canceledAtOnce({ writes }: Commit): string[] {
    const { component } = this.place;
    const slots = this.deployment.rows<Doc<"slots">>(component, "slots");
    const held = new Set<string | undefined>(slots.map(({ work }) => work));
    return writes.flatMap(({ table, old, next }) => {
      if (table.path !== `${component}/_scheduled_functions` || old !== undefined) return [];
      // What the table holds is Convex's to say.
      const job = next as unknown as { name: string; state: { kind: string }; args: [Started] };
      const [{ works, ...own }] = job.args;
      // An executor leaves out what was canceled, and what carries large arguments does nothing.
      const isOver = job.state.kind === "canceled" || job.name.endsWith(":carry");
      const all = works ?? (isOver ? [own] : []);
      const ids = all.map(({ workId, args }) => workId ?? args?.workId ?? args?.token?.step);
      return ids.filter((id) => id !== undefined && !held.has(id)) as string[];
    });
  }

  #rows(): Doc<"buckets">[] {
    return this.deployment.rows<Doc<"buckets">>(this.place.component, "buckets");
  }

  /** What is taken now. If the clock went back, nothing comes back until the bucket is written. */
  #level(bucket: string): Level {
    const now = this.deployment.wall();
    const { taken, at } = this.#levels.get(bucket) ?? { taken: 0, at: now };
    const back = Math.max(0, now - at) / this.#paceOf(bucket).everyMs;
    return { taken: Math.max(0, taken - back), at: now };
  }
}
