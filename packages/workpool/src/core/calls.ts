import type {
  GenericActionCtx,
  GenericDataModel,
  GenericMutationCtx,
  GenericQueryCtx,
} from "convex/server";

/** A mutation's or an action's context. In an action each call is a transaction of its own. */
export type MutationRunner =
  | Pick<GenericMutationCtx<GenericDataModel>, "runMutation">
  | Pick<GenericActionCtx<GenericDataModel>, "runMutation">;

/** Any function's context. */
export type QueryRunner =
  | Pick<GenericQueryCtx<GenericDataModel>, "runQuery">
  | Pick<GenericActionCtx<GenericDataModel>, "runQuery">;

/** Splits a batch into calls into the component, each of at most so many items and bytes. */
export function* partsOf<Item>(
  items: readonly Item[],
  sizeOf: (item: Item) => number,
  most: { readonly items: number; readonly bytes: number },
): Generator<Item[]> {
  let part: Item[] = [];
  let bytes = 0;
  for (const item of items) {
    const size = sizeOf(item);
    if (part.length > 0 && (bytes + size > most.bytes || part.length === most.items)) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(item);
    bytes += size;
  }
  if (part.length > 0) yield part;
}
