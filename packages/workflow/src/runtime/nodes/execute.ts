import type { GenericMutationCtx } from "convex/server";
import { leaveRoom, ROOM_TO_COMPLETE } from "@stepwise/workpool/core";
import type { AnyReference } from "../../definition/node.js";
import { unpackedScope } from "../../packing.js";
import { nestedInfo } from "../info.js";
import { policyOf } from "../reads.js";
import type { Arrival, Arrive, Run } from "../run.js";
import { stubOf } from "../stubs.js";

type Args = Record<string, unknown>;

/** What a stage that is executed here is called with: nested transactions, and nothing else. */
interface Nesting {
  runMutation(mutation: AnyReference<"mutation">, args: Args): Promise<unknown>;
  runQuery(query: AnyReference<"query">, args: Args): Promise<unknown>;
}
/** Calls the user's function, where it is a reference. */
export type Call = (ctx: Nesting, scope: unknown) => Promise<unknown>;

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
  transaction.beginDeadline(stage);
  const stub = stubOf(own.definition, stage);
  const again = isArrival || stub !== undefined ? undefined : () => transaction.goTo(stage, reads);
  const generated: Call = (ctx, scope) => {
    const args = { ...identityOf(token), scope };
    return kind === "mutation"
      ? ctx.runMutation(own.functions.mutation(stage), args)
      : ctx.runQuery(own.functions.query(stage), args);
  };
  const identityOf = ({ run: runId, generation }: typeof token) => ({
    runId,
    ...(transaction.pass.length > 0 ? { pass: [...transaction.pass] } : {}),
    ...(generation === undefined ? {} : { generation }),
  });
  const nested = async () => {
    if (stub !== undefined) {
      const info = nestedInfo({ ...token, pass: [...transaction.pass] }, stage);
      return await stub(unpackedScope(await transaction.scope(stage, ["*"])), info);
    }
    const scope = await transaction.scope(stage, reads);
    return await (call ?? generated)(await nesting(transaction.ctx), scope);
  };
  await transaction.record({ stage, kind, execute: nested, again }, next, run);
}

/** Nested transactions that leave room in this one: whatever a stage uses up, its failure can be written down and the run go on. */
async function nesting(ctx: GenericMutationCtx<any>): Promise<Nesting> {
  const transactionLimits = await leaveRoom(ctx, ROOM_TO_COMPLETE);
  return {
    runMutation: (mutation, args) => ctx.runMutation(mutation, args, { transactionLimits }),
    runQuery: (query, args) => ctx.runQuery(query, args, { transactionLimits }),
  };
}
