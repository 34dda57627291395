import type { QueryRunner } from "@stepwise/workpool/core";
import type { FunctionReturnType } from "convex/server";
import type { Value } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import type { StepError } from "../definition/context.js";
import type { AnyDefinition } from "../definition/definition.js";
import { allNodes, placeOf } from "../runtime/place.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { isCursor, type Page, type PageOptions, pageOf } from "./paging.js";
import { asCalled, type StagePath } from "./nodes.js";
import type { EventName } from "./events.js";
import type { ActiveNode, FailedAttempt, NodeKind, Reached } from "./status.js";

/**
 * An entry of a run's timeline: one stage, in one iteration of the loops around it. One that was
 * skipped has only `node`, `state` and `errors`.
 * @typeParam Workflow the run's workflow: one of `typeof workflows`.
 */
export interface TimelineEntry<Workflow = unknown> extends Partial<Reached<Workflow>> {
  /** The node, by its path: see `ActiveNode`. */
  node: StagePath<Workflow>;
  /** `skipped`: the run skipped it, or ended before it. */
  state: ActiveNode["state"] | "completed" | "failed" | "canceled" | "timedOut" | "skipped";
  errors: StepError[];
  /** What `list` takes as `parent`, to list the children of a parent or a `.child`. */
  id?: string;
  /** The generation of the run in which it ran. A restart can keep results of older ones. */
  generation?: number;
  /** When it was reached and when it ended, in ms since the epoch. */
  startedAt?: number;
  endedAt?: number;
  /** How long an action's attempts waited for a slot, together. */
  queuedMs?: number;
  /** The rest of the time: its attempts, and the waits between them. */
  durationMs?: number;
  /** The name of the event that came. */
  event?: EventName<Workflow>;
  /** True when no event came in time. */
  isTimedOut?: boolean;
  /** Its result; absent while there is none, and for a `sensitive` node. */
  output?: Value;
  isSensitive?: boolean;
  /** Its compensation has run. */
  isUndone?: boolean;
  /** The run was paused. */
  isPaused?: boolean;
}

type Found = NonNullable<FunctionReturnType<ComponentApi["listing"]["steps"]>>;
type Record = Found["records"][number];

const HAS_ENDED: ReadonlySet<string> = new Set(["completed", "failed", "canceled", "timedOut"]);

/** A page of a run's timeline. An unknown run has none. */
export async function timelineOf<Workflow>(
  component: ComponentApi,
  ctx: QueryRunner,
  { name, storedAs: workflow, stored }: WorkflowReference<never>,
  runId: string,
  options: PageOptions,
): Promise<Page<TimelineEntry<Workflow>>> {
  const isOwn = (given: unknown) => readCursor(given) !== undefined;
  const { numItems, ...places } = pageOf(`The timeline of a run of "${name}"`, options, isOwn);
  const { cursor = null, seen = [] } = readCursor(places.cursor) ?? {};
  const page = { numItems, cursor, endCursor: readCursor(places.endCursor)?.cursor };
  const found = await ctx.runQuery(component.listing.steps, { runId, workflow, page });
  if (found === null) return { page: [], isDone: true, continueCursor: "" };
  const { records, generation, error, within, isDone, continueCursor } = found;
  const stagesOf = (path: string) => {
    const { first, record } = placeOf(stored, path);
    return [...new Set([path, first, record])];
  };
  const called = (stage: string) => placeOf(stored, stage).called;
  const skippedEntry = (stage: string): TimelineEntry => {
    return { node: called(stage), state: "skipped", errors: [] };
  };
  const tell = (skipped: Skipped) =>
    records.map((record) => ({
      before: skipped.before(record, record.generation < generation),
      entry: entryOf(record, stored),
      after: skipped.after(record),
    }));
  // A deploy may have moved a node: then its record comes later, and it was not skipped.
  const stages = tell(new Skipped(stored, within, seen))
    .flatMap(({ before, after }) => [...before, ...after])
    .flatMap(stagesOf);
  const reached = new Set(
    stages.length === 0
      ? []
      : await ctx.runQuery(component.listing.reached, { runId, workflow, stages }),
  );
  const isReached = (path: string) => stagesOf(path).some((stage) => reached.has(stage));
  const skipped = new Skipped(stored, within, seen, isReached);
  const entriesOf = (paths: readonly string[]) =>
    paths.filter((path) => !isReached(path)).map(skippedEntry);
  const entries: TimelineEntry[] = tell(skipped).flatMap(({ before, entry, after }) => [
    ...entriesOf(before),
    entry,
    ...entriesOf(after),
  ]);
  if (isDone && HAS_ENDED.has(found.state))
    for (const stage of skipped.rest())
      entries.push(
        // A run can fail before its node has a record: at a branch whose `on` threw, say.
        error?.node === called(stage)
          ? { node: error.node, state: "failed", errors: [error] }
          : skippedEntry(stage),
      );
  const next = JSON.stringify({ cursor: continueCursor, seen: [...skipped.seen] });
  // The records are of the workflow's nodes, which its type knows.
  return { page: entries as TimelineEntry<Workflow>[], isDone, continueCursor: next };
}

