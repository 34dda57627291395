import { v } from "convex/values";
import { internalMutation, internalQuery } from "./_generated/server";
import { workflow } from "./_workflows/index";

export { pause, resume } from "../convex/manager";

export const override = internalMutation({
  args: { perKey: v.number(), until: v.string() },
  returns: v.null(),
  handler: async (ctx, { perKey, until }) =>
    await workflow.limits.override(ctx, "tenant", { perKey, until: until as "1h", by: "ada" }),
});

export const hold = internalMutation({
  args: { paused: v.boolean(), key: v.string() },
  returns: v.null(),
  handler: async (ctx, { paused, key }) =>
    await workflow.limits[paused ? "pause" : "resume"](ctx, "tenant", { key }),
});

export const pauseAll = internalMutation({
  args: {},
  returns: v.null(),
  handler: async (ctx) => await workflow.limits.pause(ctx, "tenant", { until: "10m", by: "ada" }),
});

export const seen = internalQuery({
  args: { key: v.string() },
  returns: v.any(),
  handler: async (ctx, { key }) => await workflow.limits.get(ctx, "tenant", { key }),
});
