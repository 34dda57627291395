import type { Backend } from "./backend.js";
import { act, execute, refusalOf } from "./calls.js";
import type { Commit, Conflict } from "./committer.js";
import { callErrorOf } from "./failure.js";
import { type Job, textOf } from "./job.js";
import { JOBS, jsonOf, type StoredTable } from "./store.js";
import { type JobRow, rowOf } from "./syscalls.js";
import type { Transaction } from "./transaction.js";

const FINISHED_AT_ONCE = 1_000;

/** [33] The one loop of a deployment that starts what is due, in all components. */
export class Scheduler {
  /** By id: what is pending or in progress. */
  readonly #jobs = new Map<string, Job>();
  /** [33] In the order of their due times; then in that of their publishing. */
  #line: Job[] = [];
  /** [45] */
  readonly #finished: { readonly id: string; readonly table: StoredTable; readonly at: number }[] =
    [];
  #running = 0;
  #isRoundDue = false;
  #wakeAt = Infinity;
  #isPaused = false;

  constructor(readonly backend: Backend) {}

  get running(): number {
    return this.#running;
  }

  /** [32] What a commit has changed of the rows. */
  published(commit: Commit, transaction: Transaction | undefined): void {
    for (const { table, id, next } of commit.writes) {
      if (table.name !== JOBS) continue;
      const state = (next as JobRow | undefined)?.state.kind;
      const job = transaction?.jobs.get(id);
      if (state === "pending") {
        if (job !== undefined) this.#add(job);
      } else if (state !== "inProgress") {
        this.#jobs.delete(id);
        if (next !== undefined) this.#finished.push({ id, table, at: this.backend.clock.now() });
      }
    }
  }

