import type { Value } from "convex/values";
import { describeThrown, Failure } from "../../errors/failure.js";
import { placeOf } from "../place.js";
import type { Arrival, Arrive, OfScope, Run } from "../run.js";
import { presentKey, storageKey } from "../storage-names.js";

/** A branch: the run goes on with the case of the key. Its record is there as long as that goes on, and after. */
export async function branch(
  run: Run,
  stage: string,
  reads: readonly string[],
  on: OfScope,
  cases: Readonly<Record<string, Arrive>>,
): Arrival {
  const { transaction } = run;
  if (await transaction.isFull()) return transaction.goTo(stage, reads);
  const { node, called } = placeOf(transaction.own.definition, stage);
  const names = Object.keys(node.cases).map((each) => presentKey(node.cases, each));
  let arrive: Arrive | undefined;
  let chosen: string | undefined;
  try {
    const key = on((await transaction.copiedScope({ stage, function: "on" }, reads)) as never);
    if (key instanceof Promise)
      throw new Failure("thrown", `The on of branch "${called}" must not be async`);
    chosen = typeof key === "string" ? storageKey(node.cases, key) : undefined;
    arrive = chosen === undefined ? undefined : cases[chosen];
    if (arrive === undefined || chosen === undefined)
      throw new Failure(
        "thrown",
        `The branch "${called}" has no case ${JSON.stringify(key) ?? String(key)}; it has ${names.join(", ")}`,
      );
  } catch (error) {
    return transaction.fail(stage, describeThrown(error));
  }
  transaction.open({ ...facts(run, stage), startedAt: Date.now(), chosen });
  await arrive(run);
}

function facts({ transaction }: Run, stage: string) {
  return { ...transaction.facts(stage), kind: "branch" as const };
}

/** A case has ended. */
export async function endBranch(
  run: Run,
  stage: string,
  from: string | null,
  next: Arrive,
): Arrival {
  const { transaction } = run;
  const output: Value = from === null ? null : await transaction.outputOf(from);
  transaction.add({ ...facts(run, stage), startedAt: Date.now(), output, exists: true });
  await next(run);
}
