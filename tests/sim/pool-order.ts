import type { Commit, Deployment } from "@stepwise/testing";
import { limitOf } from "@stepwise/workpool/core";
import type { Doc } from "../../packages/workpool/src/component/_generated/dataModel.js";
import { gateOf, nameOf } from "./pool-limits.js";
import { Shown } from "./shown.js";

/**
 * [S188] A work starts before so many of its line at most that came earlier: it is one of so many,
 * or of as many as may run at once. Of those that wait for a rate it is the first.
 */
const MOST_BEFORE = 7;
/** A look sees so many keys. */
const KEYS_SEEN = 8;
/**
 * So many works of others may start while a key waits that holds no slot: one of each of the keys
 * that are seen, and as many as there are slots, which were handed out ahead, or by ends that saw
 * the key hold one. That may happen once more where the look was stale.
 */
const mostOfOthers = (keys: number, slots: number): number =>
  2 * (Math.min(keys, KEYS_SEEN) + slots);

/** A row that waits, and since which commit. */
interface Waiting {
  readonly at: bigint;
  readonly place: string;
  readonly commit: number;
}
type Row = Pick<Doc<"limited">, "work" | "at" | "fair"> & { readonly line?: string };
/** A key of fairness of which works wait. */
interface Key {
  waiting: number;
  /** Since when it has waited without a slot, and how many of others have started since. */
  since: number;
  others: number;
}

/** No work of a line and no key of fairness is passed over again and again. */
export class PoolOrder {
  readonly #limited = new Map<string, Waiting>();
  readonly #queued = new Map<string, Waiting>();
  readonly #keys = new Map<string, Key>();
  readonly #held = new Map<string, number>();
  /** How many there were at most: a pool that has become smaller has handed out as many ahead. */
  #slots = 0;
  readonly #shown: Shown;

  constructor(
    readonly deployment: Deployment,
    readonly tell: (problem: string) => void,
    readonly component: string,
  ) {
    this.#shown = new Shown(deployment);
  }

  /** What there is now is not what it has seen. */
  forget(): void {
    for (const all of [this.#limited, this.#queued, this.#keys, this.#held]) all.clear();
    for (const { work, fair } of this.deployment.rows<Doc<"slots">>(this.component, "slots"))
      if (work !== undefined) this.#hold(fair, 1);
    for (const table of ["limited", "waiting"] as const)
      for (const row of this.deployment.rows<Row>(this.component, table)) this.#join(table, row);
  }

  see({ by, writes }: Commit): void {
    this.#shown.next();
    const started = new Set<string>();
    const left = { limited: [] as string[], waiting: [] as string[] };
    const joined = { limited: [] as Row[], waiting: [] as Row[] };
    for (const { table, old, next } of writes) {
      const [component, name] = table.path.split("/");
      if (component !== this.component) continue;
      // What a table holds is for its schema to say.
      const [had, has] = [old, next] as unknown as (Doc<"slots"> | undefined)[];
      if (name === "gate") {
        const { maxParallelism = 0 } = (next ?? {}) as Partial<Doc<"gate">>;
        this.#slots = Math.max(this.#slots, maxParallelism);
      }
      if (name === "slots") {
        if (had?.work !== undefined) this.#hold(had.fair, -1);
        if (has?.work !== undefined) this.#hold(has.fair, 1);
        if (has?.work !== undefined && has.work !== had?.work) started.add(has.work);
      }
      if (name !== "limited" && name !== "waiting") continue;
      if (old !== undefined && next === undefined) left[name].push((old as unknown as Row).work);
      if (old === undefined) joined[name].push(next as unknown as Row);
    }
    const queued = new Set(joined.waiting.map(({ work }) => work));
    for (const work of left.limited)
      this.#leaveLine(by, work, started.has(work) || queued.has(work));
    const keptBack = new Set(joined.limited.map(({ work }) => work));
    for (const work of left.waiting) this.#leaveQueue(work, started.has(work), keptBack.has(work));
    // One that has left may have joined again.
    for (const table of ["limited", "waiting"] as const)
      for (const row of joined[table]) this.#join(table, row);
    this.#starve(by);
  }

  #join(table: "limited" | "waiting", { work, at, line = "", fair }: Row): void {
    const place = table === "limited" ? line : (fair?.key ?? "");
    const rows = table === "limited" ? this.#limited : this.#queued;
    rows.set(work, { at: BigInt(at as bigint), place, commit: this.#shown.commit });
    if (table === "waiting") this.#keyOf(place).waiting += 1;
  }

  #leaveLine(by: string, work: string, goesOn: boolean): void {
    const own = this.#limited.get(work);
    this.#limited.delete(work);
    if (own === undefined || !goesOn) return;
    const isEarlier = ({ at, place, commit }: Waiting) =>
      place === own.place && at < own.at && commit <= this.#shown.upTo;
    const before = [...this.#limited.values()].filter(isEarlier).length;
    const most = before === 0 ? 0 : this.#mostBefore(own.place);
    if (before > most) this.tell(`${by} has ${work} go on before ${before} of its line`);
  }

  #mostBefore(line: string): number {
    const gate = gateOf(this.deployment, this.component);
    if (gate === undefined) return MOST_BEFORE;
    const of = JSON.parse(line) as string[] | { permits: string[] };
    const permits = Array.isArray(of) ? of : of.permits;
    const isRated = permits.some((each) => gate.limits?.[nameOf(each)]?.rate !== undefined);
    const most = isRated ? [1] : permits.map((each) => Math.max(1, limitOf(gate, each)));
    return Math.min(MOST_BEFORE, ...most.map((each) => each - 1));
  }

  /** @param isKeptBack its key had its turn, and a limit was reached. */
  #leaveQueue(work: string, starts: boolean, isKeptBack: boolean): void {
    const own = this.#queued.get(work);
    this.#queued.delete(work);
    if (own === undefined) return;
    const key = this.#keyOf(own.place);
    key.waiting -= 1;
    if (isKeptBack) Object.assign(key, { since: this.#shown.commit, others: 0 });
    for (const [key, each] of this.#keys)
      if (starts && key !== own.place && each.since <= this.#shown.upTo) each.others += 1;
  }

  #starve(by: string): void {
    const most = mostOfOthers(this.#keys.size, this.#slots);
    for (const [key, each] of this.#keys) {
      const waits = each.waiting > 0 && (this.#held.get(key) ?? 0) === 0;
      if (!waits) Object.assign(each, { since: this.#shown.commit, others: 0 });
      else if (each.others > most)
        this.tell(`${by}: ${each.others} others start, as the key "${key}" waits without a slot`);
    }
  }

  #keyOf(key: string): Key {
    const known = this.#keys.get(key) ?? { waiting: 0, since: this.#shown.commit, others: 0 };
    this.#keys.set(key, known);
    return known;
  }

  #hold(key = "", change: number): void {
    this.#held.set(key, (this.#held.get(key) ?? 0) + change);
  }
}
