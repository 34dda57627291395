import type { Backend } from "./backend.js";
import { act, dying, mutate, query, system } from "./calls.js";
import { CallError } from "./failure.js";
import { type Address, targetOf } from "./functions.js";
import type { Frame } from "./isolate.js";
import { ANYWHERE, cancel, schedule } from "./syscalls.js";

/** [13] System calls of an action: each that reads or writes is a transaction of its own. */
export async function answerInAction(
  backend: Backend,
  frame: Frame,
  operation: string,
  json: string,
): Promise<string> {
  const { clock, of } = backend;
  // What it is depends on the call.
  const args = JSON.parse(json) as Parameters<typeof schedule>[3];
  switch (operation) {
    case "1.0/actions/query":
    case "1.0/actions/mutation":
    case "1.0/actions/action": {
      const kind = operation.slice("1.0/actions/".length);
      return await call(backend, frame, kind, args, JSON.stringify(args.args));
    }
    case "1.0/actions/schedule":
      await clock.sleep(of.callMs);
      return JSON.stringify(
        await system(backend, "scheduler of an action", (transaction) =>
          schedule(backend, frame, transaction, args),
        ),
      );
    case "1.0/actions/cancel_job":
      await clock.sleep(of.callMs);
      await system(backend, "scheduler of an action", (transaction) =>
        cancel(backend, frame, transaction, args.id),
      );
      return "null";
    default: {
      const known = ANYWHERE[operation];
      if (known === undefined) throw new Error(`The system call ${operation} is not modelled.`);
      return known(backend, frame, undefined, args);
    }
  }
}

async function call(
  backend: Backend,
  frame: Frame,
  kind: string,
  address: Address,
  args: string,
): Promise<string> {
  const { clock, of, faults } = backend;
  const target = targetOf(frame.path.component, address);
  const perform = async () => {
    if (kind === "query") return await query(backend, target, args);
    if (kind === "mutation") return await mutate(backend, target, args, frame.job);
    return await act(backend, target, args, frame.job, of.actionPermitWaitMs);
  };
  await clock.sleep(of.callMs / 2);
  if (kind !== "mutation") {
    const value = await perform();
    await clock.sleep(of.callMs / 2);
    return value;
  }
  const end = dying.get(frame);
  if (end?.fault === "dies before report") end.die();
  if (frame.isDead) return await new Promise(() => {});
  const { lost, lateMs = 0, againMs } = faults.call?.(target) ?? {};
  if (lateMs > 0) await clock.sleep(lateMs);
  if (lost === "request") throw new CallError("The connection was lost.", "system");
  // What was sent twice is answered once.
  if (againMs !== undefined) clock.after(againMs, () => void perform().catch(() => {}));
  const value = await perform();
  await clock.sleep(of.callMs / 2);
  if (lost === "answer") throw new CallError("The connection was lost.", "system");
  if (end?.fault === "dies after report") end.die();
  return value;
}
