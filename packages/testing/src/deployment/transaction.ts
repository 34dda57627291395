import type { Document } from "../indexed/order.js";
import { noUsage, type Usage } from "../usage.js";
import { CallError } from "./failure.js";
import { ReadSet } from "./reads.js";
import type { Job } from "./job.js";
import { JOBS, sizeOf, type StoredTable } from "./store.js";

const MIB = 2 ** 20;

/** [46] [50] */
export const LIMITS: Readonly<Usage> = {
  documentsRead: 32_000,
  bytesRead: 16 * MIB,
  documentsWritten: 16_000,
  bytesWritten: 16 * MIB,
  databaseQueries: 4_096,
  functionsScheduled: 1_000,
  scheduledFunctionArgsBytes: 16 * MIB,
};

const KINDS = Object.keys(LIMITS) as (keyof Usage)[];

/** What a transaction sees below its own writes. */
export interface Snapshot {
  /** The position of the newest commit in it. */
  readonly position: number;
  /** Its timestamp, in ns since the epoch. */
  readonly ts: bigint;
  /** Documents that have changed since, as they were. */
  past(table: StoredTable): ReadonlyMap<string, Document | undefined> | undefined;
}

export interface Write {
  readonly table: StoredTable;
  readonly id: string;
  readonly old: Document | undefined;
  readonly next: Document | undefined;
}

export const NOTHING: ReadonlyMap<string, Document | undefined> = new Map();
/** [6] The least step between two numbers of this size. */
const CREATION_STEP = 2 ** -12;

/** What one transaction has read, and what it has written and not committed. */
export class Transaction {
  readonly reads = new ReadSet();
  readonly usage = noUsage();
  /** [7] What it has read from stale snapshots, which counts as egress and not for its limits. */
  readonly staleUsage = noUsage();
  /** What it has scheduled. */
  readonly jobs = new Map<string, Job>();
  readonly #writes = new Map<StoredTable, Map<string, Document | undefined>>();
  /** What was there of the documents that it has written. */
  readonly #olds = new Map<string, Document | undefined>();
  readonly #undo: (() => void)[] = [];
  #nextCreation: number | undefined;
  nestedCalls = 0;
  /** What it reads now leaves no trace, by a fault. */
  isForgetful = false;

  /**
   * @param firstCreation asked once, when its code runs.
   * @param isStale it reads a stale snapshot: that leaves no trace ([7]).
   */
  constructor(
    readonly snapshot: Snapshot,
    readonly firstCreation: () => number,
    readonly isStale = false,
  ) {}

  get isRecording(): boolean {
    return !this.isStale && !this.isForgetful;
  }

  /** [6] When the next document was made: each a least step after the one before. */
  creationTime(): number {
    const at = this.#nextCreation ?? this.firstCreation();
    this.#nextCreation = at + CREATION_STEP;
    return at;
  }

  /** [9] A point of `by_id`, found or not. */
  get(table: StoredTable, id: string, limits: Readonly<Usage> = LIMITS): Document | undefined {
    this.usage.databaseQueries += 1;
    if (this.isRecording) this.reads.point(table, id);
    const document = this.current(table, id);
    if (document !== undefined) this.saw(document, limits);
    return document;
  }

  /** Returns what a document is now, without a trace of having looked. */
  current(table: StoredTable, id: string): Document | undefined {
    const own = this.#writes.get(table);
    return own?.has(id) === true ? own.get(id) : this.#before(table, id);
  }

  /** Counts a document as read. */
  saw(document: Document, limits: Readonly<Usage>): void {
    this.usage.documentsRead += 1;
    this.usage.bytesRead += sizeOf(document);
    this.check(limits);
  }

  put(table: StoredTable, id: string, next: Document | undefined, limits = LIMITS): void {
    let own = this.#writes.get(table);
    if (own === undefined) this.#writes.set(table, (own = new Map()));
    const changes = own;
    const wasWritten = changes.has(id);
    const before = changes.get(id);
    if (!this.#olds.has(id)) this.#olds.set(id, this.#before(table, id));
    changes.set(id, next);
    // Rows of the scheduler's are the system's, not the user's.
    const documents = table.name === JOBS ? 0 : 1;
    const bytes = documents === 0 || next === undefined ? 0 : sizeOf(next);
    this.usage.documentsWritten += documents;
    this.usage.bytesWritten += bytes;
    this.#undo.push(() => {
      if (wasWritten) changes.set(id, before);
      else changes.delete(id);
      this.usage.documentsWritten -= documents;
      this.usage.bytesWritten -= bytes;
    });
    this.check(limits);
  }

  /** [50] [52] A function may catch this. */
  check(limits: Readonly<Usage>): void {
    const { usage } = this;
    for (const kind of KINDS)
      if (usage[kind] > limits[kind])
        throw new CallError(`Too much in one transaction: ${usage[kind]} of ${kind}`);
  }

  /**
   * Returns what differs of a table from what is published: what has changed since the snapshot,
   * and own writes.
   */
  changesOf(table: StoredTable): ReadonlyMap<string, Document | undefined> {
    const own = this.#writes.get(table);
    const past = this.snapshot.past(table);
    if (past === undefined) return own ?? NOTHING;
    return own === undefined ? past : new Map([...past, ...own]);
  }

  /** A place that {@link rollBackTo} comes back to. */
  get mark(): number {
    return this.#undo.length;
  }

  /**
   * [12] [26] [27] Takes writes back; what was read, and the count of what was scheduled, stays.
   */
  rollBackTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()!();
  }

  writes(): Write[] {
    return [...this.#writes].flatMap(([table, changes]) =>
      [...changes]
        .map(([id, next]) => ({ table, id, old: this.#olds.get(id), next }))
        // Inserted and deleted again.
        .filter(({ old, next }) => old !== undefined || next !== undefined),
    );
  }

  #before(table: StoredTable, id: string): Document | undefined {
    const past = this.snapshot.past(table);
    return past?.has(id) === true ? past.get(id) : table.documents.documents.get(id);
  }
}
