import { type Infer, type ObjectType, v } from "convex/values";
import { internal } from "../_generated/api.js";
import { continuation, continueLater, hasRoomInPage } from "../core/continuations.js";
import type { MutationCtx, Run, RunId, Step } from "../core/documents.js";
import { logStarted } from "../core/log.js";
import { stepRead } from "../core/steps.js";
import { beginRun, inputInRun, insertLargeInput } from "../engine/begin.js";
import { vBeginning } from "../validators.js";
import { undoNext } from "./compensation.js";
import { finishUndone } from "./ending.js";
import { removeStep } from "./retention.js";

export const vNode = v.object({ name: v.string(), stage: v.string(), reads: v.array(v.string()) });
type Node = Infer<typeof vNode>;

export const restartFields = {
  begin: vBeginning,
  nodes: v.array(vNode),
  /** Keeps the results that do not depend on this node. Default: everything is done again. */
  from: v.optional(v.string()),
};

/** Takes the place of the input. Default: it stays. */
export const vNewInput = v.optional(v.any());

type Restart = ObjectType<typeof restartFields>;

/** How far a restart has come: the nodes before `at` are done. */
type Progress = {
  run: RunId;
  generation: number;
  restart: Restart;
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
): Promise<void> {
  const generation = before + 1;
  const { plan, entry, timeoutMs, retentionMs } = restart.begin;
  await ctx.db.patch("runs", run, {
    state: "pending",
    generation,
    plan,
    entry,
    timeoutMs,
    retentionMs,
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
  const nothingDone = { at: 0, affected: [], retained: [] };
  const rest = await restartPage(ctx, { run, generation, restart, ...nothingDone });
  if (rest !== null) await continueLater(ctx, internal.features.restart.restartMore, rest);
}

/** Drops the record of a large input. @returns the new one for the run, unless it is large too. */
async function replaceInput(ctx: MutationCtx, run: RunId, input: unknown) {
  const before = await stepRead(ctx, run, { stage: "input" });
  if (before !== null) await ctx.db.delete("steps", before._id);
  await insertLargeInput(ctx, run, input);
  return { input: undefined, ...inputInRun(input) };
}

export const restartMore = continuation<Progress>(restartPage);

/** @returns the progress; null if the run has begun or ended. */
async function restartPage(ctx: MutationCtx, progress: Progress): Promise<Progress | null> {
  const { run, generation, restart } = progress;
  const { nodes, from } = restart;
  const current = await ctx.db.get("runs", run);
  if (current?.restarting !== true || current.generation !== generation) return null;
  if (from === undefined) {
    if (!(await removeAll(ctx, run))) return progress;
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
    if (!(await removeNode(ctx, run, node.name))) return stopped;
  }
  const first = nodes.find(({ name }) => affected.has(name));
  await begin(ctx, current, restart, first, retained);
  return null;
}

/** Whether a node keeps its result: it was not undone, and nothing that it reads is done again. */
async function retainsResult(
  ctx: MutationCtx,
  run: RunId,
  { name, reads }: Node,
  affected: ReadonlySet<string>,
): Promise<boolean> {
  if (reads.some((read) => affected.has(read))) return false;
  const record = await stepRead(ctx, run, { stage: name });
  return record?.state === "completed" && record.undone !== true;
}

/** Removes the records of a node and of all inside it. @returns false if there was no room. */
async function removeNode(ctx: MutationCtx, run: RunId, name: string): Promise<boolean> {
  const steps = ctx.db.query("steps");
  // No character of a name comes before `/`, and what is inside a node follows a dot, which does.
  const own = steps.withIndex("by_run_stage", (q) =>
    q.eq("run", run).gte("stage", name).lt("stage", `${name}/`),
  );
  return await removeSteps(ctx, own);
}

/** @returns as {@link removeNode}. */
async function removeAll(ctx: MutationCtx, run: RunId): Promise<boolean> {
  const steps = () => ctx.db.query("steps");
  return await removeSteps(
    ctx,
    steps().withIndex("by_run_stage", (q) => q.eq("run", run).lt("stage", "input")),
    steps().withIndex("by_run_stage", (q) => q.eq("run", run).gt("stage", "input")),
  );
}

async function removeSteps(ctx: MutationCtx, ...some: AsyncIterable<Step>[]): Promise<boolean> {
  for (const steps of some)
    for await (const step of steps) if (!(await removeStep(ctx, step))) return false;
  return true;
}

async function begin(
  ctx: MutationCtx,
  run: Run,
  { begin, nodes }: Restart,
  at: Node | undefined,
  retained: string[],
): Promise<void> {
  const restarted = { restarting: undefined, retained };
  if (run.state !== "pending") {
    await ctx.db.patch("runs", run._id, restarted);
    if (run.state === "compensating") await finishUndone(ctx, await undoNext(ctx, run._id));
    return;
  }
  await ctx.db.patch("runs", run._id, { ...restarted, state: "running", startedAt: Date.now() });
  const isFirst = at === undefined || at === nodes[0];
  await beginRun(ctx, run, isFirst ? begin.first : { stage: at.stage, reads: [] }, {});
  await logStarted(ctx, run.workflow, [run._id], run.generation);
}
