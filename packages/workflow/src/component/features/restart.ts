import { type Infer, type ObjectType, v, type Value } from "convex/values";
import { internal } from "../_generated/api.js";
import { continuation, continueLater, hasRoomInPage } from "../core/continuations.js";
import type { MutationCtx, QueryCtx, Run, RunId, Step } from "../core/documents.js";
import { workflowOf } from "../core/runs.js";
import { inputFields } from "../core/input.js";
import { isHolding } from "../core/kinds.js";
import { logStarted } from "../core/log.js";
import { stepRead } from "../core/steps.js";
import { beginRun, replaceInput } from "../engine/begin.js";
import { vBeginning, vDeadline, vOne, vStanding } from "../validators.js";
import { undoNext } from "./compensation.js";
import { finishUndone } from "./ending.js";
import { removeStep } from "./retention.js";

const vNode = v.object({ name: v.string(), stage: v.string(), reads: v.array(v.string()) });
type Node = Infer<typeof vNode>;

/** A loop: the first stage of its body, the record with an iteration's output, and its timeout. */
const vLoop = v.object({
  first: v.string(),
  last: v.union(v.string(), v.null()),
  deadline: v.optional(vDeadline),
  /** Where to begin. Default: if it has not completed, at the iteration that it had reached. */
  iteration: v.optional(v.number()),
});

export const restartFields = {
  begin: vBeginning,
  nodes: v.array(vNode),
  /** Keeps the results that do not depend on this node. Default: everything is done again. */
  from: v.optional(v.string()),
  one: v.optional(vOne),
  standing: v.optional(vStanding),
  /** The node is a loop. */
  loop: v.optional(vLoop),
};

/** Takes the place of the input. Default: it stays. */
export const vNewInput = v.optional(v.object(inputFields));

type Restart = ObjectType<typeof restartFields>;

/** An iteration with which a loop goes on, and the state before it. */
type Resumed = { iteration: number; state: Value };

/** How far a restart has come: the nodes before `at` are done. */
type Progress = {
  run: RunId;
  generation: number;
  restart: Restart;
  resumed?: Resumed;
  at: number;
  affected: string[];
  retained: string[];
};

/** Begins a new generation. The run is `pending` while old records are removed, in pages. */
export async function restartRun(
  ctx: MutationCtx,
  { _id: run, generation: before = 1 }: Run,
  restart: Restart,
  input: Infer<typeof vNewInput>,
  resumed: Resumed | undefined,
): Promise<void> {
  const generation = before + 1;
  const { workflowName, plan, entry, timeoutMs, retentionMs, sensitive, onEnd } = restart.begin;
  await ctx.db.patch("runs", run, {
    state: "pending",
    generation,
    workflowName,
    plan,
    entry,
    timeoutMs,
    retentionMs,
    sensitive,
    onEnd,
    one: restart.one,
    standing: restart.standing,
    onEndError: undefined,
    retained: undefined,
    startedAt: Date.now(),
    endedAt: undefined,
    expiresAt: undefined,
    outputStep: undefined,
    output: undefined,
    error: undefined,
    onCompleteError: undefined,
    logged: undefined,
    restarting: true,
    ...(input === undefined ? {} : await replaceInput(ctx, run, input)),
  });
  const nothingDone = { ...(resumed && { resumed }), at: 0, affected: [], retained: [] };
  const rest = await restartPage(ctx, { run, generation, restart, ...nothingDone });
  if (rest !== null) await continueLater(ctx, internal.features.restart.restartMore, rest);
}

/**
 * Where a restart from a loop begins: at an iteration whose state is known, or, with undefined,
 * anew, as after a compensation. @returns null if that iteration has no state any more.
 */
export async function resumedAt(
  ctx: QueryCtx,
  run: RunId,
  { from, loop }: Restart,
): Promise<Resumed | undefined | null> {
  if (from === undefined || loop === undefined || loop.iteration === 1) return undefined;
  const record = await stepRead(ctx, run, { stage: from });
  const { iteration: reached = 1, state, undone } = record ?? {};
  const { iteration = state === "completed" ? 1 : reached } = loop;
  if (iteration > reached) return null;
  if (iteration === 1 || undone === true) return undefined;
  if (iteration === reached && state !== "completed") return { iteration, state: record?.output };
  if (loop.last === null) return { iteration, state: null };
  const before = await stepRead(ctx, run, { stage: loop.last, iterations: [iteration - 1] });
  return before?.state === "completed" ? { iteration, state: before.output ?? null } : null;
}

export const restartMore = continuation<Progress>(restartPage);

/** @returns the progress; null if the run has begun or ended. */
async function restartPage(ctx: MutationCtx, progress: Progress): Promise<Progress | null> {
  const { run, generation, restart, resumed } = progress;
  const { nodes, from } = restart;
  const current = await ctx.db.get("runs", run);
  if (
    current?.restarting !== true ||
    // guard: page-of-restart
    current.generation !== generation
  )
    return null;
  if (from === undefined) {
    if (!(await removeAll(ctx, current))) return progress;
    await begin(ctx, current, restart, nodes[0], []);
    return null;
  }
  const affected = new Set(progress.affected);
  const retained = [...progress.retained];
  for (let at = progress.at; at < nodes.length; at++) {
    const node = nodes[at]!;
    const stopped = { ...progress, at, affected: [...affected], retained };
    if (!(await hasRoomInPage(ctx))) return stopped;
    if (node.name !== from && (await retainsResult(ctx, run, node, affected))) {
      retained.push(node.name);
      continue;
    }
    affected.add(node.name);
    stopped.affected.push(node.name);
    // If what comes before the loop is done again, so is the whole loop.
    const goesOn = node.name === from && affected.size === 1 ? resumed : undefined;
    const isRemoved =
      goesOn === undefined
        ? await removeNode(ctx, current, node.name)
        : await removeIterations(ctx, current, node.name, goesOn.iteration);
    if (!isRemoved) return stopped;
  }
  if (!(await removeGone(ctx, current, nodes)))
    return { ...progress, at: nodes.length, affected: [...affected], retained };
  const first = nodes.find(({ name }) => affected.has(name));
  await begin(ctx, current, restart, first, retained, first?.name === from ? resumed : undefined);
  return null;
}

