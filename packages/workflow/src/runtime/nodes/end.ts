import { isPromise } from "@stepwise/workpool/core";
import { Failure } from "../../errors/failure.js";
import { checkedOutput } from "../../values.js";
import type { Arrival, Arrive, OfScope, Run } from "../run.js";
import { leaveBranch } from "./branch.js";
import { leaveLoop } from "./loop.js";

/** Ends the run here, as completed. Its output stays in a record of its own. */
export async function end(run: Run, stage: string, output: OfScope): Arrival {
  const complete: Arrive = (ending) => ending.complete(stage);
  await run.arrive(stage, complete, async ({ called }) => {
    const given: unknown = output(await run.scopeFor(stage, "end"));
    if (isPromise(given)) throw new Failure("thrown", `"${called}" must not be async`);
    run.add({ ...run.begun(stage, "end"), output: checkedOutput(called, given) });
    closeAround(run, stage);
    return complete;
  });
}

/** The branches and loops around it in its run are over, and have no output. */
function closeAround(run: Run, stage: string): void {
  const { sequences, loops, apart } = run.place(stage);
  for (const { prefix, at, level } of sequences.slice(0, -1)) {
    if (level !== apart.length) continue;
    const path = prefix + at;
    if (loops.some((loop) => loop.path === path)) leaveLoop(run, path);
    else leaveBranch(run, path);
  }
}
