import { AsyncLocalStorage } from "node:async_hooks";

const unread = new AsyncLocalStorage<true>();

/*
 * Reads that guard against a race, where that guard is taken out: `scripts/guards.mjs` wraps them,
 * and they leave no trace that anything could conflict with.
 */
Object.assign(globalThis, {
  [Symbol.for("stepwise.unread")]: <Result>(run: () => Result): Result => unread.run(true, run),
});

/** Says whether the present call reads without a trace. */
export function isUnread(): boolean {
  return unread.getStore() === true;
}
