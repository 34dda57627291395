import { durationMs, type Duration } from "../../rules.js";
import { describeThrown } from "../../errors/failure.js";
import { optionOf } from "../options.js";
import type { Arrival, Arrive, OfScope, Run } from "../run.js";

const YEAR_MS = 365 * 24 * 60 * 60 * 1_000;

/** A sleep: what is over at once costs nothing; else the run is entered again at the time. */
export async function sleep(
  run: Run,
  stage: string,
  reads: readonly string[],
  duration: unknown,
  next: Arrive,
): Arrival {
  const { transaction } = run;
  if (await transaction.isFull()) return transaction.goTo(stage, reads);
  const called = transaction.called(stage);
  const of = optionOf(transaction.own.workflow, called);
  const now = Date.now();
  let until: number;
  try {
    const given =
      typeof duration === "function"
        ? await (duration as OfScope)(
            (await transaction.copiedScope({ stage, function: "duration" }, reads)) as never,
          )
        : duration;
    until =
      given instanceof Date ? given.getTime() : now + sleepMs(given as Duration, of("duration"));
    if (Number.isNaN(until)) throw new Error(`${of("duration")} is an invalid date`);
    if (until > now + YEAR_MS)
      throw new Error(
        `"${called}" would sleep until ${new Date(until).toISOString()}: more than a year is not possible. Sleep in a loop, or start a run later`,
      );
  } catch (error) {
    return transaction.fail(stage, describeThrown(error));
  }
  if (until > now)
    return transaction.goOn({
      kind: "sleep",
      ...transaction.facts(stage),
      until: Math.ceil(until),
    });
  transaction.add({ ...transaction.facts(stage), kind: "sleep", startedAt: now, output: null });
  await next(run);
}

/** A number below zero is a time that is over. */
function sleepMs(duration: Duration, what: string): number {
  return typeof duration === "number" && duration < 0 ? 0 : durationMs(duration, what);
}
