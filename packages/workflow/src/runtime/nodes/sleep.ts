import { msUntil } from "../options.js";
import type { Arrival, Arrive, Run } from "../run.js";

/** Waits for a time, or until a date. A wait that is over at once costs nothing. */
export async function sleep(run: Run, stage: string, duration: unknown, next: Arrive): Arrival {
  await run.arrive(stage, next, async () => {
    const scope = () => run.scopeFor(stage, "duration");
    const ms = await msUntil(run.own, stage, "duration", duration, scope);
    const now = Date.now();
    if (ms > 0) {
      run.goOn({ kind: "sleep", ...run.facts(stage), until: Math.ceil(now + ms) });
      return undefined;
    }
    run.add({ ...run.begun(stage, "sleep"), output: null });
    return next;
  });
}
