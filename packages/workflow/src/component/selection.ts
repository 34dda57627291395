import { oneOf } from "@stepwise/workpool/core";
import { type ObjectType, v } from "convex/values";
import { vDoing, vRunState, vTags } from "./validators.js";

/** Which runs to find: by at most one of `key`, `parent`, `stages`, `tag` and `doing`. */
export const whereFields = {
  workflow: v.optional(v.string()),
  state: v.optional(vRunState),
  /** Selects the runs that did not start under the plan of this hash. */
  notOfPlan: v.optional(v.string()),
  /** Selects the runs created from `since` on, and before `until`; ms since the epoch. */
  since: v.optional(v.number()),
  until: v.optional(v.number()),
  /** Selects the runs with this text in their key, id or error, in upper or lower case. */
  text: v.optional(v.string()),
  children: v.optional(v.boolean()),
  key: v.optional(v.string()),
  /** The id of a run, or of one of its records of children. */
  parent: v.optional(v.string()),
  stages: v.optional(v.array(v.string())),
  /** One tag. */
  tag: v.optional(vTags),
  doing: v.optional(vDoing),
};
export type Where = ObjectType<typeof whereFields>;

/** What is done to many runs. */
export const bulkArgs = {
  do: oneOf("cancel", "pause", "resume", "restart", "cleanup"),
  /** The storage name of the node that runs are restarted from, and what it is called. */
  from: v.optional(v.string()),
  called: v.optional(v.string()),
  where: v.object(whereFields),
  /** Ends it once so many were changed; how many it may change in a second. */
  atMost: v.optional(v.number()),
  perSecond: v.optional(v.number()),
};

/** How far it is. */
export const bulkFields = {
  ...bulkArgs,
  /** `halted`: by itself, as most were refused. */
  state: oneOf("running", "completed", "stopped", "halted"),
  done: v.number(),
  refused: v.number(),
  /** By why they were, with the first run of each. */
  refusals: v.array(v.object({ why: v.string(), count: v.number(), runId: v.string() })),
  endedAt: v.optional(v.number()),
};
