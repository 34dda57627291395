import { internalActionGeneric } from "convex/server";
import { type ObjectType, v } from "convex/values";
import { attemptOf } from "../attempts.js";
import { vReported } from "../component/protocol.js";
import type { ActionCtx, Info } from "../definition/context.js";
import { callFor } from "../errors/calling.js";
import { Failure } from "../errors/failure.js";
import { checkedOutput } from "../values.js";
import { identityOf, nestedInfo, report } from "./attempt.js";
import { inputAtBeginning } from "./begins.js";
import type { Referring } from "./call.js";
import { actionArgs, type Bound, nestedArgs, type StepAction } from "./functions.js";
import { placeOf } from "./place.js";
import { readableScope, readsOf } from "./reads.js";
import { stubOf } from "./stubs.js";
import { tagging } from "./tags.js";

/* The context and the scope of a handler were checked where it was written. */
export type Handler<Ctx> = (ctx: Ctx, scope: never, info: Info) => unknown;

/** An internal action: runs the handler with what it reads, and reports to `<stage>Done`. */
export function actionOf(own: Bound, stage: string, handler: Handler<ActionCtx>): StepAction {
  const { component, definition } = own;
  return internalActionGeneric({
    args: actionArgs,
    returns: v.union(v.null(), vReported),
    handler: async (ctx, { token, slot, scope, previousError }) => {
      const beganAt = Date.now();
      const info = {
        ...identityOf(token, stage),
        attempt: token.attempt,
        previousError,
        isCanceled: async () => await ctx.runQuery(component.lib.isCanceled, { token }),
        tag: tagging(ctx, component, token.run),
      };
      const { called, policy, isVoid } = placeOf(definition, stage);
      // A scope that cannot be loaded is a failure of the attempt like any other.
      const begun = await inputAtBeginning(ctx, own, token);
      if ("error" in begun) return await report(ctx, own, stage, { token, slot, beganAt }, begun);
      const attempt = attemptOf(called, policy.timeout, async (signal) => {
        const full = { ...info, signal };
        const stub = stubOf(definition, stage);
        const names = stub === undefined ? undefined : ["*"];
        const all = readsOf(own, stage, token.iterations, names);
        // An earlier version of the code may have scheduled it, with less than it reads now.
        const missing = all.filter(({ name }) => !Object.hasOwn(scope ?? {}, name));
        const args = { run: token.run, reads: missing };
        const loaded = missing.length > 0 ? await ctx.runQuery(component.lib.load, args) : {};
        const reader = "args" in policy ? "args" : "action";
        const read = { ...scope, ...loaded, ...begun };
        const values = readableScope(own, stage, reader, read, names);
        const run = handlerOf(handler, "runAction", policy);
        const result: unknown =
          stub === undefined
            ? await run(contextFor(ctx, policy, called), values, full)
            : await stub(values, full);
        return isVoid ? null : result;
      });
      return await report(ctx, own, stage, { token, slot, beganAt }, attempt);
    },
  });
}

/** A mutation or a query: runs the handler, nested in the transaction that arrives. */
export const nestedOf = <Ctx>(
  own: Bound,
  stage: string,
  kind: "mutation" | "query",
  given: Handler<Ctx>,
) => ({
  args: nestedArgs,
  returns: v.any(),
  handler: async (ctx: Ctx, args: ObjectType<typeof nestedArgs>): Promise<unknown> => {
    const { scope, runId: run, iterations, generation } = args;
    try {
      const values = readableScope(own, stage, kind, scope);
      const of = { run, iterations, generation };
      const info = nestedInfo(ctx as Parameters<typeof nestedInfo>[0], own, of, stage);
      const { called, policy, isVoid } = placeOf(own.definition, stage);
      const method = kind === "query" ? "runQuery" : "runMutation";
      const result = await handlerOf(given, method, policy)(ctx, values, info);
      return checkedOutput(called, isVoid ? null : result);
    } catch (error) {
      // So that it keeps what it was on the way out of the nested transaction.
      throw Failure.from(error);
    }
  },
});

/** What the compiler took for a handler: a function reference, if its `args` were not seen. */
function handlerOf<Ctx>(given: Handler<Ctx>, method: string, { args }: Referring): Handler<Ctx> {
  if (typeof given === "function") return given;
  // Its type is that of a function, as the definition has it.
  type Calling = Readonly<Record<string, (fn: unknown, args: unknown) => unknown>>;
  return (ctx, scope, info) => (ctx as Calling)[method]?.(given, args?.(scope, info));
}

/** The context of an action's handler. A call by reference tells refused results. */
function contextFor(ctx: ActionCtx, policy: object, stage: string): ActionCtx {
  if ("action" in policy && typeof policy.action === "function") return ctx;
  const runAction: ActionCtx["runAction"] = (action, ...args) =>
    callFor(stage, args[0], () => ctx.runAction(action, ...args));
  return { ...ctx, runAction };
}
