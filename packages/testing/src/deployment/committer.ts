import type { Document } from "../indexed/order.js";
import type { Clock } from "./clock.js";
import type { DeploymentClass } from "./classes.js";
import { resolved } from "./commit-times.js";
import { CallError } from "./failure.js";
import type { Draws } from "./random.js";
import type { ReadSet } from "./reads.js";
import { JOBS, sizeOf, type StoredTable } from "./store.js";
import type { Snapshot, Transaction, Write } from "./transaction.js";

export interface Commit {
  readonly position: number;
  /** [17] Its timestamp in ns since the epoch, and when others could see it, in ms. */
  readonly ts: bigint;
  publishedAt?: number;
  /** The function, or the part of the system, that made it. */
  readonly by: string;
  readonly writes: readonly Write[];
}

export interface Conflict {
  readonly table: StoredTable;
  readonly index: string;
  readonly id: string;
  /** Who was first. */
  readonly commit: Commit;
}

const NS_PER_MS = 1_000_000n;

/** Validates commits against what others have committed, and publishes them in order. */
export class Committer {
  /** [15] [18] The commits to check a transaction against, pending ones too. */
  #log: Commit[] = [];
  #published = 0;
  #lastTs: bigint;
  #publishedTs: bigint;
  #lastPublishAt = 0;
  #waiting: { position: number; resolve: () => void }[] = [];
  /** What was written lately: when, and how much. */
  readonly #written: { at: number; bytes: number }[] = [];
  #writtenBytes = 0;

  constructor(
    readonly of: DeploymentClass,
    readonly clock: Clock,
    readonly draws: Draws,
    /** The deployment's clock, in ms. It may jump. */
    readonly wall: () => number,
    readonly onPublish: (commit: Commit, transaction: Transaction) => void,
  ) {
    this.#lastTs = this.#publishedTs = this.#now();
  }

