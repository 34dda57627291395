import type { ComponentApi } from "@stepwise/workflow/_generated/component.js";
import {
  type GenericMutationCtx,
  type GenericQueryCtx,
  internalMutationGeneric,
  internalQueryGeneric,
  mutationGeneric,
  queryGeneric,
  type AnyDataModel,
} from "convex/server";
import { v, type Infer } from "convex/values";
import { BULK_VERBS, DOING, STATES } from "./data-source.js";
import { readFunctions, writeFunctions, type Workflows } from "./functions.js";

const runId = v.string();
const cursor = v.union(v.string(), v.null());
const oneOf = <Name extends string>(names: readonly Name[]) =>
  v.union(...names.map((name) => v.literal(name)));

const filterFields = {
  workflow: v.optional(v.string()),
  state: v.optional(oneOf(STATES)),
  doing: v.optional(oneOf(DOING)),
  node: v.optional(v.string()),
  parent: v.optional(v.string()),
  key: v.optional(v.string()),
  tag: v.optional(v.record(v.string(), v.union(v.string(), v.number(), v.boolean()))),
  text: v.optional(v.string()),
  since: v.optional(v.number()),
  until: v.optional(v.number()),
  outdated: v.optional(v.boolean()),
};

const limitFields = { name: v.string(), key: v.optional(v.string()) };
const limitSaidFields = { ...limitFields, lasts: v.optional(v.string()) };

const vRead = v.union(
  v.object({ name: v.literal("workflows"), args: v.object({}) }),
  v.object({ name: v.literal("runs"), args: v.object({ ...filterFields, cursor }) }),
  v.object({
    name: v.literal("count"),
    args: v.object({ ...filterFields, upTo: v.optional(v.number()) }),
  }),
  v.object({ name: v.literal("bulks"), args: v.object({}) }),
  v.object({ name: v.literal("place"), args: v.object({ runId }) }),
  v.object({ name: v.literal("run"), args: v.object({ runId }) }),
  v.object({ name: v.literal("input"), args: v.object({ runId }) }),
  v.object({
    name: v.literal("steps"),
    args: v.object({ runId, cursor, withoutResults: v.optional(v.boolean()) }),
  }),
  v.object({ name: v.literal("pool"), args: v.object({}) }),
  v.object({ name: v.literal("poolUse"), args: v.object({}) }),
  v.object({ name: v.literal("limits"), args: v.object({}) }),
);

const vWrite = v.union(
  v.object({
    name: v.literal("start"),
    args: v.object({
      workflow: v.string(),
      input: v.any(),
      key: v.optional(v.string()),
      again: v.optional(v.string()),
    }),
  }),
  v.object({
    name: v.literal("sendEvent"),
    args: v.object({ runId, name: v.string(), payload: v.any() }),
  }),
  v.object({
    name: v.union(
      v.literal("cancel"),
      v.literal("pause"),
      v.literal("resume"),
      v.literal("cleanup"),
    ),
    args: v.object({ runId }),
  }),
  v.object({
    name: v.literal("restart"),
    args: v.object({
      runId,
      from: v.optional(v.string()),
      iteration: v.optional(v.number()),
      input: v.optional(v.any()),
      isEdited: v.optional(v.boolean()),
    }),
  }),
  v.object({
    name: v.literal("startBulk"),
    args: v.object({
      do: oneOf(BULK_VERBS),
      where: v.object(filterFields),
      perSecond: v.optional(v.number()),
    }),
  }),
  v.object({ name: v.literal("stopBulk"), args: v.object({ bulkId: v.string() }) }),
  v.object({ name: v.literal("repair"), args: v.object({}) }),
  v.object({
    name: v.literal("overrideLimit"),
    args: v.object({
      ...limitSaidFields,
      total: v.optional(v.number()),
      perKey: v.optional(v.number()),
    }),
  }),
  v.object({ name: v.literal("pauseLimit"), args: v.object(limitSaidFields) }),
  v.object({
    name: v.union(v.literal("resetLimit"), v.literal("resumeLimit")),
    args: v.object(limitFields),
  }),
);

/** What somebody wants to see or do. */
export type StudioCall = Infer<typeof vRead> | Infer<typeof vWrite>;

export interface StudioApiOptions {
  /** The generated `workflows`. */
  readonly workflows: Workflows;
  /**
   * Throws, or returns false, unless the caller may see or do what `call` says: whoever may, sees
   * the inputs and results of all runs. Of what it returns, only true and nothing let the caller in.
   * Without it the functions are internal, which only the app's own functions and a deploy key can
   * call.
   */
  readonly authorize?: (
    ctx: GenericQueryCtx<AnyDataModel> | GenericMutationCtx<AnyDataModel>,
    call: StudioCall,
  ) => Promise<boolean | void> | boolean | void;
}

/**
 * The functions of an app through which the studio sees and steers its runs:
 *
 * ```ts
 * // convex/studio.ts
 * export const { read, write } = defineStudioApi(components.workflow, { workflows, authorize });
 * ```
 */
export function defineStudioApi(
  component: ComponentApi,
  { workflows, authorize }: StudioApiOptions,
) {
  const reads = readFunctions(component, workflows);
  const writes = writeFunctions(component, workflows);
  const check = async (...[ctx, call]: Parameters<NonNullable<typeof authorize>>) => {
    // What it reads of documents has the type any: `user && user.isAdmin` of no user gives null.
    const may: unknown = await authorize?.(ctx, call);
    if (may !== true && may !== undefined)
      throw new Error(`Not allowed: \`authorize\` refuses "${call.name}"`);
  };
  const query = authorize === undefined ? internalQueryGeneric : queryGeneric;
  const mutation = authorize === undefined ? internalMutationGeneric : mutationGeneric;
  return {
    read: query({
      args: { call: vRead },
      handler: async (ctx, { call }): Promise<unknown> => {
        await check(ctx, call);
        // The name says which arguments these are.
        return await reads[call.name](ctx, call.args as never);
      },
    }),
    write: mutation({
      args: { call: vWrite },
      handler: async (ctx, { call }): Promise<unknown> => {
        await check(ctx, call);
        return await writes[call.name](ctx, call.args as never);
      },
    }),
  };
}
