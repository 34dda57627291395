import { v } from "convex/values";
import { internal } from "./_generated/api";
import { internalMutation } from "./_generated/server";

/** Writes much, then tells a run. */
export const sendAfterMuch = internalMutation({
  args: { run: v.string(), megabytes: v.number() },
  returns: v.string(),
  handler: async (ctx, { run, megabytes }): Promise<string> => {
    await ctx.runMutation(internal.ballast.add, { megabytes });
    return await ctx.runMutation(internal.manager.sendEvent, {
      name: "messenger",
      run,
      event: "message",
      payload: [],
    });
  },
});