  /** [1] The newest published snapshot, or one of an earlier position. */
  snapshot(earlier = this.#published): Snapshot {
    const position = Math.max(0, earlier, this.#firstPosition() - 1);
    let known = position;
    let past = new Map<StoredTable, Map<string, Document | undefined>>();
    return {
      position,
      ts: this.#publishedTs,
      past: (table) => {
        if (known !== this.#published) {
          past = this.#pastOf(position);
          known = this.#published;
        }
        return past.get(table);
      },
    };
  }

  /** [6] */
  creationTime(): number {
    const next = this.#publishedTs + 1n;
    const now = this.#now();
    return Number(next > now ? next : now) / Number(NS_PER_MS);
  }

  /** [3] */
  isReadable({ position }: Snapshot): boolean {
    const successor = this.#at(position + 1);
    const at = successor?.publishedAt;
    return at === undefined || this.clock.now() - at <= this.of.snapshotMs;
  }

  /** [15] [17] Resolves when the commit is published, or at once with what it conflicts with. */
  async commit(transaction: Transaction, by: string): Promise<Conflict | undefined> {
    const writes = transaction.writes();
    // [14] Without writes there is nothing to be checked.
    if (writes.length === 0) return undefined;
    this.#forget();
    const { position } = transaction.snapshot;
    if (position + 1 < this.#firstPosition())
      throw new CallError("OutOfRetention: the snapshot is too old to commit.", "system");
    const conflict = this.#conflictOf(transaction.reads, position);
    if (conflict !== undefined) return conflict;
    await this.#append(transaction, writes, by);
    return undefined;
  }

  /** [21] Until a commit that somebody has lost to can be read. */
  async published({ position }: Commit): Promise<void> {
    if (position <= this.#published) return;
    await new Promise<void>((resolve) => this.#waiting.push({ position, resolve }));
  }

  /** [25] */
  get isWritingTooMuch(): boolean {
    const since = this.clock.now() - 1_000;
    for (let first = this.#written[0]; first !== undefined; first = this.#written[0]) {
      if (first.at > since) break;
      this.#writtenBytes -= first.bytes;
      this.#written.shift();
    }
    return this.#writtenBytes > this.of.bytesPerSecond;
  }

  /** Commits that were not yet published are there after a restart, or are not: as each says. */
  crash(survives: (commit: Commit) => boolean): void {
    const pending = this.#log.filter(({ position }) => position > this.#published);
    this.#waiting = [];
    // What is persisted is a beginning of what was under way.
    let count = 0;
    while (count < pending.length && survives(pending[count]!)) count += 1;
    this.#log = this.#log.filter(({ position }) => position <= this.#published + count);
    for (const commit of pending.slice(0, count)) this.#publish(commit);
    this.#lastPublishAt = this.clock.now();
  }

  async #append(transaction: Transaction, writes: readonly Write[], by: string): Promise<void> {
    const now = this.#now();
    this.#lastTs = this.#lastTs + 1n > now ? this.#lastTs + 1n : now;
    const ts = this.#lastTs;
    const position = (this.#log.at(-1)?.position ?? this.#published) + 1;
    const commit: Commit = {
      position,
      ts,
      by,
      writes: writes.map((write) => ({ ...write, next: resolved(write.next, ts) })),
    };
    this.#transactions.set(commit, transaction);
    this.#log.push(commit);
    const at = Math.max(
      this.clock.now() + this.draws.within(this.of.persistMs),
      this.#lastPublishAt,
    );
    this.#lastPublishAt = at;
    await this.clock.sleep(at - this.clock.now());
    // A crash may have published it, or taken it away.
    if (position === this.#published + 1) this.#publish(commit);
  }
  readonly #transactions = new WeakMap<Commit, Transaction>();

  #publish(commit: Commit): void {
    let bytes = 0;
    for (const write of commit.writes) {
      write.table.documents.set(write.id, write.next);
      bytes += writtenBytes(write, this.of);
    }
    commit.publishedAt = this.clock.now();
    this.#published = commit.position;
    this.#publishedTs = commit.ts;
    this.#written.push({ at: this.clock.now(), bytes });
    this.#writtenBytes += bytes;
    this.onPublish(commit, this.#transactions.get(commit)!);
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = waiting.filter(({ position }) => position > commit.position);
    for (const { position, resolve } of waiting) if (position <= commit.position) resolve();
  }

  #conflictOf(reads: ReadSet, since: number): Conflict | undefined {
    const first = Math.max(0, since + 1 - this.#firstPosition());
    for (let at = first; at < this.#log.length; at += 1) {
      const commit = this.#log[at]!;
      for (const { table, id, old, next } of commit.writes) {
        const index = reads.touchedBy(table, id, [next, old]);
        if (index !== undefined) return { table, index, id, commit };
      }
    }
    return undefined;
  }

  /** Returns what documents were at a position, of those that have changed since. */
  #pastOf(position: number): Map<StoredTable, Map<string, Document | undefined>> {
    const past = new Map<StoredTable, Map<string, Document | undefined>>();
    for (let at = this.#log.length - 1; at >= 0; at -= 1) {
      const commit = this.#log[at]!;
      if (commit.position > this.#published) continue;
      if (commit.position <= position) break;
      for (const { table, id, old } of commit.writes) {
        let documents = past.get(table);
        if (documents === undefined) past.set(table, (documents = new Map()));
        documents.set(id, old);
      }
    }
    return past;
  }

  /** [18] */
  #forget(): void {
    const before = this.clock.now() - this.of.logMs;
    const first = this.#log[0];
    if (first?.publishedAt === undefined || first.publishedAt >= before - 1_000) return;
    const kept = this.#log.findIndex(
      ({ publishedAt }) => publishedAt === undefined || publishedAt >= before,
    );
    this.#log = kept === -1 ? [] : this.#log.slice(kept);
  }

  #firstPosition(): number {
    return this.#log[0]?.position ?? this.#published + 1;
  }

  #at(position: number): Commit | undefined {
    return this.#log[position - this.#firstPosition()];
  }

  #now(): bigint {
    return BigInt(Math.floor(this.wall() * 1_000)) * 1_000n;
  }
}

/** [25] [32] Arguments have a row of their own, which is written when they are scheduled. */
function writtenBytes({ table, old, next }: Write, { indexEntryBytes }: DeploymentClass): number {
  const entries = table.indexCount * indexEntryBytes;
  if (next === undefined) return entries;
  if (table.name !== JOBS) return sizeOf(next) + entries;
  // Nobody else writes to that table.
  const { args } = next as Document & { readonly args: object };
  return old === undefined ? sizeOf(next) + 2 * entries : sizeOf(next) - sizeOf(args) + entries;
}
