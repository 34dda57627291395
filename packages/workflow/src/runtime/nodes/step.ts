import { createFunctionHandle } from "convex/server";
import type { Info } from "../../definition/context.js";
import type { AnyReference } from "../../definition/node.js";
import { callFor, describeThrown, type Failure } from "../../errors/failure.js";
import { checkedOutput } from "../../values.js";
import { nestedInfo } from "../attempt.js";
import { actionFunction } from "../options.js";
import { policyOf } from "../reads.js";
import type { Arrival, Arrive, Run } from "../run.js";
import { stubOf } from "../stubs.js";

type Args = Record<string, unknown>;

/** What a stage that is executed here is called with: nested transactions only. */
export interface Nesting {
  runMutation(mutation: AnyReference<"mutation">, args: Args): Promise<unknown>;
  runQuery(query: AnyReference<"query">, args: Args): Promise<unknown>;
}
/** Calls the user's function, if it is a reference. */
export type Call = (ctx: Nesting, scope: unknown, info: Info) => Promise<unknown>;

interface Executed {
  readonly kind: "mutation" | "query";
  readonly stage: string;
  readonly call?: Call | undefined;
}

export async function action(run: Run, stage: string): Arrival {
  await run.arrive(stage, undefined, async () => {
    run.beginDeadline(stage);
    const fn = await actionFunction(run.own, stage);
    run.goTo(stage, fn);
  });
}

type Nested = (run: Run, stage: string, next: Arrive, call?: Call) => Arrival;

/** Runs a mutation or query in a nested transaction, here or, if it is full, in the next one. */
const nestedIn =
  (kind: Executed["kind"]): Nested =>
  (run, stage, next, call) =>
    execute(run, { kind, stage, call }, next);

export const mutation = nestedIn("mutation");
export const query = nestedIn("query");

async function execute(run: Run, executed: Executed, next: Arrive): Arrival {
  const { kind, stage, call } = executed;
  const { own, token } = run;
  if (await run.hasResult(stage)) return await next(run);
  const isolate = policyOf(own.definition, stage).isolate === true;
  const isArrival = run.isArrivalAt(stage);
  if (!isArrival && (isolate || (await run.isClosed()))) return run.goTo(stage);
  if (isolate) run.closed = true;
  try {
    run.beginDeadline(stage);
  } catch (error) {
    return await run.fail(stage, describeThrown(error));
  }
  const stub = stubOf(own.definition, stage);
  const info = nestedInfo({ ...token, iterations: [...run.iterations] }, stage);
  const nested = async () => {
    if (stub !== undefined) return await stub(await run.scopeFor(stage, kind, ["*"]), info);
    if (call === undefined) return await callGenerated(run, executed);
    const scope: unknown = await run.scopeFor(stage, "args");
    const called = run.called(stage);
    const ctx = await nesting(run);
    const referenced = (within: Nesting) => call(refusing(within, called), scope, info);
    return await (kind === "query" ? referenced(ctx) : checked(run, ctx, called, referenced));
  };
  const again = isArrival || stub !== undefined ? undefined : () => run.goTo(stage);
  await run.record({ stage, kind, execute: nested, again }, next);
}

async function callGenerated(run: Run, { kind, stage }: Executed): Promise<unknown> {
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

/** If its result cannot be stored, it is called again by a mutation that rolls it back. */
async function checked(
  run: Run,
  nested: Nesting,
  stage: string,
  referenced: (within: Nesting) => Promise<unknown>,
): Promise<unknown> {
  if (!run.options.callsAgain) return await referenced(checking(run, nested, stage));
  const result = await referenced(nested);
  try {
    return checkedOutput(stage, result);
  } catch (error) {
    run.refused = error as Failure;
    throw error;
  }
}

/** Tells a function whose result Convex refuses from one that throws. */
function refusing(nested: Nesting, stage: string): Nesting {
  return {
    runMutation: (fn, args) => callFor(stage, args, () => nested.runMutation(fn, args)),
    runQuery: (fn, args) => callFor(stage, args, () => nested.runQuery(fn, args)),
  };
}

function checking({ own }: Run, nested: Nesting, stage: string): Nesting {
  return {
    ...nested,
    runMutation: async (mutation, args) => {
      const fn = await createFunctionHandle(mutation);
      return await nested.runMutation(own.component.lib.checked, { stage, fn, args });
    },
  };
}

/** Nested transactions that leave room in this one, as it is now. */
async function nesting(run: Run): Promise<Nesting> {
  const transactionLimits = await run.limits();
  return {
    runMutation: (fn, args) => run.ctx.runMutation(fn, args, { transactionLimits }),
    runQuery: (fn, args) => run.ctx.runQuery(fn, args, { transactionLimits }),
  };
}
