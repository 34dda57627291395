import { getConvexSize, type Value } from "convex/values";
import type { Id } from "./_generated/dataModel.js";
import type { MutationCtx } from "./_generated/server.js";

/** From this size on, a value is kept in a document of its own. */
const INLINE_BYTES = 8_000;
/** A document holds 1 MiB; the rest is for its other fields. */
const LARGEST_VALUE_BYTES = 1_000_000;

/** Where a value is kept: in the work's document, or in one of its own. */
export interface Kept {
  readonly inline?: Value;
  readonly large?: Id<"largeValues">;
}

/**
 * Keeps the arguments or the context of a work.
 * @param what names the value in the message of the error.
 * @throws where the value is larger than 1 MB.
 */
export async function keepValue(ctx: MutationCtx, value: Value, what: string): Promise<Kept> {
  const bytes = getConvexSize(value);
  if (bytes < INLINE_BYTES) return { inline: value };
  if (bytes > LARGEST_VALUE_BYTES)
    throw new Error(
      `The ${what} is ${bytes} bytes large, and a work may have ${LARGEST_VALUE_BYTES}: ` +
        "store the data (in a table, or in file storage) and pass its id",
    );
  return { large: await ctx.db.insert("largeValues", { value }) };
}

export async function keptValue(ctx: MutationCtx, kept: Kept): Promise<Value | undefined> {
  if (kept.large === undefined) return kept.inline;
  const document = await ctx.db.get("largeValues", kept.large);
  if (document === null) throw new Error(`The large value "${kept.large}" of a work is gone`);
  return document.value;
}

export async function dropValue(ctx: MutationCtx, kept: Kept): Promise<void> {
  if (kept.large !== undefined) await ctx.db.delete("largeValues", kept.large);
}
