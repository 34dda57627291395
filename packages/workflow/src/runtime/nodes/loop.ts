import type { Value } from "convex/values";
import { describeThrown, Failure } from "../../errors/failure.js";
import { checkMaxIterations, optionOf } from "../options.js";
import { placeOf } from "../place.js";
import type { Arrival, Arrive, OfScope, Run } from "../run.js";
import { checkedOutput } from "../../values.js";

/** Begins a loop. Its record holds its state and which pass it is at, as long as it goes on and after. */
export async function loop(
  run: Run,
  stage: string,
  reads: readonly string[],
  initial: OfScope,
  body: Arrive,
): Arrival {
  const { transaction } = run;
  if (await transaction.isFull()) return transaction.goTo(stage, reads);
  const { own } = transaction;
  const { node, called } = placeOf(own.definition, stage);
  let state: Value;
  try {
    checkMaxIterations(optionOf(own.workflow, called)("maxIterations"), node.maxIterations);
    state = checkedOutput(
      called,
      await initial(
        (await transaction.copiedScope({ stage, function: "initial" }, reads)) as never,
      ),
    );
    transaction.beginDeadline(stage);
  } catch (error) {
    return transaction.fail(stage, describeThrown(error));
  }
  const record = { ...transaction.facts(stage), kind: "loop" as const };
  transaction.add({ ...record, startedAt: Date.now(), output: state, iteration: 1 });
  await beginPass(run, stage, state, 1, body);
}

async function beginPass(
  run: Run,
  stage: string,
  state: Value,
  iteration: number,
  body: Arrive,
): Arrival {
  const { transaction } = run;
  transaction.know(stage, { state, iteration }, "loop");
  transaction.pass = [...depthAt(run, stage), iteration];
  await body(run);
}

/** The passes of the loops around a loop. */
function depthAt(run: Run, stage: string): readonly number[] {
  const { own, pass } = run.transaction;
  return pass.slice(0, placeOf(own.definition, stage).loops.length);
}

interface Pass {
  readonly stage: string;
  readonly output: string | null;
  readonly reads: readonly string[];
  readonly until: OfScope;
}

/** A pass has ended: its output is the loop's state. */
export async function endPass(
  run: Run,
  { stage, output, reads, until }: Pass,
  body: Arrive,
  next: Arrive,
): Arrival {
  const { transaction } = run;
  const { node, called } = placeOf(transaction.own.definition, stage);
  const state = output === null ? null : await transaction.outputOf(output);
  const outer = depthAt(run, stage);
  const iteration = transaction.pass[outer.length] ?? 1;
  // What `until` reads, it reads as the body does.
  transaction.know(stage, { state, iteration }, "loop");
  let isOver: boolean;
  try {
    const reader = { stage: `${stage}.until`, function: "until" };
    const ends = until((await transaction.copiedScope(reader, reads)) as never);
    if (ends instanceof Promise)
      throw new Failure("thrown", `The until of loop "${called}" must not be async`);
    isOver = ends === true;
    // Whatever it is now: a loop that has no limit would never end.
    if (!isOver && !(iteration < node.maxIterations))
      throw new Failure(
        "thrown",
        `The loop "${called}" has not ended after its maxIterations of ${node.maxIterations}`,
      );
  } catch (error) {
    return transaction.fail(stage, describeThrown(error));
  }
  transaction.pass = outer;
  transaction.add({
    ...transaction.facts(stage),
    kind: "loop",
    startedAt: Date.now(),
    output: state,
    iteration: isOver ? iteration : iteration + 1,
    isOver,
    exists: true,
  });
  if (isOver) await next(run);
  else await beginPass(run, stage, state, iteration + 1, body);
}
