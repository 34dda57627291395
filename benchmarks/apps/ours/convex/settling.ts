import {
  reportSettled,
  settle,
  settlingArgs,
  type SettlingArgs,
  type Workpool,
} from "@stepwise/workpool";
import {
  componentsGeneric,
  internalActionGeneric,
  internalMutationGeneric,
  makeFunctionReference,
} from "convex/server";
import { v } from "convex/values";

type Component = ConstructorParameters<typeof Workpool>[0];
type Args = SettlingArgs & { n: number; ms: number };

const component = componentsGeneric()["workpool"] as unknown as Component;
const args = { ...settlingArgs, n: v.number(), ms: v.number() };

export const settlingAct = makeFunctionReference<"action", Args, null>("settling:act");
const settledReference = makeFunctionReference<"mutation", Args, null>("settling:settled");

/** What `steps:actFor` does, as a work that settles itself. */
export const act = internalActionGeneric({
  args,
  returns: v.null(),
  handler: async (ctx, { token, slot, n, ms }): Promise<null> => {
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    await reportSettled(component, ctx, settledReference, { token, slot, n: n + 1, ms });
    return null;
  },
});

/** Where an app would record the result. */
export const settled = internalMutationGeneric({
  args,
  returns: v.null(),
  handler: async (ctx, { token, slot, n }): Promise<null> => {
    const outcome = { kind: "success" as const, returnValue: n };
    if (!(await settle(component, ctx, { token, slot }, outcome)))
      throw new Error("Settled before");
    return null;
  },
});
