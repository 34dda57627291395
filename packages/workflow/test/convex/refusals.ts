import { NonRetryableError, RetryAfter } from "@stepwise/workflow";
import { v } from "convex/values";
import { internalAction, internalMutation, internalQuery } from "./_generated/server";

const refuse = async (): Promise<null> => {
  throw new NonRetryableError("never again", { code: 9 });
};
const args = {};
const returns = v.null();

export const refuseAction = internalAction({ args, returns, handler: refuse });
export const refuseMutation = internalMutation({ args, returns, handler: refuse });
export const refuseQuery = internalQuery({ args, returns, handler: refuse });

export const later = internalMutation({
  args: { after: v.any() },
  returns: v.number(),
  handler: async (_ctx, { after }) => {
    throw new RetryAfter(after);
  },
});
