import { createFunctionHandle } from "convex/server";
import type { Info } from "../../definition/context.js";
import type { AnyReference } from "../../definition/node.js";
import { callFor } from "../../errors/calling.js";
import { describeThrown, type Failure } from "../../errors/failure.js";
import { checkedOutput } from "../../values.js";
import { nestedInfo } from "../attempt.js";
import { permitsOf } from "../limits.js";
import { actionFunction } from "../options.js";
import type { Reads } from "../named.js";
import type { Arrival, Arrive, Run } from "../run.js";
import { type AnyStub, stubOf } from "../stubs.js";

type Args = Record<string, unknown>;

/** What a stage that is executed here is called with: nested transactions only. */
interface Nesting {
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

/** Runs a mutation or query in a nested transaction, here or, if it is full, in the next one. */
const executed =
  (kind: Kind) =>
  async (run: Run, stage: string, next: Arrive, call?: Call): Arrival => {
    if (await run.hasResult(stage)) return await next(run);
    const isolate = run.place(stage).policy.isolate === true;
    const isArrival = run.isArrivalAt(stage);
    if (!isArrival && (isolate || (await run.isClosed()))) return run.goTo(stage);
    if (isolate) run.closed = true;
    try {
      run.beginDeadline(stage);
    } catch (error) {
      return await run.fail(stage, describeThrown(error));
    }
    const stub = stubOf(run.own.definition, stage);
    const execute = async () => {
      if (stub !== undefined) return await callStub(run, kind, stage, stub);
      if (call !== undefined) return await callReferences(run, kind, stage, call);
      return await callGenerated(run, kind, stage);
    };
    const { starting, ending } = run.options;
    const isAlone = isArrival && starting === undefined && ending === undefined;
    const again = isAlone || stub !== undefined ? undefined : () => run.goTo(stage);
    await run.record({ stage, kind, execute, again }, next);
  };

export const mutation = executed("mutation");
export const query = executed("query");

async function callGenerated(run: Run, kind: Kind, stage: string): Promise<unknown> {
  const { ctx, own, token, iterations: around } = run;
  const scope = await run.scope(stage);
  const iterations = around.length > 0 ? [...around] : undefined;
  const args = { runId: token.run, iterations, generation: token.generation, scope };
  // Only now: the function gets what the scope has not used of the transaction.
  const options = { transactionLimits: await run.limits() };
  return kind === "mutation"
    ? await ctx.runMutation(own.functions.mutation(stage), args, options)
    : await ctx.runQuery(own.functions.query(stage), args, options);
}

function infoOf({ ctx, own, token, iterations }: Run, kind: Kind, stage: string): Info {
  const of = { ...token, iterations: [...iterations] };
  return nestedInfo(kind === "query" ? {} : ctx, own, of, stage);
}

async function callStub(run: Run, kind: Kind, stage: string, stub: AnyStub): Promise<unknown> {
  const scope = await run.scopeFor(stage, kind, ["*"]);
  const result = await stub(scope, infoOf(run, kind, stage));
  return run.place(stage).isVoid ? null : result;
}

/** Calls functions of the app as `call` says. It tells which results Convex refuses. */
async function callReferences(run: Run, kind: Kind, stage: string, call: Call): Promise<unknown> {
  const { ctx, own } = run;
  const { called, part, isVoid } = run.place(stage);
  const scope: unknown = await run.scopeFor(stage, "args");
  const options = { transactionLimits: await run.limits() };
  // If a transaction without fusion fails, nobody calls it again.
  const checks = kind === "mutation" && !run.options.fuse && part !== "compensate";
  const { checked } = own.component.lib;
  const mutate: Nesting["runMutation"] = async (mutation, args) => {
    if (!checks) return await ctx.runMutation(mutation, args, options);
    const fn = await createFunctionHandle(mutation);
    return await ctx.runMutation(checked, { stage: called, fn, args }, options);
  };
  const nesting: Nesting = {
    runMutation: (fn, args) => callFor(called, args, () => mutate(fn, args)),
    runQuery: (fn, args) => callFor(called, args, () => ctx.runQuery(fn, args, options)),
  };
  const result = await call(nesting, scope, infoOf(run, kind, stage));
  try {
    return checkedOutput(called, isVoid ? null : result);
  } catch (error) {
    // What it wrote must not stay: it is called again, by a mutation that rolls it back.
    if (kind === "mutation" && !checks) run.refused = error as Failure;
    throw error;
  }
}
