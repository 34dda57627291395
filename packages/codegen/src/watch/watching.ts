import { existsSync, type FSWatcher, watch } from "node:fs";
import { join } from "node:path";
import { definitionFiles } from "../discover/discover.js";
import type { WrittenPlan } from "../plan/schema.js";

/**
 * Watches each folder that may hold definitions: Node's recursive watching on Linux takes one
 * watcher a file. @param isOwn whether the compiler itself writes a file, by its full path
 */
export function watchFolders(
  functionsDir: string,
  onChange: () => void,
  isOwn: (path: string) => boolean,
) {
  const watchers = new Map<string, FSWatcher>();
  const forget = (folder: string) => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };
  const add = (folder: string) => {
    const path = join(functionsDir, folder);
    try {
      const watcher = watch(path, (_event, name) => {
        // Not every system says which file it was.
        if (name === null || !isOwn(join(path, name))) onChange();
      });
      watchers.set(folder, watcher);
      watcher.on("error", () => {
        forget(folder);
        onChange();
      });
    } catch (error) {
      // It may have gone since it was found; one that cannot be read is reported by who reads it.
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      if (!["ENOENT", "EACCES", "EPERM"].includes(code)) throw error;
    }
  };
  /** Watches new folders and forgets those that are gone; to be called before files are read. */
  const sync = () => {
    // One that is gone, as on another branch, comes back where it was.
    const there = existsSync(functionsDir) ? definitionFiles(functionsDir).folders : [".."];
    const folders = new Set(there);
    for (const folder of watchers.keys()) if (!folders.has(folder)) forget(folder);
    for (const folder of folders) if (!watchers.has(folder)) add(folder);
  };
  sync();
  return { sync, close: () => [...watchers.keys()].forEach(forget) };
}

/** Ms without a change that end a burst: a save is several changes. */
const burstMs = 10;

/** Turns changes into rounds: one for a burst, one at a time, and always one after the last. */
export class Rounds {
  #timer: NodeJS.Timeout | undefined;
  #firstChangeAt: number | undefined;
  #running: Promise<void> | undefined;
  #closed = false;

  /** @param work gets the time of the first change of the burst; must not reject */
  constructor(private readonly work: (firstChangeAt: number) => Promise<void>) {}

  changed(): void {
    if (this.#closed) return;
    this.#firstChangeAt ??= performance.now();
    clearTimeout(this.#timer);
    if (this.#running === undefined) this.#timer = setTimeout(() => void this.start(), burstMs);
  }

  /** Ends when a round that is under way has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async start(): Promise<void> {
    const firstChangeAt = this.#firstChangeAt ?? performance.now();
    this.#firstChangeAt = undefined;
    this.#running = this.work(firstChangeAt);
    await this.#running;
    this.#running = undefined;
    // What changed meanwhile may have been read before or after it did.
    if (this.#firstChangeAt !== undefined) this.changed();
  }
}

/** Ms without a change after which `convex dev` pushes. */
const quietMs = 500;
/** Ms that such a push may take to read the files, with what it does before. */
const pushMs = 10_000;

/**
 * Which plans of a watching compiler `convex dev` may have deployed: those that were on the disk
 * for as long as it waits, or at all within ten seconds after such a plan and the beginning.
 */
export class Deployable {
  /** The one on the disk, while it is not known whether it counts. */
  #last: { readonly plan: WrittenPlan; readonly at: number } | undefined;
  #pushUntil: number;
  #plans: readonly WrittenPlan[];

  /** @param plans those that were on the disk before */
  constructor(
    plans: readonly WrittenPlan[],
    private readonly now: () => number = () => Date.now(),
  ) {
    this.#plans = plans;
    this.#pushUntil = now() + pushMs;
  }

  /** What may have been deployed by now. The tombstones of a plan stand for the plans before it. */
  get plans(): readonly WrittenPlan[] {
    if (this.#last === undefined) return this.#plans;
    const { plan, at } = this.#last;
    const pushedAt = at + quietMs;
    if (this.now() >= pushedAt) this.#pushUntil = Math.max(this.#pushUntil, pushedAt + pushMs);
    else if (at >= this.#pushUntil) return this.#plans;
    this.#last = undefined;
    this.#plans = [plan];
    return this.#plans;
  }

  /** A plan was written just now, made with regard to `plans`. */
  wrote(plan: WrittenPlan): void {
    this.#last = { plan, at: this.now() };
  }
}
