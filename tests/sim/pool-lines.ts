import type { Deployment } from "@stepwise/testing";
import { limitOf } from "@stepwise/workpool/core";
import type { Doc } from "../../packages/workpool/src/component/_generated/dataModel.js";
import { gateOf } from "./pool-limits.js";
import type { PoolRates } from "./pool-rates.js";
import { isInSlot } from "./seats.js";

/** So long a work may wait in its line though all that it needs is free. */
const LONGEST_MS = 5_000;

/** Looks at whether somebody comes for works that wait for limits, as soon as these let them go on. */
export class PoolLines {
  #count = 0;
  /** By line, since when its first row could start. A work that is tried again has another row. */
  readonly #free = new Map<string, { readonly row: string; readonly since: number }>();

  constructor(
    readonly deployment: Deployment,
    readonly component: string,
    readonly rates: PoolRates,
  ) {
    deployment.onCommit(({ writes }) => {
      for (const { table, old, next } of writes)
        if (table.path === `${component}/limited`)
          this.#count += Number(next !== undefined) - Number(old !== undefined);
    });
  }

  /** @returns what is wrong now, if the scheduler has places. */
  look(scheduledAtOnce: number): string | undefined {
    if (this.#count === 0) {
      this.#free.clear();
      return undefined;
    }
    const { clock, scheduler } = this.deployment;
    const gate = gateOf(this.deployment, this.component);
    const held = this.#rows("slots").filter(isInSlot).length;
    const hasPlaces = scheduler.running < scheduledAtOnce && this.#rows("waiting").length === 0;
    if (gate === undefined || held >= gate.maxParallelism || !hasPlaces) {
      this.#free.clear();
      return undefined;
    }
    const taken = new Map<string, number>();
    for (const { name } of this.#rows("permits")) taken.set(name, (taken.get(name) ?? 0) + 1);
    const firsts = this.#firsts();
    // Lines take of a bucket in turn: what is too much for it now holds up what would not be.
    const lacking = new Set(
      [...firsts.values()].flatMap(({ work }) => this.rates.bucketsOf(work).lacking),
    );
    for (const [line, { _id: row, work, permits = [] }] of firsts) {
      const isFree = permits.every((name) => (taken.get(name) ?? 0) < limitOf(gate, name));
      const before = this.#free.get(line);
      const isHeldUp = this.rates.bucketsOf(work).all.some((bucket) => lacking.has(bucket));
      if (!isFree || isHeldUp) this.#free.delete(line);
      else if (before?.row !== row) this.#free.set(line, { row, since: clock.now() });
      else if (clock.now() > before.since + LONGEST_MS)
        return `${work} waits, though all of ${line} is free`;
    }
    return undefined;
  }

  #firsts(): Map<string, Doc<"limited">> {
    const firsts = new Map<string, Doc<"limited">>();
    for (const row of this.#rows("limited")) {
      const first = firsts.get(row.line);
      if (first === undefined || BigInt(row.at as bigint) < BigInt(first.at as bigint))
        firsts.set(row.line, row);
    }
    return firsts;
  }

  #rows<Table extends "limited" | "permits" | "slots" | "waiting">(table: Table): Doc<Table>[] {
    return this.deployment.rows<Doc<Table>>(this.component, table);
  }
}
