import type { Doc, Id, TableNames } from "../_generated/dataModel.js";

/**
 * Up to where documents were read that an index has in the order of their creation. Transactions of
 * one moment give one creation time, so the documents `seen` of that time are told apart by id.
 */
export type Moment<Table extends TableNames> = { time: number; seen: Id<Table>[] };

export const BEGINNING: Moment<never> = { time: 0, seen: [] };

/** Returns the moment of a document that was read after another one. */
export function momentOf<Table extends TableNames>(
  { _id, _creationTime: time }: Pick<Doc<Table>, "_id" | "_creationTime">,
  { time: before, seen }: Moment<Table>,
): Moment<Table> {
  return { time, seen: time === before ? [...seen, _id] : [_id] };
}

/** @param from those that were created at its time or later. */
export async function firstAfter<Table extends TableNames>(
  { seen }: Moment<Table>,
  from: AsyncIterable<Doc<Table>>,
): Promise<Doc<Table> | null> {
  for await (const doc of from) if (!seen.includes(doc._id)) return doc;
  return null;
}
