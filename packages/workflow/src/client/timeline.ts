import type { FunctionReturnType } from "convex/server";
import type { Value } from "convex/values";
import type { ComponentApi } from "../component/_generated/component.js";
import type { AnyDefinition } from "../definition/definition.js";
import type { StepError } from "../definition/step-error.js";
import { placeOf } from "../runtime/place.js";
import type { WorkflowReference } from "../runtime/reference.js";
import type { QueryRunner } from "./context.js";
import { pageOf, type Page, type PageOptions } from "./listing.js";
import type { EventName } from "./events.js";
import { asCalled, pathsOf, type StagePath } from "./nodes.js";
import type { ChildCounts, NodeKind } from "./status.js";

/**
 * A node of a run's timeline: what became of one stage of it, in one pass of the loops around it.
 * @typeParam Workflow one of `typeof workflows`, of which the run is.
 */
export interface TimelineEntry<Workflow = unknown> {
  /** The node, by its path: see `ActiveNode`. */
  node: StagePath<Workflow>;
  /** `skipped`: the run has passed it by, or has ended before it. */
  state:
    | "pending"
    | "running"
    | "waiting"
    | "completed"
    | "failed"
    | "canceled"
    | "timedOut"
    | "skipped";
  /** Absent of one that was skipped, as is all that follows here but `errors`. */
  kind?: NodeKind;
  /** Which passes of the loops around it, outermost first, from 1. Absent outside loops. */
  pass?: number[];
  /** In which generation of the run it was done: one that a restart has kept is older than the run's. */
  generation?: number;
  /** The last attempt, from 1. */
  attempt?: number;
  /** When it was reached and when it ended, in ms since the epoch, and the time between. */
  startedAt?: number;
  endedAt?: number;
  durationMs?: number;
  /** Until when it waits, in ms since the epoch. */
  dueAt?: number;
  /** Of an event: the names. */
  events?: EventName<Workflow>[];
  /** Of a loop: the pass it is at, or was the last. */
  iteration?: number;
  /** Of a branch: the key of its case. */
  chosen?: string;
  children?: ChildCounts;
  /** Its result; absent while there is none, and of a `sensitive` node. */
  output?: Value;
  isSensitive?: boolean;
  /** Its compensation has run. */
  isUndone?: boolean;
  /** The run was paused. */
  isPaused?: boolean;
  /** The errors of its attempts; of very many the first and the newest. */
  errors: StepError[];
}

type Found = NonNullable<FunctionReturnType<ComponentApi["timeline"]["steps"]>>;
type Record = Found["records"][number];

/** A page of a run's timeline. An unknown run has none. */
export async function timelineOf(
  component: ComponentApi,
  ctx: QueryRunner,
  { name: workflow, stored }: WorkflowReference<never>,
  runId: string,
  options: PageOptions,
): Promise<Page<TimelineEntry>> {
  const { cursor, seen } = readCursor(options.cursor);
  const endCursor =
    typeof options.endCursor === "string" ? readCursor(options.endCursor).cursor : undefined;
  const page = pageOf({ ...options, cursor, endCursor });
  const found = await ctx.runQuery(component.timeline.steps, { runId, workflow, page });
  if (found === null) return { page: [], isDone: true, continueCursor: "" };
  const skipped = new Skipped(stored, seen);
  const called = (stage: string) => placeOf(stored, stage).called;
  const skippedEntry = (stage: string): TimelineEntry => ({
    node: called(stage),
    state: "skipped",
    errors: [],
  });
  const entries: TimelineEntry[] = [];
  for (const record of found.records) {
    const isOlder = record.generation < found.generation;
    entries.push(...skipped.before(record, isOlder).map(skippedEntry), entryOf(record, stored));
    entries.push(...skipped.after(record).map(skippedEntry));
  }
  if (found.isDone && HAS_ENDED.has(found.state))
    for (const stage of skipped.rest()) {
      const { error } = found;
      // A run can fail before its node has a record: at a branch whose `on` threw, say.
      const hasFailed = error !== undefined && error.node === called(stage);
      entries.push(
        hasFailed ? { node: error.node, state: "failed", errors: [error] } : skippedEntry(stage),
      );
    }
  const { isDone, continueCursor } = found;
  return { page: entries, isDone, continueCursor: writeCursor(continueCursor, skipped.seen) };
}

