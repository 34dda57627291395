import type { FunctionReference } from "convex/server";
import { convexToJson, jsonToConvex, type Value } from "convex/values";
import { getFunctionAddress } from "convex/server";
import { type Drive, drive, type DriveOptions } from "../drive.js";
import type { Document } from "../indexed/order.js";
import type { Modules } from "../modules.js";
import { answerInAction } from "./action-syscalls.js";
import type { Backend, Happening } from "./backend.js";
import { type Backup, bringBack, dropJobs, takeBackup } from "./backups.js";
import { act, mutate, query } from "./calls.js";
import { type DeploymentClass, S256 } from "./classes.js";
import { Clock } from "./clock.js";
import { type Commit, Committer } from "./committer.js";
import { CallError, callErrorOf } from "./failure.js";
import type { Faults } from "./faults.js";
import { type Address, Functions, targetOf } from "./functions.js";
import { type Frame, frames, type Host, installGlobals } from "./isolate.js";
import type { FunctionPath, Job } from "./job.js";
import { Permits } from "./permits.js";
import { Draws } from "./random.js";
import { Scheduler } from "./scheduler.js";
import { type Schema, Store } from "./store.js";
import { answer, answerInTransaction } from "./syscalls.js";
import { LIMITS, type Snapshot, Transaction } from "./transaction.js";

// Captured at import, before a test installs fake timers.
const realSetImmediate = globalThis.setImmediate;

export interface DeploymentOptions {
  readonly class?: DeploymentClass;
  /** The same seed gives the same trace. */
  readonly seed?: number;
  readonly faults?: Faults;
  /** Where time begins, in ms since the epoch. */
  readonly now?: number;
}

/** One part of an app: the app itself, with the path `""`, or a component. */
export interface Part {
  readonly path: string;
  readonly schema?: Schema;
  readonly modules: Modules;
}

const BEGINS = Date.UTC(2030, 0);

/**
 * A deployment in virtual time: transactions that overlap, and all that follows from it.
 *
 * @example
 * const deployment = await Deployment.of([{ path: "", schema, modules }], { class: S16, seed: 1 });
 * deployment.at(100, () => deployment.mutation(api.tasks.add, {}));
 * await deployment.drive();
 */
export class Deployment {
  readonly clock: Clock;
  readonly store = new Store();
  readonly scheduler: Scheduler;
  /** When the clock has jumped, by {@link clock}, which does not, and by how much it was ahead. */
  readonly jumps: { readonly at: number; readonly aheadMs: number }[] = [];
  readonly #backend: Backend;
  readonly #listeners = new Set<(event: Happening) => void>();
  readonly #commits = new Set<(commit: Commit) => void>();
  /** Calls from outside that wait for an answer. */
  #calls = new Set<(error: CallError) => void>();
  /** What a listener has thrown first. */
  #thrown: { readonly error: unknown } | undefined;
  #skewMs = 0;
  #running = 0;

  static async of(parts: readonly Part[], options: DeploymentOptions = {}): Promise<Deployment> {
    const deployment = new Deployment(options);
    await deployment.deploy(parts);
    return deployment;
  }

