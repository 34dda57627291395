import type { Commit, Deployment } from "@stepwise/testing";
import type { Doc } from "../../packages/workflow/test/component.js";
import type { Collect, Workflows } from "../differential/definition.js";
import { isMoving, LATE_MS } from "./clock-moves.js";
import { Shown } from "./shown.js";

type Run = Doc<"runs">;

/** By then a run has begun whose time has come. */
const SOON_MS = 10_000;

/** A start that was collected, in the order of commits. */
interface Start {
  /** Its own. */
  readonly at: string;
  readonly ms: number;
  readonly commit: number;
  /** As of the first start of its run: what a deploy changes is not for who collects already. */
  readonly collect: Collect;
  /** That many are enough, as of this one. */
  readonly size: number;
}
/** What the app writes down with each of them. */
interface Told {
  readonly run: string;
  readonly at: string;
}

/** [S204] [S205] [S207] Starts become one run, and nothing that was started is lost. */
export class Collecting {
  /** By run, the starts that it was given and that no run has taken. */
  readonly #starts = new Map<string, Start[]>();
  /** Runs that take no more. */
  readonly #begun = new Set<string>();
  /** Runs that were paused may begin at any time. */
  readonly #paused = new Set<string>();
  /** What was too late, if nothing went wrong. */
  readonly late: string[] = [];
  readonly #shown: Shown;

  constructor(
    readonly deployment: Deployment,
    readonly tell: (problem: string) => void,
    /** Those that are deployed. */
    readonly workflows: () => Workflows,
  ) {
    this.#shown = new Shown(deployment);
  }

  see({ by, writes }: Commit): void {
    this.#shown.next();
    for (const { table, next } of writes)
      if (table.path === "starts" && next !== undefined) this.#start(next as unknown as Told);
    for (const { table, old, next } of writes)
      if (table.path === "workflow/runs" && old?.["collects"] !== undefined)
        this.#look(by, old as unknown as Run, next as unknown as Run | undefined, writes);
  }

  #start({ run, at }: Told): void {
    if (this.#begun.has(run)) this.tell(`${at} was given to ${run}, which has begun`);
    const { documents } = this.deployment.store.table("workflow", "runs").documents;
    const before = this.#starts.get(run) ?? [];
    const present = this.#collectOf(documents.get(run) as Run | undefined);
    // It began before a deploy that collects no more.
    if (present === undefined) return;
    const { size = Infinity } = present;
    const collect = before[0]?.collect ?? present;
    const start = { at, ms: this.deployment.wall(), commit: this.#shown.commit, collect, size };
    if (before.filter(({ commit }) => commit <= this.#shown.upTo).length >= size)
      this.tell(`${at} was given to ${run}, which has ${size} already`);
    this.#starts.set(run, [...before, start]);
  }

  /** A run that collects has begun, or ended, or been paused. */
  #look(by: string, old: Run, next: Run | undefined, writes: Commit["writes"]): void {
    if (next?.paused === true) this.#paused.add(old._id);
    const hasEnded = next?.endedAt !== undefined && old.endedAt === undefined;
    if (next?.collects !== undefined && !hasEnded) return;
    const collect = this.#collectOf(old);
    const given = next?.input ?? largeInputOf(old._id, writes);
    this.#begun.add(old._id);
    if (collect !== undefined && given !== undefined) this.#take(by, old, collect, given);
    // What a run has collected that is canceled is dropped, or that no code collects any more.
    else this.#starts.delete(old.collects?.rest ?? old._id);
  }

  #collectOf(run: Run | undefined): Collect | undefined {
    return run && this.workflows()[run.workflow]?.definition.options.collect;
  }

  #take(by: string, run: Run, collect: Collect, given: unknown): void {
    const source: string = run.collects?.rest ?? run._id;
    const starts = this.#starts.get(source) ?? [];
    const { keep, size = Infinity } = collect;
    const { items, at } = given as { items?: Told[]; at?: string };
    const taken = items?.map((item) => item.at) ?? [at];
    const most = Math.min(size, starts.length);
    const wanted =
      keep === "all"
        ? starts.slice(0, most)
        : keep === "last"
          ? starts.slice(-1)
          : starts.slice(0, 1);
    const all = wanted.map((start) => start.at);
    if (String(taken) !== String(all))
      this.tell(`${by}: ${run._id} takes ${taken}, and not ${all}`);
    this.#starts.set(source, keep === "all" ? starts.slice(taken.length) : []);
    if (source === run._id) this.#timely(by, run, starts);
  }

  /** It has begun when its time had come, or when it was full. */
  #timely(by: string, { _id }: Run, starts: readonly Start[]): void {
    const [first] = starts;
    if (first === undefined) return;
    const { quiet, atMost = 10 * quiet } = first.collect;
    const { size } = starts.at(-1) ?? first;
    const now = this.deployment.wall();
    const dueAfter = (some: readonly Start[]) =>
      Math.min((some.at(-1)?.ms ?? 0) + quiet, first.ms + atMost);
    // The last ones may not have been seen by whoever closed it.
    const seen = starts.filter(({ commit }) => commit <= this.#shown.upTo);
    if (starts.length < size && now < dueAfter(seen) - LATE_MS && !isMoving(this.deployment))
      this.tell(`${by}: ${_id} begins ${Math.ceil(dueAfter(seen) - now)} ms before its time`);
    if (now > dueAfter(starts) + SOON_MS && !this.#paused.has(_id))
      this.late.push(`${by}: ${_id} begins ${now - dueAfter(starts)} ms late`);
  }

  /** Nothing waits to be taken any more. */
  atRest(): void {
    for (const [run, starts] of this.#starts)
      if (starts.length > 0) this.tell(`${starts.map(({ at }) => at)} of ${run} were lost`);
  }
}

/** A large input has a record of its own. */
function largeInputOf(run: string, writes: Commit["writes"]): unknown {
  const isIts = ({ table, next }: Commit["writes"][number]) =>
    table.path === "workflow/steps" && next?.["run"] === run && next["stage"] === "input";
  return writes.find(isIts)?.next?.["output"];
}