/**
 * Says whether a node keeps its result: it was not undone, and nothing that it reads is done again.
 */
async function retainsResult(
  ctx: MutationCtx,
  run: RunId,
  { name, reads }: Node,
  affected: ReadonlySet<string>,
): Promise<boolean> {
  if (reads.some((read) => affected.has(read))) return false;
  const record = await stepRead(ctx, run, { stage: name });
  if (record?.state !== "completed" || record.undone === true) return false;
  // The run has ended inside it.
  return !isHolding(record) || record.output !== undefined;
}

/** Removes the records of a node and of all inside it. @returns false if there was no room. */
async function removeNode(ctx: MutationCtx, of: Run, name: string): Promise<boolean> {
  const steps = ctx.db.query("steps");
  // No character of a name comes before `/`, and what is inside a node follows a dot, which does.
  const own = steps.withIndex("by_run_stage", (q) =>
    q.eq("run", of._id).gte("stage", name).lt("stage", `${name}/`),
  );
  return await removeSteps(ctx, of, own);
}

/** Removes what was undone of nodes that the code no longer has. @returns as {@link removeNode}. */
async function removeGone(ctx: MutationCtx, of: Run, nodes: readonly Node[]): Promise<boolean> {
  const names = new Set(nodes.map(({ name }) => name));
  for (let above = ""; ;) {
    if (!(await hasRoomInPage(ctx))) return false;
    const next = await ctx.db
      .query("steps")
      .withIndex("by_run_stage", (q) => q.eq("run", of._id).gt("stage", above))
      .first();
    if (next === null) return true;
    const [name = ""] = next.stage.split(".");
    above = `${name}/`;
    if (names.has(name)) continue;
    const record = await stepRead(ctx, of._id, { stage: name });
    if (record?.undone === true && !(await removeNode(ctx, of, name))) return false;
  }
}

/** Removes the records inside a loop from an iteration on. @returns as {@link removeNode}. */
async function removeIterations(ctx: MutationCtx, of: Run, loop: string, iteration: number) {
  const run = of._id;
  const steps = () => ctx.db.query("steps");
  for (let stage = `${loop}.`; ;) {
    const next = await steps()
      .withIndex("by_run_stage", (q) => q.eq("run", run).gt("stage", stage).lt("stage", `${loop}/`))
      .first();
    if (next === null) return true;
    stage = next.stage;
    const own = steps().withIndex("by_run_stage", (q) =>
      q.eq("run", run).eq("stage", next.stage).gte("iterations", [iteration]),
    );
    if (!(await removeSteps(ctx, of, own))) return false;
  }
}

/** @returns as {@link removeNode}. */
async function removeAll(ctx: MutationCtx, of: Run): Promise<boolean> {
  const run = of._id;
  const steps = () => ctx.db.query("steps");
  return await removeSteps(
    ctx,
    of,
    steps().withIndex("by_run_stage", (q) => q.eq("run", run).lt("stage", "input")),
    steps().withIndex("by_run_stage", (q) => q.eq("run", run).gt("stage", "input")),
  );
}

async function removeSteps(
  ctx: MutationCtx,
  { _id: run, generation }: Run,
  ...some: AsyncIterable<Step>[]
): Promise<boolean> {
  for (const steps of some)
    for await (const step of steps) {
      // If it was canceled meanwhile, its `onEnd` is of this generation already.
      if (step.generation === generation) continue;
      if (!(await removeStep(ctx, step, run))) return false;
    }
  return true;
}

async function begin(
  ctx: MutationCtx,
  run: Run,
  { begin, nodes, loop }: Restart,
  at: Node | undefined,
  retained: string[],
  resumed?: Resumed,
): Promise<void> {
  const restarted = { restarting: undefined, retained };
  // guard: page-of-restart
  if (run.state !== "pending") {
    await ctx.db.patch("runs", run._id, restarted);
    if (run.state === "compensating") await finishUndone(ctx, await undoNext(ctx, run._id));
    return;
  }
  await ctx.db.patch("runs", run._id, { ...restarted, state: "running", startedAt: Date.now() });
  const isFirst = at === undefined || at === nodes[0];
  if (resumed !== undefined && loop !== undefined && at !== undefined) {
    await resumeLoop(ctx, run, at.name, resumed);
    const { first: stage, deadline } = loop;
    const iterations = [resumed.iteration];
    await beginRun(ctx, run, { stage, iterations, reads: [] }, { deadline });
  } else await beginRun(ctx, run, isFirst ? begin.first : { stage: at.stage, reads: [] }, {});
  // It may wait for its turn.
  if (run.one !== undefined && (await ctx.db.get("runs", run._id))?.state !== "running") return;
  await logStarted(ctx, workflowOf(run), [run._id], run.generation);
}

async function resumeLoop(
  ctx: MutationCtx,
  { _id: run, generation }: Run,
  stage: string,
  { iteration, state }: Resumed,
): Promise<void> {
  const record = await stepRead(ctx, run, { stage });
  if (record === null) throw new Error(`The run goes on with the loop "${stage}", but has none`);
  const begun = { generation, iteration, output: state, startedAt: Date.now() };
  const open = { state: "running" as const, endedAt: undefined, errors: undefined };
  await ctx.db.patch("steps", record._id, { ...begun, ...open });
}
