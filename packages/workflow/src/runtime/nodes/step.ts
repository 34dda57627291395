import { createFunctionHandle } from "convex/server";
import type { Info } from "../../definition/context.js";
import type { AnyReference } from "../../definition/node.js";
import { callFor, describeThrown, type Failure } from "../../errors/failure.js";
import { checkedOutput } from "../../values.js";
import { nestedInfo } from "../attempt.js";
import { permitsOf } from "../limits.js";
import { actionFunction } from "../options.js";
import { madeOf } from "../place.js";
import type { Reads } from "../reads.js";
import type { Arrival, Arrive, Run } from "../run.js";
import { stubOf } from "../stubs.js";
import { tagging } from "../tags.js";

type Args = Record<string, unknown>;

/** What a stage that is executed here is called with: nested transactions only. */
export interface Nesting {
  readonly runMutation: (mutation: AnyReference<"mutation">, args: Args) => Promise<unknown>;
  readonly runQuery: (query: AnyReference<"query">, args: Args) => Promise<unknown>;
}
/** Calls the user's function, if it is a reference. */
export type Call = (ctx: Nesting, scope: unknown, info: Info) => Promise<unknown>;

export async function action(run: Run, stage: string): Arrival {
  await run.arrive(stage, undefined, async () => {
    run.beginDeadline(stage);
    const scopeOf = async (names: Reads) => await run.scopeFor(stage, "limits", names);
    // A later attempt has the keys of the first, which the component keeps; so has one resumed.
    const hasKeys = run.options.hasKeys === true || run.token.attempt > 1;
    const permits =
      run.isArrivalAt(stage) && hasKeys ? undefined : await permitsOf(run.own, stage, scopeOf);
    const fn = await actionFunction(run.own, stage, permits);
    run.goTo(stage, fn);
  });
}

type Kind = "mutation" | "query";
type Nested = (run: Run, stage: string, next: Arrive, call?: Call) => Arrival;

export const mutation: Nested = (...args) => execute("mutation", ...args);
export const query: Nested = (...args) => execute("query", ...args);

/** Runs a mutation or query in a nested transaction, here or, if it is full, in the next one. */
async function execute(kind: Kind, ...[run, stage, next, call]: Parameters<Nested>): Arrival {
  const { own, token } = run;
  if (await run.hasResult(stage)) return await next(run);
  const place = run.place(stage);
  const { called } = place;
  const isolate = place.policy.isolate === true;
  const isArrival = run.isArrivalAt(stage);
  if (!isArrival && (isolate || (await run.isClosed()))) return run.goTo(stage);
  if (isolate) run.closed = true;
  try {
    run.beginDeadline(stage);
  } catch (error) {
    return await run.fail(stage, describeThrown(error));
  }
  const stub = stubOf(own.definition, stage);
  const tag = tagging(kind === "query" ? {} : run.ctx, own.component, token.run);
  const info = nestedInfo({ ...token, iterations: [...run.iterations] }, stage, tag);
  const nested = async () => {
    if (stub !== undefined)
      return madeOf(place, await stub(await run.scopeFor(stage, kind, ["*"]), info));
    if (call === undefined) return await callGenerated(run, kind, stage);
    const scope: unknown = await run.scopeFor(stage, "args");
    // If a transaction without fusion fails, nobody calls it again.
    const checks = kind === "mutation" && !run.options.fuse && place.part !== "compensate";
    const ctx = await referencing(run, called, checks);
    const result = madeOf(place, await call(ctx, scope, info));
    try {
      return checkedOutput(called, result);
    } catch (error) {
      // What it wrote must not stay: it is called again, by a mutation that rolls it back.
      if (kind === "mutation" && !checks) run.refused = error as Failure;
      throw error;
    }
  };
  const isAlone = isArrival && run.options.starting === undefined;
  const again = isAlone || stub !== undefined ? undefined : () => run.goTo(stage);
  await run.record({ stage, kind, execute: nested, again }, next);
}

async function callGenerated(run: Run, kind: Kind, stage: string): Promise<unknown> {
  const { functions } = run.own;
  const scope = await run.scope(stage);
  // Only now: the function gets what the scope has not used of the transaction.
  const ctx = await nesting(run);
  const { run: runId, generation } = run.token;
  const iterations = run.iterations.length > 0 ? [...run.iterations] : undefined;
  const args = { runId, iterations, generation, scope };
  return kind === "mutation"
    ? await ctx.runMutation(functions.mutation(stage), args)
    : await ctx.runQuery(functions.query(stage), args);
}

/** Nested transactions that leave room in this one, as it is now. */
async function nesting(run: Run): Promise<Nesting> {
  const transactionLimits = await run.limits();
  return {
    runMutation: (fn, args) => run.ctx.runMutation(fn, args, { transactionLimits }),
    runQuery: (fn, args) => run.ctx.runQuery(fn, args, { transactionLimits }),
  };
}

/**
 * The same for references: it tells which results Convex refuses.
 * @param checks rolls them back.
 */
async function referencing(run: Run, called: string, checks: boolean): Promise<Nesting> {
  const { runMutation, runQuery } = await nesting(run);
  const { checked } = run.own.component.lib;
  const checking: typeof runMutation = async (mutation, args) => {
    const fn = await createFunctionHandle(mutation);
    return await runMutation(checked, { stage: called, fn, args });
  };
  const mutate = checks ? checking : runMutation;
  return {
    runMutation: (fn, args) => callFor(called, args, () => mutate(fn, args)),
    runQuery: (fn, args) => callFor(called, args, () => runQuery(fn, args)),
  };
}
