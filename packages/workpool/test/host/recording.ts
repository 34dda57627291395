import type { MutationCtx } from "./_generated/server.js";

/**
 * What one transaction read and wrote, by document id; and the tables in which it found nothing
 * where it looked.
 */
export interface Recorded {
  readonly name: string;
  readonly reads: Set<string>;
  readonly writes: Set<string>;
  readonly foundNothingIn: Set<string>;
}

/** Every transaction since the list was emptied. */
export const transactions: Recorded[] = [];

let unread = 0;
// Reads that guard against a race, where that guard is taken out: see `scripts/guards.mjs`.
Object.assign(globalThis, {
  [Symbol.for("stepwise.unread")]: async <Result>(run: () => Promise<Result>): Promise<Result> => {
    unread += 1;
    try {
      return await run();
    } finally {
      unread -= 1;
    }
  },
});

/**
 * The context, with every document noted that is read or written through it. What nested queries
 * read from a stale snapshot is not noted: it is no dependency.
 */
export function recording(ctx: MutationCtx, name: string): MutationCtx {
  const recorded: Recorded = {
    name,
    reads: new Set(),
    writes: new Set(),
    foundNothingIn: new Set(),
  };
  transactions.push(recorded);
  const read = (doc: unknown) => {
    if (unread > 0) return;
    if (doc !== null && doc !== undefined) recorded.reads.add((doc as { _id: string })._id);
  };
  const wrapQuery = (table: string, query: object): object =>
    new Proxy(query, {
      get(target, key) {
        const value = Reflect.get(target, key) as unknown;
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          const result = (value as (...args: unknown[]) => unknown).apply(target, args);
          if (!(result instanceof Promise)) return wrapQuery(table, result as object);
          return result.then((found: unknown) => {
            const docs = Array.isArray(found) ? found : [found];
            docs.forEach(read);
            if (found === null || docs.length === 0) recorded.foundNothingIn.add(table);
            return found;
          });
        };
      },
    });
  const db = new Proxy(ctx.db, {
    get(target, key) {
      const value = Reflect.get(target, key) as unknown;
      if (key === "system") return value;
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        const result = (value as (...args: unknown[]) => unknown).apply(target, args);
        if (key === "query") return wrapQuery(String(args[0]), result as object);
        const isWrite = key === "patch" || key === "delete" || key === "replace";
        if (isWrite) recorded.writes.add(String(args[1]));
        if (!(result instanceof Promise)) return result;
        return result.then((found: unknown) => {
          if (key === "get") read(found);
          if (key === "insert") recorded.writes.add(String(found));
          return found;
        });
      };
    },
  });
  return { ...ctx, db };
}
