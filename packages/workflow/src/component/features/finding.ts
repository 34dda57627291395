import { paginator } from "convex-helpers/server/pagination";
import { mergedStream, type QueryStream, stream } from "convex-helpers/server/stream";
import type { IndexRangeBuilder, PaginationOptions } from "convex/server";
import { keyShown } from "../core/childRuns.js";
import type { Doc, QueryCtx, Run, RunId, Step } from "../core/documents.js";
import { LIMITS } from "../core/room.js";
import { hasNotEnded, stepWithId } from "../core/steps.js";
import schema from "../schema.js";
import type { Where } from "../selection.js";
import type { Doing } from "../validators.js";
import { stalledSteps } from "./doing.js";

/** Says whether a run is one of those, apart from the index by which they are found. */
export function fits(run: Run, where: Where): boolean {
  const { workflow, state, notOfPlan, text, since = 0, until = Infinity } = where;
  return (
    run._creationTime >= since &&
    run._creationTime < until &&
    (workflow === undefined || run.workflow === workflow) &&
    (state === undefined || run.state === state) &&
    (notOfPlan === undefined || run.plan !== notOfPlan) &&
    (where.children === true || where.parent !== undefined || run.root === undefined) &&
    (text === undefined || hasText(run, text.toLowerCase()))
  );
}

const hasText = (run: Run, text: string): boolean =>
  [run._id, run.startKey, keyShown(run), run.error?.message].some((each) =>
    each?.toLowerCase().includes(text),
  );

interface Found {
  page: Run[];
  isDone: boolean;
  continueCursor: string;
  /** How many runs were read for it: a filter without an index drops some. */
  read: number;
  /** A step of each run that was found by what it does: the step does it. */
  steps: ReadonlyMap<RunId, Step>;
}

type Order = "asc" | "desc";

/**
 * Runs, the newest first, in pages; those of a key in its order.
 * @param how.drops some of them.
 * @param how.order of their creation, unless they are found by where they are or what they do.
 */
export async function findRuns(
  ctx: QueryCtx,
  where: Where,
  options: PaginationOptions,
  { drops = () => false, order = "desc" }: { drops?: (run: Run) => boolean; order?: Order } = {},
): Promise<Found> {
  /** A run that does it twice is in a page once. */
  const steps = new Map<RunId, Step>();
  let read = 0;
  const isFound = async (run: Run) => {
    read++;
    return fits(run, where) && !drops(run);
  };
  const { doing } = where;
  const ofStep = async (step: Step) => {
    const own = await ctx.db.get("runs", step.run);
    const isListed = own?.root === undefined || where.children === true;
    const run = isListed ? own : await ctx.db.get("runs", own.root!);
    if (run === null || steps.has(run._id)) return null;
    steps.set(run._id, step);
    return run;
  };
  if (doing === "stalled") {
    const page: Run[] = [];
    for (const step of await stalledSteps(ctx)) {
      const run = await ofStep(step);
      if (run !== null && (await isFound(run))) page.push(run);
    }
    return { page, isDone: true, continueCursor: "", read, steps };
  }
  const runs = doing === undefined ? runsOf(ctx, where, order) : stepsDoing(ctx, doing).map(ofStep);
  const found = await runs?.filterWith(isFound).paginate({ ...LIMITS, ...options });
  const { page = [], isDone = true, continueCursor = "" } = found ?? {};
  return { page, isDone, continueCursor, read, steps };
}

/** The rest of an index: every one ends with the time of creation. */
type FromCreation = Pick<IndexRangeBuilder<Run, ["_creationTime"]>, "gte">;
const within =
  ({ since = 0, until = Infinity }: Where) =>
  (q: FromCreation) =>
    q.gte("_creationTime", since).lt("_creationTime", until);

/** @returns undefined if their parent is none. */
function runsOf(ctx: QueryCtx, where: Where, order: Order): QueryStream<Run> | undefined {
  if (where.parent !== undefined) return childrenOf(ctx, where, where.parent);
  if (where.stages !== undefined) return runsAt(ctx, where.stages);
  if (where.tag === undefined) return runsWith(ctx, where, order);
  const [name, value] = Object.entries(where.tag)[0]!;
  return stream(ctx.db, schema)
    .query("tags")
    .withIndex("by_tag", (q) => q.eq("name", name).eq("value", value))
    .order(order)
    .map(async ({ run }: Doc<"tags">) => await ctx.db.get("runs", run));
}

