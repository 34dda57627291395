import type { Deployment } from "@stepwise/testing";
import { isPause } from "./pool-limits.js";
import { type Held, isAhead, isInSlot } from "./seats.js";

/** So long a work may wait while a slot is free: a drain's next round comes much sooner. */
const LONGEST_MS = 5_000;

/** What the pool's tables hold, as far as that matters here. */
interface Row {
  readonly maxParallelism?: number;
  readonly overrides?: readonly Parameters<typeof isPause>[0][];
}

/** Looks at whether somebody gives free slots to the works that wait, and only those there are. */
export class Idle {
  #waiting = 0;
  #held = 0;
  #most = 0;
  #changedAt = 0;
  #surplus: string | undefined;

  /** @param component the one that has the pool's tables. */
  constructor(
    readonly deployment: Deployment,
    readonly component: string,
  ) {
    deployment.onCommit(({ writes }) => {
      for (const { table, next } of writes)
        if (table.path === `${component}/gate`)
          this.#most = (next as Row | undefined)?.maxParallelism ?? 0;
      for (const { table, old, next } of writes) {
        if (table.path === `${component}/waiting`)
          this.#waiting += Number(next !== undefined) - Number(old !== undefined);
        else if (table.path === `${component}/slots`)
          this.#change(old as Held | undefined, next as Held | undefined);
        else if (table.path !== `${component}/gate`) continue;
        this.#changedAt = deployment.clock.now();
      }
    });
  }

  #change(before: Held | undefined, after: Held | undefined): void {
    const change = (is: (held: Held) => boolean) =>
      Number(after !== undefined && is(after)) - Number(before !== undefined && is(before));
    this.#held += change(isInSlot);
    this.#waiting += change(isAhead);
    const { work, number } = after ?? {};
    // One that an executor has may move into such a slot, as another that it ran has ended there.
    const isOther = work !== before?.work;
    if (after !== undefined && isInSlot(after) && isOther && after.number >= this.#most)
      this.#surplus = `a work begins in slot ${number} of ${this.#most}`;
  }

  /** @returns what is wrong now, if the scheduler has places. */
  look(scheduledAtOnce: number): string | undefined {
    if (this.#surplus !== undefined) return this.#surplus;
    const { clock, scheduler } = this.deployment;
    const free = this.#most - this.#held;
    const forMs = clock.now() - this.#changedAt;
    const isStuck = this.#waiting > 0 && free > 0 && forMs > LONGEST_MS;
    if (!isStuck || scheduler.running >= scheduledAtOnce) return undefined;
    return `${this.#waiting} works wait, and ${free} slots are free, for ${forMs} ms`;
  }

  /** @returns who waits when nothing is to come any more, unless an operator has it so. */
  atRest(): string | undefined {
    const [gate] = this.#rows("gate");
    const { maxParallelism = 0, overrides = [] } = gate ?? {};
    if (maxParallelism === 0 || overrides.some(isPause)) return undefined;
    const left = [...this.#rows("waiting"), ...this.#rows("limited")];
    return left.length === 0 ? undefined : `${left.length} works wait, and nobody comes for them`;
  }

  #rows(table: string): Row[] {
    return this.deployment.rows<Row>(this.component, table);
  }
}
