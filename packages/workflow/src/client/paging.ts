import { checkGiven, COUNT, type Kind, literalText } from "@stepwise/workpool/core";
import type { PaginationOptions } from "convex/server";

/** Which page, as `usePaginatedQuery` asks for it. Its other options have no effect. */
export type PageOptions = Pick<PaginationOptions, "numItems" | "cursor" | "maximumRowsRead"> & {
  endCursor?: string | null;
};

export interface Page<Row> {
  page: Row[];
  isDone: boolean;
  continueCursor: string;
}

/** Says whether it is a place in an index, as the component gives it: JSON of a list. */
export function isCursor(given: unknown): boolean {
  if (given === null) return true;
  try {
    return typeof given === "string" && Array.isArray(JSON.parse(given));
  } catch {
    return false;
  }
}

/**
 * Returns the options that have an effect. @throws if one is missing, or is none.
 * @param isOwn says whether it is a cursor of what is listed.
 */
export function pageOf(subject: string, page: PageOptions, isOwn = isCursor): PageOptions {
  const what = "null for the first page, or the continueCursor of the page before";
  const cursor: Kind = { what, is: isOwn };
  // What has come to its end goes on nowhere.
  const endCursor: Kind = { what, is: (given) => given === "" || isOwn(given) };
  const kinds = { numItems: COUNT, cursor, endCursor, maximumRowsRead: COUNT };
  checkGiven(subject, page, kinds, "the page");
  if (page.numItems === undefined || page.cursor === undefined)
    throw new TypeError(
      `${subject}: the page is ${literalText(page)}: give { numItems: 20, cursor: null }`,
    );
  const { numItems, endCursor: end, maximumRowsRead } = page;
  return { numItems, cursor: page.cursor, endCursor: end, maximumRowsRead };
}