const LAST = "\u{10ffff}";

/** The first text after all that begin with a text, in the order of code points; if any. */
function endOf(beginning: string): string | undefined {
  const all = [...beginning];
  while (all.at(-1) === LAST) all.pop();
  const last = all.pop()?.codePointAt(0);
  if (last === undefined) return undefined;
  // Surrogates are no code points of a text.
  return all.join("") + String.fromCodePoint(last === 0xd7ff ? 0xe000 : last + 1);
}

function runsWith(ctx: QueryCtx, where: Where, order: Order) {
  const { workflow, state, children, key } = where;
  const inTime = within(where);
  const all = paginator(ctx.db, schema).query("runs");
  const indexed = () => {
    if (key !== undefined)
      return all.withIndex("by_key", (q) => {
        const from = q.eq("workflow", workflow!).gte("startKey", key);
        const end = endOf(key);
        return end === undefined ? from : from.lt("startKey", end);
      });
    if (children === true) return all.withIndex("by_creation_time", inTime);
    if (workflow === undefined && state === undefined)
      return all.withIndex("by_root", (q) => inTime(q.eq("root", undefined)));
    if (workflow === undefined)
      return all.withIndex("by_root_state", (q) =>
        inTime(q.eq("root", undefined).eq("state", state!)),
      );
    if (state === undefined)
      return all.withIndex("by_root_workflow", (q) =>
        inTime(q.eq("root", undefined).eq("workflow", workflow)),
      );
    return all.withIndex("by_root_workflow_state", (q) =>
      inTime(q.eq("root", undefined).eq("workflow", workflow).eq("state", state)),
    );
  };
  return indexed().order(key === undefined ? order : "asc");
}

function childrenOf(ctx: QueryCtx, where: Where, parent: string) {
  const step = ctx.db.normalizeId("steps", parent);
  const run = ctx.db.normalizeId("runs", parent);
  if ((run ?? step) === null) return undefined;
  const all = paginator(ctx.db, schema).query("runs");
  if (step === null)
    return all.withIndex("by_parent_run", (q) => within(where)(q.eq("parentRun", run!)));
  const { state } = where;
  return state === undefined
    ? all.withIndex("by_parent", (q) => q.eq("parentStep", step))
    : all.withIndex("by_parent_state", (q) => q.eq("parentStep", step).eq("state", state));
}

function runsAt(ctx: QueryCtx, stages: readonly string[]) {
  const atStage = stages.map((stage) =>
    stream(ctx.db, schema)
      .query("steps")
      .withIndex("by_stage", (q) => q.eq("stage", stage).eq("endedAt", undefined))
      .order("desc"),
  );
  const open = mergedStream(atStage, ["createdAt", "_creationTime"]);
  return open.map(async ({ run }: Step) => await ctx.db.get("runs", run));
}

/** The steps that do it. A work of the pool that is none of them is passed over. */
function stepsDoing(ctx: QueryCtx, doing: Exclude<Doing, "stalled">): QueryStream<Step> {
  const all = stream(ctx.db, schema);
  const ofWork = async ({ work = "" }: { work?: string }) => {
    const step = await stepWithId(ctx, work);
    return step !== null && hasNotEnded(step) ? step : null;
  };
  if (doing === "queued") return all.query("waiting").order("desc").map(ofWork);
  if (doing === "running")
    return all
      .query("slots")
      .withIndex("by_work", (q) => q.gt("work", ""))
      .map(ofWork);
  const kind = (
    {
      retrying: "action",
      waitingForEvent: "event",
      sleeping: "sleep",
      collecting: "collect",
      waitingForTurn: "turn",
    } as const
  )[doing];
  return all
    .query("steps")
    .withIndex("by_kind_state", (q) => q.eq("kind", kind).eq("state", "waiting"))
    .order("desc");
}