  private constructor({
    class: of = S256,
    seed = 1,
    faults = {},
    now = BEGINS,
  }: DeploymentOptions) {
    installGlobals();
    const clock = (this.clock = new Clock(now));
    const draws = new Draws(seed);
    const committer = new Committer(
      of,
      clock,
      draws,
      () => this.wall(),
      (commit, transaction) => {
        this.scheduler.published(commit, transaction);
        this.#tell(this.#commits, commit);
      },
    );
    const host: Host = {
      syscall: (frame, operation, args) => answer(this.#backend, frame, operation, args),
      asyncSyscall: async (...call) => await this.#answered(...call),
      random: draws.user,
      after: (ms, run) => clock.after(ms, run),
    };
    this.#backend = {
      of,
      clock,
      draws,
      store: this.store,
      functions: new Functions(),
      committer,
      faults,
      queryPermits: new Permits(of.queryPermits, clock),
      mutationPermits: new Permits(of.mutationPermits, clock),
      actionPermits: new Permits(of.actionPermits, clock),
      wall: () => this.wall(),
      begin: () => new Transaction(committer.snapshot(), () => committer.creationTime()),
      staleSnapshot: (transaction) => staleSnapshot(committer, transaction, faults),
      invoke: async (frame, args) => await this.#invoke(frame, args),
      frameOf: (path, type, transaction, job) => this.#frame(host, path, type, transaction, job),
      told: (event) => this.#tell(this.#listeners, event),
    };
    this.scheduler = new Scheduler(this.#backend);
  }

  /** Deploys parts of an app, or other versions of them; tables stay. */
  async deploy(parts: readonly Part[]): Promise<void> {
    for (const { path, schema, modules } of parts) {
      this.store.mount(path, schema);
      await this.#backend.functions.deploy(path, modules);
    }
  }

  /** The time that functions see, in ms since the epoch. */
  wall(): number {
    return this.clock.now() + this.#skewMs;
  }

  /**
   * The clock of the deployment jumps: what functions see, but not how long anything takes.
   * @param ms how far, back if less than 0.
   */
  jump(ms: number): void {
    this.jumps.push({ at: this.clock.now(), aheadMs: this.#skewMs });
    this.#skewMs += ms;
    this.scheduler.kick();
  }

  /**
   * A client's mutation, which does not wait for earlier ones. For a client that waits, see {@link
   * client}.
   */
  async mutation(reference: Reference, args: Record<string, unknown> = {}): Promise<unknown> {
    return await this.#call(
      reference,
      args,
      async (path, json) => await mutate(this.#backend, path, json),
    );
  }

  async query(reference: Reference, args: Record<string, unknown> = {}): Promise<unknown> {
    return await this.#call(
      reference,
      args,
      async (path, json) => await query(this.#backend, path, json),
    );
  }

  async action(reference: Reference, args: Record<string, unknown> = {}): Promise<unknown> {
    const { actionPermitWaitMs } = this.#backend.of;
    return await this.#call(
      reference,
      args,
      async (path, json) => await act(this.#backend, path, json, undefined, actionPermitWaitMs),
    );
  }

  /** [49] A client, whose mutations run one after another. */
  client(): Pick<Deployment, "mutation"> {
    let line: Promise<unknown> = Promise.resolve();
    return {
      mutation: async (reference, args) => {
        const said = line.then(async () => await this.mutation(reference, args));
        line = said.catch(() => {});
        return await said;
      },
    };
  }

  /** Does something from outside, in this many ms. */
  at(ms: number, run: () => unknown): void {
    this.clock.at(this.clock.now() + ms, () => {
      // What is refused is for whoever asked to look at.
      void Promise.resolve(run()).catch(() => {});
    });
  }

  /** Runs a query on what is published now. It takes no time and disturbs nothing. */
  async look(reference: Reference, args: Record<string, unknown> = {}): Promise<unknown> {
    const transaction = this.#backend.begin();
    const frame = this.#backend.frameOf(pathOf(reference), "query", transaction, undefined);
    return jsonToConvex(JSON.parse(await this.#invoke(frame, jsonOfArgs(args))));
  }

  /** Returns what is published of a table, in the order of creation. */
  rows<Row = Document>(component: string, table: string): Row[] {
    const { documents } = this.store.table(component, table);
    const rows = [...documents.documents.values()];
    // Whoever asks knows what is in it.
    return rows.sort((a, b) => a._creationTime - b._creationTime) as Row[];
  }

  /** [35] Starts no scheduled functions, until it is resumed. */
  pause(isPaused = true): void {
    this.scheduler.pause(isPaused);
  }

  /**
   * The backend dies, and comes up again.
   * @param survives whether a commit that nobody could see yet is there afterwards.
   */
  crash(survives: (commit: Commit) => boolean = () => true): void {
    const { clock, committer, queryPermits, mutationPermits, actionPermits } = this.#backend;
    this.#backend.told({ what: "crash", note: "crash" });
    committer.crash(survives);
    clock.crash();
    for (const permits of [queryPermits, mutationPermits, actionPermits]) permits.crash();
    this.scheduler.crash();
    const calls = this.#calls;
    this.#calls = new Set();
    for (const reject of calls) reject(new CallError("The connection was lost.", "system"));
  }

  /** Restores as from a backup: documents come back, scheduled functions do not. */
  restore(): void {
    this.crash();
    dropJobs(this.store, this.scheduler);
  }

  /** Returns what is there now, to be {@link bringBack brought back}. */
  backup(): Backup {
    return takeBackup(this.store, this.scheduler);
  }

  /** Part of a backup comes back, and the rest stays: the documents, or the scheduled functions. */
  bringBack(backup: Backup, older: "documents" | "functions"): void {
    this.crash();
    bringBack(this.scheduler, backup, older);
  }

  /** Puts a document into a table, as if it had always been there. @returns its id. */
  plant(component: string, name: string, fields: Record<string, unknown>): string {
    const { documents, number } = this.store.table(component, name);
    const _id = this.#backend.draws.id(number);
    documents.set(_id, { ...fields, _id, _creationTime: this.clock.now() });
    return _id;
  }

  /** Changes documents by hand, as from the dashboard. */
  edit(table: { component: string; name: string }, id: string, next: Document | undefined): void {
    const transaction = this.#backend.begin();
    const stored = this.store.table(table.component, table.name);
    if (transaction.get(stored, id) === undefined) return;
    transaction.put(stored, id, next);
    void this.#backend.committer.commit(transaction, "by hand");
  }

  /** Each of these is called, whatever another throws: {@link drive} throws that in the end. */
  onHappening(listener: (event: Happening) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onCommit(listener: (commit: Commit) => void): () => void {
    this.#commits.add(listener);
    return () => this.#commits.delete(listener);
  }

  /** Lets virtual time go by until `done`, or until nothing is to come. */
  async drive(options: Omit<DriveOptions, "timers"> = {}): Promise<Drive> {
    const driven = await drive(this, { maxTimers: Infinity, ...options, timers: this.clock });
    const thrown = this.#thrown;
    this.#thrown = undefined;
    if (thrown !== undefined) throw thrown.error;
    return driven;
  }

  /** Lets this much virtual time pass. */
  async advance(ms: number): Promise<void> {
    let isOver = false;
    this.clock.at(this.clock.now() + ms, () => (isOver = true));
    await this.drive({ done: () => isOver });
  }

  /** All promises settle before the next event; a transaction ends at once. */
  async settled(): Promise<void> {
    do await new Promise<void>((resolve) => realSetImmediate(resolve));
    while (this.#running > 0);
  }

  #tell<Event>(listeners: ReadonlySet<(event: Event) => void>, event: Event): void {
    for (const listener of listeners)
      try {
        listener(event);
      } catch (error) {
        this.#thrown ??= { error };
      }
  }

  async #call(
    reference: Reference,
    args: Record<string, unknown>,
    perform: (path: FunctionPath, json: string) => Promise<string>,
  ): Promise<unknown> {
    const said = await new Promise<string>((resolve, reject) => {
      this.#calls.add(reject);
      const ended = () => this.#calls.delete(reject);
      perform(pathOf(reference), jsonOfArgs(args)).finally(ended).then(resolve, reject);
    });
    return jsonToConvex(JSON.parse(said));
  }

  #frame(
    host: Host,
    path: FunctionPath,
    type: Frame["type"],
    transaction: Transaction | undefined,
    job: Job | undefined,
  ): Frame {
    // [5] In a transaction time stands still.
    const startedAt = this.wall();
    const now = transaction === undefined ? () => this.wall() : () => startedAt;
    return {
      host,
      path,
      type,
      transaction,
      job,
      limits: LIMITS,
      depth: 0,
      now,
      isDead: false,
      globals: new Map(),
      queries: new Map(),
      line: Promise.resolve(),
    };
  }

  async #invoke(frame: Frame, args: string): Promise<string> {
    const found = this.#backend.functions.get(frame.path);
    const inTransaction = frame.transaction !== undefined;
    if (inTransaction) this.#running += 1;
    try {
      return await frames.run(frame, async () => {
        const { type } = frame;
        if (type === "query" && found.invokeQuery) return await found.invokeQuery(`[${args}]`);
        if (type === "mutation" && found.invokeMutation)
          return await found.invokeMutation(`[${args}]`);
        if (type === "action" && found.invokeAction)
          return await found.invokeAction("", `[${args}]`);
        throw new CallError(`${frame.path.name} is not a ${type}.`);
      });
    } catch (error) {
      throw callErrorOf(error);
    } finally {
      if (inTransaction) this.#running -= 1;
    }
  }

  async #answered(frame: Frame, operation: string, args: string): Promise<string> {
    const { transaction } = frame;
    if (transaction !== undefined) {
      const said = frame.line.then(() =>
        answerInTransaction(this.#backend, frame, transaction, operation, args),
      );
      frame.line = said.catch(() => {});
      return await said;
    }
    const never = new Promise<string>(() => {});
    if (frame.isDead) return await never;
    try {
      const said = await answerInAction(this.#backend, frame, operation, args);
      return frame.isDead ? await never : said;
    } catch (error) {
      if (frame.isDead) return await never;
      throw error;
    }
  }
}

/** What is called from outside: a reference, or a function's path as text, `module:export`. */
export type Reference =
  FunctionReference<"query" | "mutation" | "action", "public" | "internal"> | string;

function pathOf(reference: Reference): FunctionPath {
  if (typeof reference === "string") return { component: "", name: reference };
  // Untyped in the `convex` package: it takes whatever may stand for a function.
  return targetOf("", getFunctionAddress(reference) as Address);
}

function jsonOfArgs(args: Record<string, unknown>): string {
  // The caller's own values; a bad one throws here.
  return JSON.stringify(convexToJson(args as Value));
}

/** [7] */
function staleSnapshot(committer: Committer, { snapshot }: Transaction, faults: Faults): Snapshot {
  const lag = faults.staleLag?.() ?? 0;
  return lag === 0 ? snapshot : committer.snapshot(snapshot.position - lag);
}
