import { MOST_TAGS } from "../../rules.js";
import type { Tags } from "../validators.js";
import type { MutationCtx, QueryCtx, Run, RunId } from "./documents.js";

const rowsOf = (ctx: QueryCtx, run: RunId) =>
  ctx.db
    .query("tags")
    .withIndex("by_run", (q) => q.eq("run", run))
    .collect();

/** The tags of a run. Of one without any, nothing is read. */
export async function tagsOf(
  ctx: QueryCtx,
  { _id, tagged }: Pick<Run, "_id" | "tagged">,
): Promise<Tags | undefined> {
  if (tagged !== true) return undefined;
  return Object.fromEntries((await rowsOf(ctx, _id)).map(({ name, value }) => [name, value]));
}

export async function insertTags(ctx: MutationCtx, run: RunId, tags: Tags, at: number) {
  for (const [name, value] of Object.entries(tags))
    await ctx.db.insert("tags", { run, name, value, at });
}

/** Gives a run tags, or changes them. @throws if it would have too many */
export async function putTags(ctx: MutationCtx, run: Run, tags: Tags): Promise<void> {
  const rows = run.tagged === true ? await rowsOf(ctx, run._id) : [];
  const added = { ...tags };
  for (const { _id, name, value } of rows) {
    const next = tags[name];
    if (next !== undefined && next !== value) await ctx.db.patch("tags", _id, { value: next });
    delete added[name];
  }
  const count = rows.length + Object.keys(added).length;
  if (count > MOST_TAGS)
    throw new Error(`Run "${run._id}" would have ${count} tags: it may have ${MOST_TAGS}`);
  await insertTags(ctx, run._id, added, Math.floor(run._creationTime));
  if (run.tagged !== true && count > 0) await ctx.db.patch("runs", run._id, { tagged: true });
}

export async function removeTags(ctx: MutationCtx, { _id, tagged }: Run): Promise<void> {
  if (tagged !== true) return;
  for (const row of await rowsOf(ctx, _id)) await ctx.db.delete("tags", row._id);
}