const HAS_ENDED: ReadonlySet<string> = new Set(["completed", "failed", "canceled", "timedOut"]);

/*
 * What was skipped is not recorded: it follows from the definition and from what is. A page does not know what stood on the pages before it,
 * so its cursor says which nodes were seen there, by their numbers.
 */

function writeCursor(cursor: string, seen: ReadonlySet<number>): string {
  return JSON.stringify({ cursor, seen: [...seen] });
}

function readCursor(text: string | null): { cursor: string | null; seen: number[] } {
  if (text === null || text === "") return { cursor: null, seen: [] };
  try {
    return JSON.parse(text) as { cursor: string; seen: number[] };
  } catch {
    throw new Error(`This is no cursor of a timeline: ${text}`);
  }
}

/** A loop forgets its passes from the second on, but for so many of the newest: what happened there is not known. */
const KEPT_PASSES = 100;

/** Finds the nodes that a run has passed by, while its records are gone through in their order. */
class Skipped {
  readonly #paths: readonly string[];
  readonly #numbers: ReadonlyMap<string, number>;

  /** @param seen the numbers of nodes that need not be told any more. */
  constructor(
    readonly definition: AnyDefinition,
    seen: readonly number[],
  ) {
    this.#paths = pathsOf(definition.nodes);
    this.#numbers = new Map(this.#paths.map((path, number) => [path, number]));
    this.seen = new Set(seen);
  }

  readonly seen: Set<number>;

  /** The nodes that the run must have passed by to come to a record. One from before a restart does not tell. */
  before({ stage, iteration = 0 }: Record, isOlder: boolean): string[] {
    const { path, sequences } = this.#placeOf(stage);
    const passed = isOlder
      ? []
      : sequences.flatMap(({ prefix, nodes, at, depth }) => {
          // Inside a loop another pass may come to them.
          if (depth > 0) return [];
          const names = Object.keys(nodes);
          return names
            .slice(0, Math.max(0, names.indexOf(at)))
            .flatMap((name) => this.#unseenIn(prefix + name));
        });
    for (const { prefix, at } of sequences) this.#see(prefix + at);
    this.#see(path);
    if (iteration > KEPT_PASSES + 1) this.#unseenIn(path);
    return passed;
  }

  /**
   * The nodes that the run has passed by where a record tells of a branch: those of the cases that were not chosen. Inside a loop another pass
   * may choose them.
   */
  after({ stage, chosen, pass }: Record): string[] {
    if (chosen === undefined || pass !== undefined) return [];
    const { path } = this.#placeOf(stage);
    return this.#unseen(
      (other) => other.startsWith(`${path}.`) && !other.startsWith(`${path}.${chosen}.`),
    );
  }

  /** All nodes that were not seen. */
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

  #placeOf(stage: string) {
    return placeOf(this.definition, stage);
  }
}

function entryOf(record: Record, definition: AnyDefinition): TimelineEntry {
  const { stage, sensitive, undone, paused, startedAt, endedAt, kind, ...rest } = record;
  return {
    ...asCalled(definition, stage, rest),
    // The records of inputs are left out.
    kind: kind as NodeKind,
    startedAt,
    ...(endedAt === undefined ? {} : { endedAt, durationMs: endedAt - startedAt }),
    ...(sensitive ? { isSensitive: true } : {}),
    ...(undone ? { isUndone: true } : {}),
    ...(paused ? { isPaused: true } : {}),
  };
}
