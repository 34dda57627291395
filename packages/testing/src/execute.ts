import type { DeploymentMetadata, Scheduler, TransactionMetrics } from "convex/server";
import { type Call, describe, type Frame, frames, type FunctionType } from "./call.js";
import { watchScheduler } from "./scheduling.js";
import { checkNesting, checkValue, type Violation } from "./limits.js";
import { add, difference, noUsage, undoWrites, type Usage, usageOf } from "./usage.js";

/** What the counting needs of a recorder. */
export interface Recording {
  readonly limits: boolean;
  /** The class that the deployment says it is of. Default: convex-test's. */
  readonly deploymentClass: DeploymentMetadata["class"] | undefined;
  newCall(call: Omit<Call, "id">, counted: boolean): Call;
  ended(call: Call, counted: boolean): void;
  /** Says whether a function only looks if something was lost. */
  isStandby(name: string): boolean;
  /** Records the violation and throws. */
  refuse(violation: Violation): never;
  /** Something moved that is not counted. Each `started` needs its `finished`. */
  started(): void;
  finished(): void;
}

/** The part of a Convex function's `ctx` that is read. */
export interface FunctionCtx {
  readonly meta?: {
    getTransactionMetrics?(): Promise<TransactionMetrics>;
    getDeploymentMetadata?(): Promise<DeploymentMetadata>;
  };
  readonly scheduler?: Scheduler;
}

interface Executed {
  readonly component: string;
  readonly name: string;
  readonly type: FunctionType;
  /** False for `t.run`: what it calls is counted, it is not. */
  readonly counted: boolean;
}

/** Runs one handler and records the call. */
export async function execute(
  recording: Recording,
  what: Executed,
  ctx: FunctionCtx,
  args: unknown,
  handler: (ctx: FunctionCtx) => unknown,
): Promise<unknown> {
  const above = frames.getStore();
  if (above === "uncounted") return await observe(recording, ctx, handler);

  const parent = above?.active === true ? above : undefined;
  const inTransaction = what.type !== "action";
  const depth = inTransaction && parent?.inTransaction === true ? parent.depth + 1 : 0;
  const call = recording.newCall(
    {
      component: what.component,
      name: what.name,
      type: what.type,
      how: parent === undefined ? "root" : parent.inTransaction ? "nested" : "action",
      ...(parent === undefined ? {} : { parent: parent.call.id }),
      failed: false,
      rolledBack: false,
      startedAt: Date.now(),
      self: noUsage(),
      total: noUsage(),
    },
    what.counted,
  );
  const frame: Frame = { call, inTransaction, depth, nested: [], active: true };
  const checked = recording.limits && what.counted;
  const where = describe(what.component, what.name);
  const usedBefore = await used(ctx);
  try {
    if (checked) {
      refuseIf(recording, checkNesting(where, depth));
      refuseIf(recording, checkValue(where, args, "argumentsSize"));
    }
    const watched = ofClass(recording, watchScheduler(recording, frame, ctx));
    const result = await frames.run(frame, () => handler(watched));
    if (checked) refuseIf(recording, checkValue(where, result, "resultSize"));
    return result;
  } catch (error) {
    call.failed = true;
    throw error;
  } finally {
    settle(frame, usedBefore, await used(ctx));
    parent?.nested.push(frame);
    call.endedAt = Date.now();
    recording.ended(call, what.counted);
  }
}

/** A `ctx` that reports another class of deployment than convex-test does. */
function ofClass({ deploymentClass }: Recording, ctx: FunctionCtx): FunctionCtx {
  const { meta } = ctx;
  const told = meta?.getDeploymentMetadata;
  if (deploymentClass === undefined || told === undefined) return ctx;
  const getDeploymentMetadata = async () => ({ ...(await told()), class: deploymentClass });
  return { ...ctx, meta: { ...meta, getDeploymentMetadata } };
}

/** An observer's call: nothing is counted, but it still moves. */
async function observe(
  recording: Recording,
  ctx: FunctionCtx,
  handler: (ctx: FunctionCtx) => unknown,
): Promise<unknown> {
  recording.started();
  try {
    return await handler(watchScheduler(recording, undefined, ctx));
  } finally {
    recording.finished();
  }
}

/** Works out a call's usage, once it and all it called have ended. */
function settle(frame: Frame, before: Usage | undefined, after: Usage | undefined): void {
  const { call, nested } = frame;
  frame.active = false;
  if (call.failed && frame.inTransaction) nested.forEach(rollBack);
  const below = noUsage();
  for (const child of nested) add(below, child.call.total);
  if (before === undefined || after === undefined) {
    // An action has no transaction of its own: what it used is what its calls used.
    add(call.total, call.self);
    add(call.total, below);
    return;
  }
  call.total = difference(after, before);
  if (call.failed) {
    undoWrites(call.total);
    call.rolledBack = true;
  }
  call.self = difference(call.total, below);
}

/** A transaction takes the writes of everything nested in it along when it fails. */
function rollBack(frame: Frame): void {
  frame.call.rolledBack = true;
  undoWrites(frame.call.self);
  undoWrites(frame.call.total);
  frame.nested.forEach(rollBack);
}

async function used(ctx: FunctionCtx): Promise<Usage | undefined> {
  const metrics = await ctx.meta?.getTransactionMetrics?.();
  return metrics === undefined ? undefined : usageOf(metrics);
}

function refuseIf(recording: Recording, violation: Violation | undefined): void {
  if (violation !== undefined) recording.refuse(violation);
}
