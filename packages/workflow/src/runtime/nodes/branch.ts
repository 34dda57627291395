import type { Value } from "convex/values";
import { describeThrown, Failure } from "../../errors/failure.js";
import type { Arrival, Arrive, OfScope, Run } from "../run.js";

/** A branch: the run goes on with the case of the key. It gets its record when the case has ended. */
export async function branch(
  run: Run,
  stage: string,
  reads: readonly string[],
  on: OfScope,
  cases: Readonly<Record<string, Arrive>>,
): Arrival {
  const { transaction } = run;
  if (await transaction.isFull()) return transaction.goTo(stage, reads);
  let arrive: Arrive | undefined;
  try {
    const key = on((await transaction.copiedScope(stage, reads)) as never);
    if (key instanceof Promise)
      throw new Failure("thrown", `The on of branch "${stage}" must not be async`);
    arrive = typeof key === "string" && Object.hasOwn(cases, key) ? cases[key] : undefined;
    if (arrive === undefined)
      throw new Failure(
        "thrown",
        `The branch "${stage}" has no case ${JSON.stringify(key) ?? String(key)}; it has ${Object.keys(cases).join(", ")}`,
      );
  } catch (error) {
    return transaction.fail(stage, describeThrown(error));
  }
  await arrive(run);
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
  const at = { ...transaction.at(stage), ...transaction.marks(stage) };
  transaction.add({ ...at, kind: "branch", startedAt: Date.now(), output });
  await next(run);
}
