import { isPromise } from "@stepwise/workpool/core";
import type { Value } from "convex/values";
import { describeThrown, Failure } from "../../errors/failure.js";
import { literalText } from "../../rules.js";
import { checkedOutput } from "../../values.js";
import { checkMaxIterations, optionOf } from "../options.js";
import type { Arrival, Arrive, OfScope, Run } from "../run.js";

/** Begins a loop. Its record holds the state and the iteration from now on. */
export async function loop(run: Run, stage: string, initial: OfScope, body: Arrive, next: Arrive) {
  await run.arrive(stage, next, async ({ node, called }) => {
    checkMaxIterations(optionOf(run.own, stage, "maxIterations"), node.maxIterations);
    const given = await initial(await run.scopeFor(stage, "initial"));
    const state = checkedOutput(called, given);
    run.beginDeadline(stage);
    run.add({ ...run.begun(stage, "loop"), output: state, iteration: 1 });
    beginIteration(run, stage, state, 1);
    return body;
  });
}

function beginIteration(run: Run, stage: string, state: Value, iteration: number): void {
  run.know(stage, { state, iteration }, "loop");
  run.iterations = [...around(run, stage), iteration];
}

function around(run: Run, stage: string): readonly number[] {
  return run.iterations.slice(0, run.place(stage).loops.length);
}

/** An iteration has ended: the loop is over, or the next one begins. */
export async function endIteration(
  run: Run,
  stage: string,
  from: string | null,
  until: OfScope,
  body: Arrive,
  next: Arrive,
): Arrival {
  const { node, called } = run.place(stage);
  const state = await run.outputOf(from);
  const outer = around(run, stage);
  const iteration = run.iterations[outer.length] ?? 1;
  // What `until` reads, it reads as the body does.
  run.know(stage, { state, iteration }, "loop");
  let isOver: boolean;
  try {
    const ends = until(await run.scopeFor(`${stage}.until`, "until"));
    if (isPromise(ends))
      throw new Failure("thrown", `The until of loop "${called}" must not be async`);
    // Types forbid it. Taken as no end, it would be done again and again.
    if (ends !== true && Boolean(ends))
      throw new Failure(
        "thrown",
        `The until of loop "${called}" gave ${literalText(ends)}: it must give true or false`,
      );
    isOver = ends === true;
    // A deploy may have changed the limit; without one the loop would never end.
    if (!isOver && !(iteration < node.maxIterations))
      throw new Failure(
        "thrown",
        `The loop "${called}" has not ended after its maxIterations of ${node.maxIterations}`,
      );
  } catch (error) {
    return await run.fail(stage, describeThrown(error));
  }
  run.iterations = outer;
  const following = isOver ? iteration : iteration + 1;
  const record = { ...run.begun(stage, "loop"), isOver, iteration: following };
  run.add({ ...record, output: state, exists: true });
  if (isOver) return await next(run);
  beginIteration(run, stage, state, following);
  await body(run);
}

/** The run ends inside it: it is over, and has no output. */
export function leaveLoop(run: Run, stage: string): void {
  const iteration = run.iterations[run.place(stage).loops.length];
  run.open({ ...run.begun(stage, "loop"), iteration, exists: true, isOver: true });
}
