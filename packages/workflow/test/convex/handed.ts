import { NonRetryableError, RetryAfter } from "@stepwise/workflow";
import { ConvexError, v } from "convex/values";
import { internal } from "./_generated/api";
import { internalAction } from "./_generated/server";

/** Does what it is told, as a function of the app may: well, or in each way in which it fails. */
export const act = internalAction({
  args: { what: v.string(), key: v.string(), attempt: v.number(), first: v.string() },
  returns: v.string(),
  handler: async (ctx, { what, key, attempt, first }) => {
    await ctx.runMutation(internal.app.log, { text: `${attempt} ${key.replace(/^[^/]*/, "")}` });
    if (what === "schedules") {
      const identity = await ctx.auth.getUserIdentity();
      await ctx.scheduler.runAfter(0, internal.app.log, { text: `scheduled by ${identity}` });
    }
    if (what === "throws") throw new Error(`no ${first} today`);
    if (what === "throwsData") throw new ConvexError({ code: 7, list: [1n] });
    if (what === "refuses") throw new NonRetryableError("never again", { code: 9 });
    if (what === "asksForLater" && first === "first") throw new RetryAfter("1m");
    if (what === "wrongResult") return 7 as unknown as string;
    if (what === "large") return "x".repeat(1_200_000);
    if (what === "slow") await new Promise((resolve) => setTimeout(resolve, 20_000));
    return `${what} after ${first}`;
  },
});

/** Without validators. */
export const give = internalAction(async (_ctx, { what }: { what: string }): Promise<unknown> => {
  if (what === "date") return { at: new Date(0) };
  return what === "nothing" ? undefined : what;
});
