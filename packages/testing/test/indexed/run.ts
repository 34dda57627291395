import {
  anyApi,
  componentsGeneric,
  type GenericMutationCtx,
  type GenericDataModel,
  mutationGeneric,
  queryGeneric,
} from "convex/server";
import { type GenericId, v } from "convex/values";
import type { Fields, Operation, Place, QueryOf } from "./operations.js";

/*
 * The functions of the app, and of its component: they do what they are told, and say what they
 * saw.
 */

const args = { operations: v.any(), fails: v.optional(v.boolean()) };
const here = anyApi["run"]!;
const inComponent = componentsGeneric()["inner"]!["run"]!;

type Ctx = GenericMutationCtx<GenericDataModel>;

export const mutate = mutationGeneric({
  args,
  handler: async (ctx, { operations, fails }) => {
    const seen = await run(ctx, operations as Operation[]);
    if (fails === true) throw new Error(`rolled back after ${seen.length}`);
    return seen;
  },
});

export const look = queryGeneric({
  args,
  // A query that is told to write says in words that it cannot.
  handler: async (ctx, { operations }) => await run(ctx as Ctx, operations as Operation[]),
});

export const page = queryGeneric({
  args: { query: v.any(), options: v.any() },
  handler: async (ctx, { query, options }) =>
    await build(ctx as Ctx, query as QueryOf)["paginate"]!(options),
});

async function run(ctx: Ctx, operations: readonly Operation[]): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (const operation of operations) {
    try {
      seen.push((await perform(ctx, operation)) ?? null);
    } catch (error) {
      seen.push((error as Error).message);
    }
  }
  return seen;
}

// oxlint-disable-next-line complexity -- One case for each kind of operation.
async function perform(ctx: Ctx, operation: Operation): Promise<unknown> {
  switch (operation.do) {
    case "insert":
      return await ctx.db.insert(operation.table, fieldsOf(ctx, operation.document));
    case "patch":
    case "replace": {
      const id = await pick(ctx, operation.place);
      const { table } = operation.place;
      const fields = fieldsOf(ctx, operation.document);
      return operation.do === "patch"
        ? await ctx.db.patch(table, id, fields)
        : await ctx.db.replace(table, id, fields);
    }
    case "delete":
      return await ctx.db.delete(operation.place.table, await pick(ctx, operation.place));
    case "query":
      return await results(ctx, operation.query, operation.end, operation.most);
    case "iterate": {
      const seen: unknown[] = [];
      let passed = 0;
      for await (const document of build(ctx, operation.query)) {
        seen.push(document);
        passed += 1;
        if (passed === operation.after) seen.push(await run(ctx, operation.between));
        if (passed === operation.most) break;
      }
      return seen;
    }
    case "pages":
      return await pages(ctx, operation);
    case "nested": {
      const reference = operation.where === "here" ? here["mutate"]! : inComponent["mutate"]!;
      const { operations, fails } = operation;
      return await ctx.runMutation(reference, { operations, fails });
    }
    case "look": {
      const { stale, operations } = operation;
      return await ctx.runQuery(here["look"]!, { operations }, { useStaleSnapshot: stale });
    }
    case "schedule":
      return await ctx.scheduler.runAfter(operation.afterMs, here["mutate"]!, {
        operations: operation.operations,
      });
    case "cancel": {
      const all = await ctx.db.system.query("_scheduled_functions").collect();
      // convex-test takes it amiss when a function that is running is canceled.
      const jobs = all.filter(({ state }) => state.kind === "pending");
      const job = jobs[operation.pick % jobs.length];
      return job === undefined ? null : await ctx.scheduler.cancel(job._id);
    }
  }
}

async function pick(ctx: Ctx, { table, pick }: Place): Promise<GenericId<Place["table"]>> {
  const documents = await ctx.db.query(table).collect();
  const document = documents[pick % documents.length];
  if (document === undefined) throw new Error("There is no document");
  return document._id as GenericId<Place["table"]>;
}

function fieldsOf(ctx: Ctx, fields: Fields): Record<string, never> {
  const entries = Object.entries(fields).map(([name, { value }]) => {
    return [name, name === "ts" && value === "commitTs" ? ctx.db.vars.commitTs : value];
  });
  return Object.fromEntries(entries) as Record<string, never>;
}

// The names of indexes and fields come from the test, also wrong ones, so the builders are used
// untyped.
interface Untyped {
  [Symbol.asyncIterator](): AsyncIterator<unknown>;
  [method: string]: (...args: unknown[]) => Untyped & Promise<unknown>;
}

function build(ctx: Ctx, { table, index, bounds, search, order, filters }: QueryOf): Untyped {
  let query = tableOf(ctx, table);
  if (search !== undefined) {
    query = query["withSearchIndex"]!("by_text", (q: Untyped) => {
      const searched = q["search"]!("text", search.words);
      return search.kind === undefined ? searched : searched["eq"]!("kind", search.kind);
    });
  } else if (index !== undefined) {
    query = query["withIndex"]!(index, (q: Untyped) =>
      bounds.reduce<Untyped>((range, { is, field, value }) => range[is]!(field, value), q),
    );
  }
  if (order !== undefined) query = query["order"]!(order);
  for (const { is, field, value, not } of filters) {
    query = query["filter"]!((q: Untyped) => {
      const compared = q[is]!(q["field"]!(field), value);
      return not === true ? q["not"]!(compared) : compared;
    });
  }
  return query;
}

function tableOf(ctx: Ctx, table: QueryOf["table"]): Untyped {
  const query = table === "_scheduled_functions" ? ctx.db.system.query(table) : ctx.db.query(table);
  return query as unknown as Untyped;
}

async function results(ctx: Ctx, query: QueryOf, end: string, most: number): Promise<unknown> {
  const built = build(ctx, query);
  if (end === "take") return await built["take"]!(most);
  // Not public: the only way to two limits, of which convex-test heeds the first.
  if (end === "limit") return await built["limit"]!(most)["limit"]!(2)["collect"]!();
  if (end === "count") return await tableOf(ctx, query.table)["count"]!();
  return await built[end]!();
}

async function pages(ctx: Ctx, of: Operation & { do: "pages" }): Promise<unknown[]> {
  const seen: unknown[] = [];
  let cursor: string | null = null;
  for (let number = 0; number < 6; number += 1) {
    const read = async (options: object) => {
      const from = { cursor, maximumRowsRead: of.rows, ...options };
      return await ctx.runQuery(here["page"]!, { query: of.query, options: from });
    };
    const found = (await read({ numItems: of.size })) as {
      continueCursor: string;
      isDone: boolean;
    };
    seen.push(found, await run(ctx, of.between));
    // As a client reads a page again: up to where it ended, however many documents are there by
    // now.
    seen.push(await read({ numItems: 1, endCursor: found.continueCursor }));
    cursor = found.continueCursor;
    if (found.isDone && number % 2 === 1) break;
  }
  return seen;
}