  /** [35] */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.kick();
  }

  /** [40] All that ran is gone. What is pending runs again; what is in progress is found so. */
  crash(): void {
    this.#running = 0;
    this.#wakeAt = Infinity;
    this.#line = [];
    for (const job of this.#jobs.values()) this.#enqueue(job);
    this.#isRoundDue = false;
    this.#kickAfter(this.backend.of.restartMs);
  }

  get jobs(): readonly Job[] {
    return [...this.#jobs.values()];
  }

  /** Keeps only these jobs. Default: none. */
  reset(jobs: readonly Job[] = []): void {
    this.#jobs.clear();
    this.#line = [];
    for (const job of jobs) this.#add(job);
  }

  /** Wakes it: a job has ended, rows have changed, the next is due. */
  kick(): void {
    const { draws, of } = this.backend;
    if (!this.#isRoundDue) this.#kickAfter(draws.within(of.roundMs));
  }

  #kickAfter(ms: number): void {
    this.#isRoundDue = true;
    this.backend.clock.after(ms, () => {
      this.#isRoundDue = false;
      this.#round();
    });
  }

  #round(): void {
    const { clock, of, wall } = this.backend;
    this.#deleteFinished();
    // [34] At the limit it does not look at all.
    while (!this.#isPaused && this.#running < of.scheduledAtOnce) {
      const job = this.#line[0];
      if (job === undefined) return;
      const leftMs = job.dueAt - wall();
      if (leftMs > 0) {
        const at = clock.now() + leftMs;
        if (at < this.#wakeAt || this.#wakeAt <= clock.now()) {
          this.#wakeAt = at;
          clock.after(leftMs, () => this.kick());
        }
        return;
      }
      this.#line.shift();
      this.#running += 1;
      void this.#run(job).finally(() => {
        this.#running -= 1;
        this.kick();
      });
    }
  }

  #add(job: Job): void {
    this.#jobs.set(job.id, job);
    this.#enqueue(job);
    this.kick();
  }

  #enqueue(job: Job): void {
    const line = this.#line;
    let from = 0;
    let to = line.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (line[middle]!.dueAt <= job.dueAt) from = middle + 1;
      else to = middle;
    }
    line.splice(from, 0, job);
  }

  async #run(job: Job): Promise<void> {
    const { backend } = this;
    try {
      const row = rowOf(backend.begin(), job);
      if (row === undefined || !this.#jobs.has(job.id)) return;
      if (row.state.kind === "inProgress") await this.#fail(job, row, TRANSIENT);
      if (row.state.kind !== "pending") return;
      const found = backend.functions.find(job.target);
      const lagMs = backend.wall() - job.dueAt;
      backend.told({ what: "started", path: job.target, lagMs });
      if (found === undefined) await this.#fail(job, row, "Could not find the function.");
      else if (found.isAction === true) await this.#runAction(job);
      else await this.#runMutation(job, found.isQuery === true ? "query" : "mutation");
    } catch (error) {
      this.#putOff(job, callErrorOf(error).message);
    }
  }

  /** [36] In one transaction with the change of its row. */
  async #runMutation(job: Job, type: "query" | "mutation"): Promise<void> {
    const { backend } = this;
    const { of, clock, draws, committer } = backend;
    for (let failures = 0; ; failures += 1) {
      const refusal = refusalOf(backend, job.target);
      if (refusal?.kind === "permits") throw refusal;
      // [25]
      if (refusal !== undefined) {
        await clock.sleep(draws.backoff(of.scheduledRepeatMs, of.mostScheduledRepeatMs, failures));
        continue;
      }
      const transaction = backend.begin();
      const row = rowOf(transaction, job);
      if (row?.state.kind !== "pending") return;
      setState(transaction, job, row, "inProgress");
      try {
        await execute(backend, transaction, job.target, job.args, type, job);
      } catch (error) {
        const { kind, message } = callErrorOf(error);
        if (kind === "permits" || kind === "system") throw error;
        return await this.#fail(job, row, message);
      }
      setState(transaction, job, row, "success", { completedTime: backend.wall() });
      const conflict = await committer.commit(transaction, textOf(job.target));
      if (conflict === undefined) {
        backend.told({ what: "committed", path: job.target, attempts: failures + 1 });
        return;
      }
      this.#lost(job, conflict);
      // [23] It keeps its place among those that run.
      await clock.sleep(draws.backoff(of.scheduledRepeatMs, of.mostScheduledRepeatMs, failures));
    }
  }

  /** [39] A commit before it, and one after. */
  async #runAction(job: Job): Promise<void> {
    const { backend } = this;
    const transaction = backend.begin();
    const row = rowOf(transaction, job);
    if (row?.state.kind !== "pending") return;
    setState(transaction, job, row, "inProgress");
    // Somebody has canceled it.
    if ((await backend.committer.commit(transaction, "scheduler")) !== undefined) return;
    let error: string | undefined;
    try {
      await act(backend, job.target, job.args, job);
    } catch (thrown) {
      error = callErrorOf(thrown).message;
    }
    await this.#end(job, { ...row, state: { kind: "inProgress" } }, error);
  }

  /** [37] [40] */
  async #fail(job: Job, row: JobRow, error: string): Promise<void> {
    this.backend.told({ what: "failed", path: job.target, error });
    await this.#end(job, row, error);
  }

  /** Repeated until it goes through, unless the row is not what it was. */
  async #end(job: Job, was: JobRow, error: string | undefined): Promise<void> {
    const { backend } = this;
    const { of, clock, draws, committer } = backend;
    for (let failures = 0; ; failures += 1) {
      const transaction = backend.begin();
      const row = rowOf(transaction, job);
      if (row === undefined || jsonOf(row) !== jsonOf(was)) return;
      const completedTime = backend.wall();
      if (error === undefined) setState(transaction, job, row, "success", { completedTime });
      else setState(transaction, job, row, "failed", { completedTime }, { error });
      if ((await committer.commit(transaction, "scheduler")) === undefined) return;
      await clock.sleep(draws.backoff(of.scheduledRepeatMs, of.mostScheduledRepeatMs, failures));
    }
  }

  /** [38] A system error: it is tried again later. */
  #putOff(job: Job, error: string): void {
    const { of, draws, wall } = this.backend;
    const { systemErrors } = job;
    this.backend.told({ what: "failed", path: job.target, error });
    const pause = draws.backoff(of.systemErrorMs, of.mostSystemErrorMs, systemErrors);
    if (!this.#jobs.has(job.id)) return;
    this.#add({ ...job, dueAt: wall() + pause, systemErrors: systemErrors + 1 });
  }

  #lost(job: Job, conflict: Conflict): void {
    this.backend.told({ what: "conflict", path: job.target, with: conflict });
  }

  /** [45] */
  #deleteFinished(): void {
    const { clock, of, begin, committer } = this.backend;
    const before = clock.now() - of.finishedJobsMs;
    if ((this.#finished[0]?.at ?? Infinity) > before) return;
    const old = this.#finished.splice(0, FINISHED_AT_ONCE);
    const kept = old.filter(({ at }) => at > before);
    this.#finished.unshift(...kept);
    const transaction = begin();
    for (const { id, table } of old.slice(0, old.length - kept.length))
      if (transaction.get(table, id) !== undefined) transaction.put(table, id, undefined);
    void committer.commit(transaction, "scheduler");
  }
}

const TRANSIENT = "Transient error while executing action";

/** The row as it is staged; nobody else sees it before the commit. */
function setState(
  transaction: Transaction,
  { table, id }: Job,
  row: JobRow,
  kind: JobRow["state"]["kind"],
  more: object = {},
  state: object = {},
): void {
  transaction.put(table, id, { ...row, ...more, state: { kind, ...state } });
}
