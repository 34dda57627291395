import { LIMITS } from "./generator.js";

/** A file of the app: what is called from outside. */
export const MANAGE = `
import { LimitError, WorkflowManager } from "@stepwise/workflow";
import { internalMutationGeneric, internalQueryGeneric, makeFunctionReference } from "convex/server";
import { components } from "./_generated/api";
import { workflows } from "./_workflows/index";
// Of one that was renamed, the runs are stored under its old name.
const of = (name) => workflows[name] ?? workflows[name + "Anew"];
const workflow = new WorkflowManager(components.workflow);
const onEnd = makeFunctionReference("manage:ended");
const limited = new WorkflowManager(components.workflow, { limits: ${JSON.stringify(LIMITS)} });
const brief = new WorkflowManager(components.workflow, { retention: "5m" });
export const start = internalMutationGeneric(async (ctx, { name, input, refuses, expires, isLimited, ...options }) => {
  const manager = isLimited ? limited : expires ? brief : workflow;
  // Starts that are collected have nothing of their own.
  const { collect, input: schema } = of(name).definition.options;
  if (collect !== undefined) {
    const run = await manager.start(ctx, of(name), input);
    // Without a key it has a run of its own, or that of its \`one\`.
    if (collect.key({ input: schema.parse(input) }) !== undefined)
      await ctx.db.insert("starts", { run, at: input.at });
    return run;
  }
  try {
    return await manager.start(ctx, of(name), input, { ...options, onComplete: { fn: onEnd, context: { name, refuses } } });
  } catch (error) {
    if (!(error instanceof LimitError)) throw error;
    await ctx.db.insert("refusals", error.data);
    return "in vain";
  }
});
export const send = internalMutationGeneric((ctx, { name, runId, event, value }) =>
  workflow.sendEvent(ctx, of(name), runId, event, value));
const greedy = async ({ db }) => { for (;;) await db.query("large").filter((q) => q.eq(1, 2)).first(); };
export const all = internalQueryGeneric(async (ctx, { name }) =>
  (await workflow.list(ctx, { workflow: of(name) }, { cursor: null, numItems: 100 })).page.map(({ runId, state }) => [runId, state]));
export const lists = internalQueryGeneric(async (ctx, { name, states, doings, parents, tags }) => {
  const first = { cursor: null, numItems: 100 };
  const ofName = { workflow: of(name) };
  const list = async (filter) => await workflow.list(ctx, { ...ofName, ...filter }, first);
  const each = async (all, by) => Object.fromEntries(await Promise.all(all.map(async (value) => {
    const filter = { [by]: by === "tag" ? { kind: value } : value };
    const { page, isDone } = by === "parent" ? await workflow.list(ctx, filter, first) : await list(filter);
    return [value, { runs: page.map(({ runId }) => runId), isDone }];
  })));
  const { page: placed } = await list({ places: true });
  await list({ children: true, text: "n1" });
  await list({ key: "key", outdated: true });
  for (const node of Object.keys(of(name).definition.nodes)) await list({ node });
  await limited.limits.list(ctx);
  const { queue, limited: inLines } = await ctx.runQuery(components.workflow.listing.poolUse, {});
  return {
    inState: await each(states, "state"),
    does: await each(doings, "doing"),
    tagged: await each(tags, "tag"),
    below: await each(parents, "parent"),
    placed: placed.flatMap(({ runId, at }) => at === undefined ? [] : [runId]),
    count: await workflow.bulk.count(ctx, ofName),
    queued: queue.reduce((sum, { count }) => sum + count, 0),
    inLines: inLines.reduce((sum, { count }) => sum + count, 0),
  };
});
export const cancel = internalMutationGeneric((ctx, { runId }) => workflow.cancel(ctx, runId));
export const pause = internalMutationGeneric((ctx, { runId }) => workflow.pause(ctx, runId));
export const resume = internalMutationGeneric((ctx, { runId }) => workflow.resume(ctx, runId));
export const restart = internalMutationGeneric((ctx, { name, runId, ...options }) =>
  workflow.restart(ctx, of(name), runId, options));
export const look = internalQueryGeneric(async (ctx, { name, runId }) => {
  const { page } = await workflow.steps(ctx, of(name), runId, { cursor: null, numItems: 100 });
  const status = await workflow.status(ctx, of(name), runId);
  await ctx.runQuery(components.workflow.views.tree, { runId });
  await ctx.runQuery(components.workflow.views.input, { runId });
  await ctx.runQuery(components.workflow.views.pool, {});
  const { page: waits } = await workflow.waits(ctx, runId);
  return { state: status?.state, stalled: status?.stalled ?? false, nodes: page.length, waits: waits.map((wait) => wait.runId) };
});
export const cleanup = internalMutationGeneric((ctx, { runId }) => workflow.cleanup(ctx, runId));
export const repair = internalMutationGeneric((ctx) => workflow.repair(ctx));
export const limit = internalMutationGeneric((ctx, config) =>
  ctx.runMutation(components.workflow.config.update, config));
export const steerLimit = internalMutationGeneric((ctx, { does, name, options }) =>
  limited.limits[does](ctx, name, options));
export const bulk = internalMutationGeneric((ctx, { name, where, ...options }) =>
  workflow.bulk.start(ctx, { ...options, where: { ...where, ...(name && { workflow: of(name) }) } }));
export const stopBulk = internalMutationGeneric((ctx, { bulkId }) => workflow.bulk.stop(ctx, bulkId));
export const bulks = internalQueryGeneric(async (ctx) =>
  (await workflow.bulk.list(ctx, { cursor: null, numItems: 100 })).page);
export const ended = internalMutationGeneric(async (ctx, { runId, context: { name, refuses }, result }) => {
  const status = await workflow.status(ctx, of(name), runId);
  await ctx.db.insert("ends", { runId, state: result.state, seen: status?.state });
  if (refuses === "greedy") await greedy(ctx);
  if (refuses) throw new Error("onComplete refuses");
});
export const rows = internalQueryGeneric((ctx, { table }) => ctx.db.query(table).collect());
`;
