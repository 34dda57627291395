import { createFunctionHandle } from "convex/server";
import type { ComponentApi } from "../../component/_generated/component.js";
import type { Info } from "../../definition/context.js";
import type { AnyReference } from "../../definition/node.js";
import { describeThrown, type Failure } from "../../errors/failure.js";
import { callFor } from "../../errors/refused-result.js";
import { checkedOutput } from "../../values.js";
import { nestedInfo } from "../info.js";
import { policyOf } from "../reads.js";
import type { Arrival, Arrive, Run } from "../run.js";
import { stubOf } from "../stubs.js";
import type { Transaction } from "../transaction.js";

type Args = Record<string, unknown>;

/** What a stage that is executed here is called with: nested transactions, and nothing else. */
interface Nesting {
  runMutation(mutation: AnyReference<"mutation">, args: Args): Promise<unknown>;
  runQuery(query: AnyReference<"query">, args: Args): Promise<unknown>;
}
/** Calls the user's function, where it is a reference. */
export type Call = (ctx: Nesting, scope: unknown, info: Info) => Promise<unknown>;

interface Executed {
  readonly kind: "mutation" | "query";
  readonly stage: string;
  readonly reads: readonly string[];
  readonly call: Call | undefined;
}

/** A mutation or query stage: executed by the transaction that arrives, or by the next one where this is full. */
export async function execute(
  run: Run,
  { kind, stage, reads, call }: Executed,
  next: Arrive,
): Arrival {
  const { transaction } = run;
  const { own, token } = transaction;
  if (await transaction.isKept(stage)) return await next(run);
  const isolate = policyOf(own.definition, stage).isolate === true;
  const isArrival = transaction.isArrivalAt(stage);
  if (!isArrival && (isolate || (await transaction.isClosed())))
    return transaction.goTo(stage, reads);
  if (isolate) transaction.close();
  try {
    transaction.beginDeadline(stage);
  } catch (error) {
    return transaction.fail(stage, describeThrown(error));
  }
  const stub = stubOf(own.definition, stage);
  const again = isArrival || stub !== undefined ? undefined : () => transaction.goTo(stage, reads);
  const info = nestedInfo({ ...token, pass: [...transaction.pass] }, stage);
  const called = transaction.called(stage);
  const nested = async () => {
    if (stub !== undefined)
      return await stub(await transaction.copiedScope({ stage, function: kind }, ["*"]), info);
    if (call === undefined) return await callGenerated(transaction, { kind, stage, reads });
    const scope = await transaction.copiedScope({ stage, function: "args" }, reads);
    const ctx = await nesting(transaction);
    const referenced = (within: Nesting) => call(refusing(within, called), scope, info);
    return await (kind === "query"
      ? referenced(ctx)
      : checked(transaction, ctx, called, referenced));
  };
  await transaction.record({ stage, kind, execute: nested, again }, next, run);
}

/** Calls the generated function of an inline handler. */
async function callGenerated(
  transaction: Transaction,
  { kind, stage, reads }: Omit<Executed, "call">,
): Promise<unknown> {
  const { own, token, pass } = transaction;
  const scope = await transaction.scope(stage, reads);
  // Only now: what the scope took of the transaction is not left for the function.
  const ctx = await nesting(transaction);
  const { run: runId, generation } = token;
  const args = {
    runId,
    ...(pass.length > 0 ? { pass: [...pass] } : {}),
    ...(generation === undefined ? {} : { generation }),
    scope,
    reads: [...reads],
  };
  return kind === "mutation"
    ? await ctx.runMutation(own.functions.mutation(stage), args)
    : await ctx.runQuery(own.functions.query(stage), args);
}

/**
 * Calls a mutation by reference. Its result is seen when what it wrote can be rolled back only with the whole transaction: one that
 * cannot be stored has that repeated, and then the function is called inside a mutation that checks.
 */
async function checked(
  transaction: Transaction,
  nested: Nesting,
  stage: string,
  referenced: (within: Nesting) => Promise<unknown>,
): Promise<unknown> {
  const { own, options } = transaction;
  if (!options.callsAgain) return await referenced(checking(nested, own.component, stage));
  const result = await referenced(nested);
  try {
    return checkedOutput(stage, result);
  } catch (error) {
    transaction.refuse(error as Failure);
    throw error;
  }
}

/** Tells a function whose result Convex refuses from one that throws. */
function refusing(nested: Nesting, stage: string): Nesting {
  return {
    runMutation: (mutation, args) => callFor(stage, args, () => nested.runMutation(mutation, args)),
    runQuery: (query, args) => callFor(stage, args, () => nested.runQuery(query, args)),
  };
}

function checking(nested: Nesting, { lib }: ComponentApi, stage: string): Nesting {
  return {
    ...nested,
    runMutation: async (mutation, args) => {
      const fn = await createFunctionHandle(mutation);
      return await nested.runMutation(lib.checked, { stage, fn, args });
    },
  };
}

/** Nested transactions that leave room in this one, as it is now. */
async function nesting(transaction: Transaction): Promise<Nesting> {
  const { ctx } = transaction;
  const transactionLimits = await transaction.limits();
  return {
    runMutation: (mutation, args) => ctx.runMutation(mutation, args, { transactionLimits }),
    runQuery: (query, args) => ctx.runQuery(query, args, { transactionLimits }),
  };
}
