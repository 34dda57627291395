import { AsyncLocalStorage } from "node:async_hooks";
import type { Database } from "./indexed/database.js";

/** The part of convex-test's `t` that is used. */
export interface Accessor {
  finishInProgressScheduledFunctions(): Promise<void>;
  registerComponent(path: string, ...rest: never[]): unknown;
}

/** What convex-test keeps of one `convexTest()`. */
export interface BackEnd {
  readonly components: Readonly<Record<string, { readonly db: Database }>>;
  readonly transactionManager?: TransactionManager;
}

interface TransactionManager {
  /** The time that the transaction sees which is open, in ms since the epoch. */
  _udfTime: number | null;
  begin(isNested: boolean, ...rest: never[]): Promise<void>;
}

/**
 * convex-test gives it to nobody; but it enters an asynchronous context with it whenever a method
 * of `t` is called.
 *
 * @returns undefined for a version that does otherwise.
 */
export function backEndOf(t: Accessor): BackEnd | undefined {
  const contexts: unknown[] = [];
  const { run } = AsyncLocalStorage.prototype;
  AsyncLocalStorage.prototype.run = function seen(...args: Parameters<typeof run>) {
    contexts.push(args[0]);
    return run.apply(this, args);
  };
  try {
    void t.finishInProgressScheduledFunctions();
  } finally {
    AsyncLocalStorage.prototype.run = run;
  }
  return contexts.find(
    (context) => typeof context === "object" && context !== null && "components" in context,
  ) as BackEnd | undefined;
}

/**
 * Has each transaction see the time at which it begins. convex-test 0.0.65 and later have it begin
 * after the last commit, rounded up to a whole ms. In virtual time many transactions are at one ms:
 * all but the first would be ahead of the clock that drives them.
 */
export function pinToClock(t: Accessor): void {
  const manager = backEndOf(t)?.transactionManager;
  if (manager?._udfTime === undefined) return;
  const { begin } = manager;
  // Inside a function `Date` is that of its transaction.
  const outside = AsyncLocalStorage.snapshot();
  manager.begin = async (isNested, ...rest) => {
    await begin.call(manager, isNested, ...rest);
    if (!isNested) manager._udfTime = outside(() => Date.now());
  };
}
