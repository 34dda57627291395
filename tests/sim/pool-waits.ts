import type { Commit, Deployment } from "@stepwise/testing";
import type { Doc } from "../../packages/workpool/src/component/_generated/dataModel.js";
import { Shown } from "./shown.js";

/** A transaction commits up to so long after its time. */
const LATE_MS = 60;
/** By then a timer that is due has been seen to. */
const SOON_MS = 5_000;
/** The limit that only some may wait for. */
const SCARCE = "scarce";

/** A work that waits: since when, and since which commit. */
interface Wait {
  readonly since: number;
  readonly commit: number;
  readonly isScarce: boolean;
  /** Its place is that of its commit: it has no priority, and no attempt came before. */
  readonly isLast: boolean;
  /** Those with the same limits and keys wait in one line. */
  readonly line: string;
}
/** A wait that is over. */
export interface Waited {
  readonly work: string;
  readonly ms: number;
  /** How long it might take, if it might not take for ever. */
  readonly atMost: number;
}
type Row = Pick<Doc<"waiting">, "work" | "permits" | "group" | "at"> & { readonly line?: string };
type Write = Commit["writes"][number];

/** What those who look know of works. */
export interface OfWorks {
  /** Whose tables are those of the pool. */
  readonly component: string;
  readonly maxWaiting: number;
  /** Says that one was refused, as too many wait. */
  readonly isRefusal: (write: Write) => boolean;
  /** Says whether a work that begins to wait in the commit would be refused, if too many did. */
  readonly mayBeRefused: (work: string, commit: Commit) => boolean;
  readonly atMostOf: (work: string) => number | undefined;
}
type Line = Pick<Doc<"lines">, "line" | "blockedBy">;

/** Looks at how long works wait, and how many for a limit that says how many may. */
export class PoolWaits {
  readonly #waits = new Map<string, Wait>();
  /** By work, how long its last wait took, if that is over. */
  readonly waited = new Map<string, number>();
  /** Waits that are over of works that do not wait for ever. */
  readonly timed: Waited[] = [];
  /** At which commits one has ended that was for the scarce limit. */
  readonly #left: number[] = [];
  /** By line, the limit that it waits for, and since which commit. */
  readonly #blocked = new Map<string, { readonly by: string; readonly commit: number }>();
  readonly #shown: Shown;

  constructor(
    readonly deployment: Deployment,
    readonly tell: (problem: string) => void,
    readonly of: OfWorks,
  ) {
    this.#shown = new Shown(deployment);
  }

  /** What there is now is not what it has seen. */
  forget(): void {
    this.#waits.clear();
  }

  see(commit: Commit): void {
    const { writes } = commit;
    const { maxWaiting } = this.of;
    this.#shown.next();
    const [left, joined] = [new Set<string>(), new Map<string, Row>()];
    for (const { table, old, next } of writes) {
      if (table.path.endsWith("/lines")) this.#seeLine(old, next);
      if (!/\/(waiting|limited)$/.test(table.path)) continue;
      // What a table holds is for its schema to say.
      if (old !== undefined) left.add((old as unknown as Row).work);
      if (next !== undefined) joined.set(String(next["work"]), next as unknown as Row);
    }
    const now = this.deployment.clock.now();
    for (const work of left) {
      const wait = this.#waits.get(work);
      if (wait === undefined || joined.has(work)) continue;
      const ms = now - wait.since;
      const atMost = this.of.atMostOf(work);
      this.waited.set(work, ms);
      if (atMost !== undefined) this.timed.push({ work, ms, atMost });
      this.#waits.delete(work);
      if (wait.isScarce) this.#left.push(this.#shown.commit);
    }
    const added: Wait[] = [];
    for (const [work, { permits = [], group = "", line = group, at }] of joined) {
      if (this.#waits.has(work)) continue;
      const isScarce = permits.includes(SCARCE);
      const wait = {
        since: now,
        commit: this.#shown.commit,
        isScarce,
        isLast: at === commit.ts,
        line,
      };
      if (isScarce && this.of.mayBeRefused(work, commit)) added.push(wait);
      this.#waits.set(work, wait);
    }
    if (writes.some(this.of.isRefusal)) {
      const recent = this.#left.filter((commit) => commit > this.#shown.upTo).length;
      const all = [...this.#waits.values()].filter(({ isScarce }) => isScarce).length + recent;
      if (all < maxWaiting) this.tell(`one was refused, as ${all} wait for ${SCARCE}`);
    }
    const [gate] = this.deployment.rows<Doc<"gate">>(this.of.component, "gate");
    // An operator may have removed it.
    const most = gate?.limits?.[SCARCE]?.maxWaiting ?? Infinity;
    // Attempts and delayed works do not count.
    for (const { line } of added) {
      const others = added.filter((other) => other.line === line && other.isLast).length;
      const all = this.#seenFrom(line) + Math.max(1, others);
      if (all > most) this.tell(`one begins to wait for ${SCARCE}, as ${all - 1} do`);
    }
  }

  #seeLine(old?: Write["old"], next?: Write["next"]): void {
    const { line: left } = (old ?? {}) as Partial<Line>;
    if (left !== undefined && next === undefined) this.#blocked.delete(left);
    const { line, blockedBy } = (next ?? {}) as Partial<Line>;
    if (line === undefined || this.#blocked.get(line)?.by === blockedBy) return;
    this.#blocked.set(line, { by: String(blockedBy), commit: this.#shown.commit });
  }

  /** How many any snapshot shows: in the line that one joins, and in those that wait for the limit. */
  #seenFrom(own: string): number {
    const isOld = (commit: number) => commit <= this.#shown.upTo;
    const isSeen = (line: string) => {
      const blocked = this.#blocked.get(line);
      return line === own || (blocked?.by === SCARCE && isOld(blocked.commit));
    };
    const counts = ({ isScarce, commit, line }: Wait) => isScarce && isOld(commit) && isSeen(line);
    return [...this.#waits.values()].filter(counts).length;
  }

  /** @returns the waits that were longer than they might be. */
  tooLong(): string[] {
    return this.timed
      .filter(({ ms, atMost }) => ms > atMost + SOON_MS)
      .map(({ work, ms, atMost }) => `${work} has waited for ${ms} ms of ${atMost}`);
  }

  /** @returns what is wrong with a work that has failed since it has waited for as long as it may. */
  static told(waited: number | undefined, atMost: number, mayBeLate: boolean): string | undefined {
    if (waited === undefined) return "it has not waited";
    if (waited < atMost - LATE_MS) return `it has waited for ${waited} ms only`;
    return !mayBeLate && waited > atMost + SOON_MS ? `it has waited for ${waited} ms` : undefined;
  }
}
