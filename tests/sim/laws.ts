import type { Commit, Deployment } from "@stepwise/testing";
import { isEnd } from "../differential/definition.js";
import { mostTolerated } from "../differential/measures.js";
import { BAD, keyOf } from "../differential/records.js";
import type { RunRow, StepRow } from "../differential/rest.js";
import { latestTime } from "./clock-moves.js";

/** What one commit has made of a document. */
interface Change<Row> {
  readonly old: Row | undefined;
  readonly next: Row | undefined;
}

/** More failures than these are counted a moment later. */
const COUNTED_AT_ONCE = 2;

/**
 * What no commit may make of runs and step records. It is seen at once, also in a scenario that is
 * given up before its end.
 */
export class Laws {
  /** By the parent's record, how many of its children have not ended. */
  readonly #unended = new Map<string, number>();
  /** By the same, how many have ended badly, but for those of the present commit. */
  readonly #bad = new Map<string, number>();
  /** Of all records, which have the same idempotency key. */
  readonly #records = new Map<string, Set<string>>();

  constructor(
    readonly deployment: Deployment,
    readonly problems: Set<string>,
  ) {}

  see({ by, writes }: Commit): void {
    const fresh = new Set(writes.filter(({ old }) => old === undefined).map(({ id }) => id));
    for (const { table, id, old, next } of writes) {
      // What a table holds is for its schema to say.
      if (table.path === "workflow/runs") this.#run(by, { old, next } as Change<RunRow>);
      else if (table.path === "workflow/steps")
        this.#step(id, { old, next } as Change<StepRow>, fresh);
    }
    // Only now, as the last child may have ended in the same commit.
    for (const { table, old, next } of writes)
      if (table.path === "workflow/steps")
        this.#settled({ old, next } as Change<StepRow>, badIn(writes));
    for (const { table, old, next } of writes)
      if (table.path === "workflow/runs" && old !== undefined)
        this.#endedBadly({ old, next } as Change<RunRow>);
  }

  /** What there is now is not what it has seen. */
  forget(): void {
    this.#unended.clear();
    this.#bad.clear();
    this.#records.clear();
    for (const run of this.deployment.rows<RunRow>("workflow", "runs"))
      this.#count({ old: undefined, next: run });
    for (const step of this.deployment.rows<StepRow>("workflow", "steps"))
      this.#ofKey(step).add(step._id);
  }

  #run(by: string, { old, next }: Change<RunRow>): void {
    this.#count({ old, next });
    if (next !== undefined && next.expiresAt !== undefined && !isEnd(next.state))
      this.problems.add(`${next._id} is ${next.state}, and expires`);
    if (next !== undefined || old === undefined || old.root !== undefined) return;
    if (!isEnd(old.state)) this.problems.add(`${old._id} was ${old.state}, and is removed`);
    const early = (old.expiresAt ?? 0) - latestTime(this.deployment);
    if (by.includes("removeExpired") && early > 0)
      this.problems.add(`${old._id} is removed ${early} ms before it expires`);
  }

  #count({ old, next }: Change<RunRow>): void {
    const parent = (next ?? old)?.parentStep;
    if (parent === undefined) return;
    const unended = (run: RunRow | undefined) => Number(run !== undefined && !isEnd(run.state));
    const count = (this.#unended.get(parent) ?? 0) + unended(next) - unended(old);
    this.#unended.set(parent, count);
    // Its input was refused as it was inserted.
    if (old === undefined) this.#countBad({ old, next });
  }

  #countBad({ old, next }: Change<RunRow>): void {
    const parent = (next ?? old)?.parentStep;
    if (parent === undefined) return;
    const bad = (run: RunRow | undefined) => Number(run !== undefined && BAD.includes(run.state));
    this.#bad.set(parent, (this.#bad.get(parent) ?? 0) + bad(next) - bad(old));
  }

  #ofKey(step: StepRow): Set<string> {
    const key = keyOf(step);
    const own = this.#records.get(key) ?? new Set();
    this.#records.set(key, own);
    return own;
  }

  #step(id: string, { old, next }: Change<StepRow>, fresh: ReadonlySet<string>): void {
    if (old !== undefined) this.#ofKey(old).delete(id);
    if (next === undefined) return;
    if (this.#ofKey(next).add(id).size > 1) this.problems.add(`${keyOf(next)} has several records`);
    if (old?.paused !== true || old.state !== "waiting") return;
    // Its finalize ran as it was paused.
    const finalize = this.#ofKey({ ...next, stage: `${next.stage}.finalize` });
    if ([...finalize].some((each) => !fresh.has(each))) return;
    // It goes on only once it is resumed.
    if (next.state === "completed" || (next.state === "running" && next.paused === true))
      this.problems.add(`${keyOf(next)} is paused, and goes on`);
  }

  /** Where a parent tolerates few failures, it fails with the child that is one too many. */
  #endedBadly({ old, next }: Change<RunRow>): void {
    this.#countBad({ old, next });
    const id = next?.parentStep;
    if (id === undefined || old?.state === next?.state || !BAD.includes(next?.state ?? "pending"))
      return;
    const { documents } = this.deployment.store.table("workflow", "steps").documents;
    const parent = documents.get(id) as StepRow | undefined;
    const most = parent === undefined ? Infinity : mostTolerated(parent);
    const bad = this.#bad.get(id) ?? 0;
    const goesOn = parent?.state === "waiting" && parent.settled !== true;
    if (goesOn && most <= COUNTED_AT_ONCE && bad > most)
      this.problems.add(`${keyOf(parent)} goes on, though ${bad} children have failed of ${most}`);
  }

  /** A parent goes on when the last child has ended, and fails when too many have failed. */
  #settled({ old, next }: Change<StepRow>, badHere: readonly (string | undefined)[]): void {
    if (next?.settled !== true || old?.settled === true) return;
    const { event } = next;
    const count = this.#unended.get(next._id) ?? 0;
    if (event?.kind === "settled" && (count > 0 || next.inserting === true))
      this.problems.add(`${keyOf(next)} goes on, and ${count} children have not ended`);
    if (event?.kind !== "failed" || event.error.kind !== "childFailed") return;
    // One has failed in this commit, or several have: others are canceled with the parent.
    const here = Math.max(1, badHere.filter((parent) => parent === next._id).length);
    const bad = (this.#bad.get(next._id) ?? 0) + here;
    // A race fails when all of its cases have.
    const most = next.race === undefined ? mostTolerated(next) : (next.total ?? 0) - 1;
    if (bad <= most)
      this.problems.add(`${keyOf(next)} fails as ${bad} of ${next.total} children did`);
  }
}

/** The parents' records of the runs that fail in a commit, or that a newer run of their key ends. */
function badIn(writes: Commit["writes"]): (string | undefined)[] {
  return writes.flatMap(({ table, old, next }) => {
    if (table.path !== "workflow/runs") return [];
    const [before, run] = [old, next] as (RunRow | undefined)[];
    if (run === undefined || run.state === before?.state) return [];
    const gives = run.one?.otherwise === "cancelOld" || run.one?.otherwise === "newestWaits";
    const isReplaced = run.state === "canceled" && gives;
    return isReplaced || run.state === "failed" || run.state === "timedOut" ? [run.parentStep] : [];
  });
}