/** A cursor holds the numbers of the nodes seen before, beside the component's cursor. */
function readCursor(
  given: unknown,
): { cursor: string | null; seen: readonly number[] } | undefined {
  if (given === null || given === "") return { cursor: null, seen: [] };
  if (typeof given !== "string") return undefined;
  try {
    const { cursor, seen } = Object(JSON.parse(given)) as { cursor: string; seen: unknown };
    return isCursor(cursor) && Array.isArray(seen) ? { cursor, seen } : undefined;
  } catch {
    return undefined;
  }
}

/** How many of a loop's newest iterations are recorded, beside the first. */
const RECORDED_ITERATIONS = 100;

/** Finds the nodes that a run skipped. They are not recorded, but follow from what is. */
class Skipped {
  readonly #paths: readonly string[];
  readonly #numbers: ReadonlyMap<string, number>;
  /** The numbers of nodes that need not be told any more. */
  readonly seen: Set<number>;

  constructor(
    readonly definition: AnyDefinition,
    within: string | undefined,
    seen: readonly number[],
    /** Says whether the run has come to a node that stands before one that it came to earlier. */
    readonly isReached: (path: string) => boolean = () => false,
  ) {
    // What is in a branch, or done for an item, is not skipped by the run around it.
    const own = allNodes(definition.nodes).filter((node) => node.within === within);
    this.#paths = own.map(({ path }) => path);
    this.#numbers = new Map(this.#paths.map((path, number) => [path, number]));
    this.seen = new Set(seen);
  }

  /** The nodes that the run must have skipped to come to a record. */
  before({ stage, iteration = 0 }: Record, isOlder: boolean): string[] {
    const { path, sequences } = placeOf(this.definition, stage);
    const skipped = isOlder
      ? []
      : sequences.flatMap(({ prefix, nodes, at, depth }) => {
          // Inside a loop another iteration may come to them.
          if (depth > 0) return [];
          const names = Object.keys(nodes);
          return (
            names
              .slice(0, Math.max(0, names.indexOf(at)))
              // What is inside one is told when that is come to.
              .flatMap((name) =>
                this.isReached(prefix + name) ? [] : this.#unseenIn(prefix + name),
              )
          );
        });
    for (const { prefix, at } of sequences) this.#see(prefix + at);
    this.#see(path);
    // What happened in the iterations that are not recorded is not known.
    if (iteration > RECORDED_ITERATIONS + 1) this.#unseenIn(path);
    return skipped;
  }

  /** The nodes in the other cases of a branch. Inside a loop another iteration may choose them. */
  after({ stage, chosen, iterations }: Record): string[] {
    if (chosen === undefined || iterations !== undefined) return [];
    const { path } = placeOf(this.definition, stage);
    return this.#unseen(
      (other) => other.startsWith(`${path}.`) && !other.startsWith(`${path}.${chosen}.`),
    );
  }

  rest(): string[] {
    return this.#unseen(() => true);
  }

  #unseenIn(path: string): string[] {
    return this.#unseen((other) => other === path || other.startsWith(`${path}.`));
  }

  #unseen(isAsked: (path: string) => boolean): string[] {
    const unseen = this.#paths.filter((path, number) => !this.seen.has(number) && isAsked(path));
    for (const path of unseen) this.#see(path);
    return unseen;
  }

  #see(path: string): void {
    const number = this.#numbers.get(path);
    if (number !== undefined) this.seen.add(number);
  }
}

function entryOf(record: Record, definition: AnyDefinition): TimelineEntry {
  const { stage, single: _, sensitive, undone, paused, startedAt, endedAt, kind, ...rest } = record;
  const { retries, queuedMs } = queueTimes(record);
  return {
    ...asCalled(definition, stage, rest),
    // The records of inputs are left out.
    kind: kind as NodeKind,
    startedAt,
    endedAt,
    retries,
    queuedMs,
    durationMs: endedAt && Math.max(0, endedAt - startedAt - (queuedMs ?? 0)),
    isSensitive: sensitive || undefined,
    isUndone: undone || undefined,
    isPaused: paused || undefined,
  };
}

/** Returns how long each attempt of an action waited for a slot, and all of them. */
function queueTimes(record: Record): Pick<TimelineEntry, "retries" | "queuedMs"> {
  const { startedAt, endedAt, queuedAt, retries = [] } = record;
  // One that never began has waited to its end.
  const { beganAt = endedAt } = record;
  const waits: number[] = [];
  const wait = (from: number | undefined, to: number | undefined) => {
    if (from === undefined || to === undefined) return undefined;
    waits.push(Math.max(0, to - from));
    return waits.at(-1);
  };
  const tried = retries.map((retry, index): FailedAttempt => {
    // Of very many retries the first are gone.
    const due = retry.attempt === 1 ? startedAt : retries[index - 1]?.nextAt;
    const durationMs = retry.beganAt && retry.failedAt - retry.beganAt;
    return { ...retry, queuedMs: wait(due, retry.beganAt), durationMs };
  });
  wait(queuedAt, beganAt);
  return {
    retries: tried.length === 0 ? undefined : tried,
    queuedMs: waits.length === 0 ? undefined : waits.reduce((sum, ms) => sum + ms, 0),
  };
}
