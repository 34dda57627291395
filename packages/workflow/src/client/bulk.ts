import {
  among,
  ANY,
  checkAllGiven,
  checkGiven,
  checkText,
  COUNT,
  isPlain,
  literalText,
  type MutationRunner,
  type QueryRunner,
  TEXT,
} from "@stepwise/workpool/core";
import type { FunctionReturnType } from "convex/server";
import type { ComponentApi } from "../component/_generated/component.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { type ListFilter, whereOf } from "./listing.js";
import { type Page, type PageOptions, pageOf } from "./paging.js";
import { nodeNamed, type NodeName } from "./nodes.js";
import { REFUSALS } from "./which-run.js";

type AnyWorkflow = WorkflowReference<never>;

/** The id of a bulk, as `bulk.start` returns it. */
export type BulkId = string;

/** Which runs a bulk is for: what `list` takes, without `places`. */
export type BulkFilter<Workflow> = Omit<ListFilter<Workflow>, "places">;

/** About one run a day: a timer cannot wait for as long as one likes. */
const LEAST_PER_SECOND = 0.00001;

const OPTIONS = {
  do: among("cancel", "pause", "resume", "restart", "cleanup"),
  // It is checked as those of lists are.
  where: ANY,
  from: TEXT,
  atMost: COUNT,
  perSecond: {
    what: `a number from ${LEAST_PER_SECOND.toFixed(5)}`,
    is: (given: unknown) => Number.isFinite(given) && Number(given) >= LEAST_PER_SECOND,
  },
};

/** What to do to many runs. */
export interface BulkOptions<Workflow> {
  /** The method of the `WorkflowManager` that is called for each. */
  do: "cancel" | "pause" | "resume" | "restart" | "cleanup";
  /** Which runs to change: what `list` takes. Runs that are started later are left out. */
  where: BulkFilter<Workflow>;
  /** The node of the given `workflow` from which a restart goes on in each run. */
  from?: NodeName<Workflow>;
  /** The bulk ends when it has changed this many runs. Default: no limit. */
  atMost?: number;
  /** How many runs it changes per second, on average. Default: as many as it can. */
  perSecond?: number;
}

type Stored = NonNullable<FunctionReturnType<ComponentApi["bulk"]["get"]>>;

/** How far a bulk is. */
export interface BulkStatus {
  bulkId: BulkId;
  do: BulkOptions<unknown>["do"];
  /** `stopped` by `bulk.stop`; `halted` by itself, as most of its runs were refused. */
  state: "running" | "completed" | "stopped" | "halted";
  from?: string;
  /**
   * The filter that was given, with the workflow's name. `until` is at most the time of its start.
   */
  where: Omit<BulkFilter<unknown>, "workflow" | "node" | "outdated"> & { workflow?: string };
  atMost?: number;
  perSecond?: number;
  /** How many runs it has changed, and how many were refused. */
  done: number;
  refused: number;
  /**
   * Why they were refused, how many, and the first of them. After ten reasons, all others count as
   * one.
   */
  refusals: { why: string; count: number; runId: string }[];
  /** In ms since the epoch. */
  startedAt: number;
  endedAt?: number;
}

/** Changes many runs, in the background. */
export class Bulk {
  constructor(
    private readonly component: ComponentApi,
    private readonly retentionMs: number | undefined,
    /** The present names of workflows, by those that their runs are stored under. */
    private readonly renamed: ReadonlyMap<string, string>,
  ) {}

  /**
   * Starts to change all runs of a filter, in pages of up to 50 runs, each a transaction. It visits
   * each run that was created before it once, and leaves alone those that no longer fit the filter.
   * It stops by itself when more than half of the last 100 runs were refused.
   * @returns its id.
   * @throws as `list` does, and if the workflow has no such node, or an option is out of its range.
   */
  async start<Workflow extends AnyWorkflow = AnyWorkflow>(
    ctx: MutationRunner,
    options: BulkOptions<Workflow>,
  ): Promise<BulkId> {
    const subject = "Starting a bulk";
    checkAllGiven(subject, options, OPTIONS);
    const { do: verb, where, from, atMost, perSecond } = options;
    const refuse = (why: string) => new Error(`${subject}: ${why}`);
    if (!isPlain(where))
      throw refuse(
        `where is ${literalText(where)}: where says for which runs it is; {} is for all`,
      );
    if ("workflow" in where && where.workflow === undefined)
      throw refuse("the workflow in `where` is undefined; leave it out for the runs of all");
    if (verb === undefined) throw refuse(`do is missing: give ${OPTIONS.do.what}`);
    if (from !== undefined && (verb !== "restart" || where.workflow === undefined))
      throw refuse("from is for a restart, and needs the workflow in `where`");
    return await ctx.runMutation(this.component.bulk.start, {
      do: verb,
      where: whereOf(subject, where),
      from: from === undefined ? undefined : nodeNamed(where.workflow!, from, { onTop: true }),
      called: from,
      atMost,
      perSecond,
      retentionMs: this.retentionMs,
    });
  }

  /**
   * Stops a bulk. What it has done stays.
   * @returns false if it has ended already.
   * @throws if there is no such bulk.
   */
  async stop(ctx: MutationRunner, bulkId: BulkId): Promise<boolean> {
    checkText("Stopping a bulk", "its id", bulkId);
    const answer = await ctx.runMutation(this.component.bulk.stop, { bulkId });
    if (answer === "unknown") throw new Error(`There is no bulk "${bulkId}"`);
    return answer === "stopped";
  }

  /**
   * Returns how far a bulk is, or null if there is none. A bulk is kept for 30 days after its end.
   */
  async get(ctx: QueryRunner, bulkId: BulkId): Promise<BulkStatus | null> {
    checkText("Getting a bulk", "its id", bulkId);
    const found = await ctx.runQuery(this.component.bulk.get, { bulkId });
    return found === null ? null : this.#statusOf(found);
  }

  /** Returns bulks, the newest first, in pages. */
  async list(ctx: QueryRunner, options: PageOptions): Promise<Page<BulkStatus>> {
    const { numItems, cursor } = pageOf("Listing bulks", options);
    const page = { numItems, cursor };
    const found = await ctx.runQuery(this.component.bulk.list, { page });
    return { ...found, page: found.page.map((bulk) => this.#statusOf(bulk)) };
  }

  /**
   * Returns how many runs a bulk would visit now.
   * @param upTo how many are counted at most; if there are more, `isMore` is true.
   * @throws as `list` does.
   */
  async count<Workflow extends AnyWorkflow = AnyWorkflow>(
    ctx: QueryRunner,
    where: BulkFilter<Workflow>,
    upTo = 1_000,
  ): Promise<{ count: number; isMore: boolean }> {
    const subject = "Counting runs";
    checkGiven(subject, { upTo }, { upTo: COUNT });
    return await ctx.runQuery(this.component.listing.count, { ...whereOf(subject, where), upTo });
  }

  #statusOf({ called, from: _from, refusals, where: stored, ...bulk }: Stored): BulkStatus {
    const told = refusals.map(({ why, ...rest }) => ({ ...rest, why: REFUSALS[why] ?? why }));
    const workflow = this.renamed.get(stored.workflow ?? "");
    const where = workflow === undefined ? stored : { ...stored, workflow };
    return { ...bulk, where, refusals: told, ...(called === undefined ? {} : { from: called }) };
  }
}
