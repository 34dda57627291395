import type { Backend } from "./backend.js";
import type { Timer } from "./clock.js";
import type { Conflict } from "./committer.js";
import { CallError, callErrorOf } from "./failure.js";
import { type FunctionPath, type Job, textOf } from "./job.js";
import { LIMITS, type Transaction } from "./transaction.js";
import type { Usage } from "../usage.js";

/**
 * [4] [48] Runs the code of a query or mutation on its snapshot, once it has a permit, and lets
 * pass the time that it takes.
 */
export async function execute(
  backend: Backend,
  transaction: Transaction,
  path: FunctionPath,
  args: string,
  type: "query" | "mutation",
  job?: Job,
): Promise<string> {
  const { of, clock, draws, committer } = backend;
  const permits = type === "query" ? backend.queryPermits : backend.mutationPermits;
  if (!(await permits.acquire(of.permitWaitMs)))
    throw refused(backend, path, new CallError("TooManyConcurrentRequests", "permits"));
  let outcome: { value: string } | { error: CallError };
  try {
    // [3]
    if (!committer.isReadable(transaction.snapshot))
      throw new CallError("OutOfRetention: the snapshot is too old to be read.", "system");
    const frame = backend.frameOf(path, type, transaction, job);
    const used = type === "mutation" ? (backend.faults.used?.(path) ?? 0) : 0;
    for (const kind of Object.keys(LIMITS) as (keyof Usage)[])
      transaction.usage[kind] = Math.floor(used * LIMITS[kind]);
    outcome = await backend.invoke(frame, args).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: callErrorOf(error) }),
    );
  } catch (error) {
    outcome = { error: callErrorOf(error) };
  }
  if (type === "mutation" && backend.faults.timesOut?.(path) === true)
    outcome = { error: new CallError("The function took too long.") };
  backend.told({ what: "ran", path, transaction });
  const span = type === "query" ? of.queryMs : of.mutationMs;
  // [31]
  await clock.sleep(draws.within(span) + transaction.nestedCalls * of.nestedCallMs);
  permits.release();
  if ("value" in outcome) return outcome.value;
  backend.told({ what: "failed", path, error: outcome.error.message });
  throw outcome.error;
}

export async function query(backend: Backend, path: FunctionPath, args: string): Promise<string> {
  return await execute(backend, backend.begin(), path, args, "query");
}

/** [21] A mutation as a client or an action calls it. */
export async function mutate(
  backend: Backend,
  path: FunctionPath,
  args: string,
  job?: Job,
): Promise<string> {
  const { of, clock, draws, committer } = backend;
  for (let failures = 0; ; failures += 1) {
    const pause = async () =>
      await clock.sleep(draws.backoff(of.repeatMs, of.mostRepeatMs, failures));
    const refusal = refusalOf(backend, path);
    if (refusal !== undefined) {
      if (refusal.kind === "permits" || failures >= of.repetitions)
        throw refused(backend, path, refusal);
      await pause();
      continue;
    }
    const transaction = backend.begin();
    const value = await execute(backend, transaction, path, args, "mutation", job);
    const conflict = await committer.commit(transaction, textOf(path));
    if (conflict === undefined) {
      backend.told({ what: "committed", path, attempts: failures + 1 });
      return value;
    }
    backend.told({ what: "conflict", path, with: conflict });
    if (failures >= of.repetitions) {
      backend.told({ what: "exhausted", path, attempts: failures + 1 });
      throw usedUp(conflict);
    }
    await pause();
    await committer.published(conflict.commit);
  }
}

/** [25] [48] Why a mutation cannot begin now, by the class or by a fault. */
export function refusalOf(
  { committer, faults }: Backend,
  path: FunctionPath,
): CallError | undefined {
  const why = committer.isWritingTooMuch ? "TooManyWrites" : faults.refuses?.(path);
  return why && new CallError(why, why === "TooManyWrites" ? "bytes" : "permits");
}

/** [24] A transaction of the system's own. It is never throttled ([25]). */
export async function system<Result>(
  { of, clock, draws, committer, begin }: Backend,
  by: string,
  write: (transaction: Transaction) => Result,
  repetitions = of.systemRepetitions,
): Promise<Result> {
  for (let failures = 0; ; failures += 1) {
    const transaction = begin();
    const result = write(transaction);
    const conflict = await committer.commit(transaction, by);
    if (conflict === undefined) return result;
    if (failures >= repetitions) throw usedUp(conflict);
    await clock.sleep(draws.backoff(of.systemRepeatMs, of.mostSystemRepeatMs, failures));
  }
}

/** [39] [48] @param mostWaitMs none for a scheduled action, which waits without limit. */
export async function act(
  backend: Backend,
  path: FunctionPath,
  args: string,
  job: Job | undefined,
  mostWaitMs = Infinity,
): Promise<string> {
  const { of, clock, draws, actionPermits, faults } = backend;
  if (!(await actionPermits.acquire(mostWaitMs)))
    throw refused(backend, path, new CallError("TooManyConcurrentRequests", "permits"));
  await clock.sleep(draws.within(of.actionStartMs));
  const frame = backend.frameOf(path, "action", undefined, job);
  const fault = faults.action?.(path);
  backend.told({ what: "began", path });
  let limit: Timer | undefined;
  try {
    return await new Promise<string>((resolve, reject) => {
      const die = (why: string) => {
        if (frame.isDead) return;
        frame.isDead = true;
        reject(new CallError(why, "system"));
      };
      dying.set(frame, { fault, die: () => die("Transient error while executing action") });
      // [51]
      limit = clock.after(of.actionLimitMs, () => die("The action took too long."));
      if (fault === "dies at start") return die("Transient error while executing action");
      if (fault === "hangs") return;
      backend.invoke(frame, args).then(resolve, (thrown) => reject(thrownBy(thrown)));
    });
  } catch (error) {
    backend.told({ what: "failed", path, error: (error as CallError).message });
    throw error;
  } finally {
    frame.isDead = true;
    backend.told({ what: "ended", path });
    if (limit !== undefined) limit.isCanceled = true;
    actionPermits.release();
  }
}

/** [48] Its caller can tell a refusal that code has thrown on from one of the function itself. */
function thrownBy(thrown: unknown): unknown {
  // What code gets of a call that was refused is an error of its own.
  const { message } = callErrorOf(thrown);
  return message.startsWith("TooMany") ? new CallError(`Uncaught Error: ${message}`) : thrown;
}

/** What is to happen to an action that runs. */
export const dying = new WeakMap<
  object,
  { readonly fault: string | undefined; readonly die: () => void }
>();

function refused(backend: Backend, path: FunctionPath, error: CallError): CallError {
  backend.told({ what: "refused", path, why: error.message });
  return error;
}

/** [22] */
function usedUp({ table, id, commit }: Conflict): CallError {
  return new CallError(
    `Documents read from or written to the "${table.name}" table changed while this mutation was being run and on every subsequent retry. ` +
      `The document ${id} was written by ${commit.by}.`,
    "conflict",
  );
}
