import {
  anyApi,
  type DataModelFromSchemaDefinition,
  defineSchema,
  defineTable,
  type GenericActionCtx,
  type GenericMutationCtx,
  type GenericQueryCtx,
  internalActionGeneric,
  internalMutationGeneric,
  internalQueryGeneric,
} from "convex/server";
import { v } from "convex/values";
import { Deployment, type DeploymentClass, type DeploymentOptions, S256 } from "../../src/index.js";
import type { Happening } from "../../src/index.js";

const tables = {
  rows: defineTable({ n: v.number(), k: v.string(), more: v.optional(v.any()) })
    .index("by_n", ["n"])
    .index("by_k", ["k", "n"]),
  other: defineTable(v.any()),
};
export const schema = defineSchema(tables, { schemaValidation: false });

/** Where nothing is left to chance: a mutation takes 20 ms and 5 more until others see it. */
export const EXACT: DeploymentClass = {
  ...S256,
  mutationMs: [20, 20],
  queryMs: [10, 10],
  persistMs: [5, 5],
  roundMs: [2, 2],
  actionStartMs: [10, 10],
  callMs: 0,
};

export type Tables = DataModelFromSchemaDefinition<typeof schema>;
// What a test's function is called with is its own affair.
export type Args = Record<string, any>;
export type MutationCtx = GenericMutationCtx<Tables>;
export type ActionCtx = GenericActionCtx<Tables>;
type Handlers = {
  mutations?: Record<string, (ctx: MutationCtx, args: Args) => unknown>;
  queries?: Record<string, (ctx: GenericQueryCtx<Tables>, args: Args) => unknown>;
  actions?: Record<string, (ctx: GenericActionCtx<Tables>, args: Args) => unknown>;
};

/** The functions of the module `f`, as references. */
export const f = anyApi["f"]!;

function modulesOf({ mutations = {}, queries = {}, actions = {} }: Handlers) {
  const all: Record<string, unknown> = {};
  for (const [name, handler] of Object.entries(mutations))
    all[name] = internalMutationGeneric({ handler } as never);
  for (const [name, handler] of Object.entries(queries))
    all[name] = internalQueryGeneric({ handler } as never);
  for (const [name, handler] of Object.entries(actions))
    all[name] = internalActionGeneric({ handler } as never);
  return { "./_generated/api.js": async () => ({}), "./f.js": async () => all };
}

/** A deployment of these functions, and of others in a component `inner`. */
export async function deployed(
  handlers: Handlers,
  options: DeploymentOptions = {},
  inner: Handlers = {},
): Promise<Deployment> {
  const parts = [
    { path: "", schema, modules: modulesOf(handlers) },
    { path: "inner", schema, modules: modulesOf(inner) },
  ];
  return await Deployment.of(parts, { class: EXACT, ...options });
}

/** What happened of one kind. */
export function watch<What extends Happening["what"]>(
  deployment: Deployment,
  what: What,
): Extract<Happening, { what: What }>[] {
  const seen: Extract<Happening, { what: What }>[] = [];
  deployment.onHappening((event) => {
    if (event.what === what) seen.push(event as Extract<Happening, { what: What }>);
  });
  return seen;
}

/** Calls from outside at given times, and what became of each, with the time when it was known. */
export async function played(
  deployment: Deployment,
  calls: readonly (readonly [at: number, name: string, args?: Args])[],
): Promise<{ at: number; value?: unknown; error?: Error }[]> {
  const began = deployment.clock.now();
  const results: { at: number; value?: unknown; error?: Error }[] = [];
  for (const [index, [at, name, args]] of calls.entries())
    deployment.at(at, async () => {
      const known = (more: object) =>
        (results[index] = { at: Math.round(deployment.clock.now() - began), ...more });
      await deployment.mutation(`f:${name}`, args).then(
        (value) => known({ value }),
        (error: unknown) => known({ error }),
      );
    });
  await deployment.drive();
  return results;
}

/** Inserts a row, as all tests have it. */
export const insert = async (ctx: MutationCtx, args: Args): Promise<unknown> =>
  await ctx.db.insert("rows", { n: 0, k: "a", ...args });

/** The n of the rows there are. */
export const numbers = (deployment: Deployment): number[] =>
  deployment.rows<{ n: number }>("", "rows").map(({ n }) => n);
