import type { Scheduled } from "./virtual-time.js";

/** The part of what convex-test keeps of its transactions that is used or replaced. */
interface Transactions {
  /** The time that the transaction sees which is open, in ms since the epoch. */
  _udfTime?: number | null;
  begin(isNested: boolean, ...rest: unknown[]): Promise<void>;
}

/** The part of Node's `AsyncLocalStorage` that is used. */
interface Storage {
  readonly prototype: { run(...args: unknown[]): unknown };
  snapshot(): <Result>(call: () => Result) => Result;
}

/**
 * Has each transaction see the time at which it begins. convex-test 0.0.65 and later have it begin
 * after the last commit, rounded up to a whole ms. In virtual time many transactions are at one ms:
 * what all but the first schedule would be late by 1 ms, so that `advance` would not reach it.
 */
export function pinToClock(t: Scheduled): void {
  const storage = storageOfNode();
  const transactions = storage && transactionsOf(t, storage);
  if (transactions?._udfTime === undefined) return;
  const { begin } = transactions;
  // Inside a function `Date` is that of its transaction.
  const outside = storage!.snapshot();
  transactions.begin = async (isNested, ...rest) => {
    await begin.call(transactions, isNested, ...rest);
    if (!isNested) transactions._udfTime = outside(() => Date.now());
  };
}

/** Not imported: the package has no types of Node, as most of it runs on Convex. */
function storageOfNode(): Storage | undefined {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): { AsyncLocalStorage: Storage } };
  };
  return process?.getBuiltinModule?.("node:async_hooks").AsyncLocalStorage;
}

/**
 * convex-test gives them to nobody; but it enters an asynchronous context with them whenever a
 * method of `t` is called. Undefined for a version that does otherwise.
 */
function transactionsOf(t: Scheduled, { prototype }: Storage): Transactions | undefined {
  let found: Transactions | undefined;
  const { run } = prototype;
  prototype.run = function seen(...args) {
    found ??= (Object(args[0]) as { transactionManager?: Transactions }).transactionManager;
    return run.apply(this, args);
  };
  try {
    void t.finishInProgressScheduledFunctions();
  } finally {
    prototype.run = run;
  }
  return found;
}
