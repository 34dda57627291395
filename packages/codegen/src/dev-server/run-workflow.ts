import { settle, type Totals } from "@stepwise/testing";
import { checkComponent, logErrorsOnly, startRun } from "./app-workflows.js";
import { openBackEnd } from "./back-end.js";
import type { Change, RunTree } from "./tree.js";
import { usualComponent } from "../plan/paths.js";
import { captureLogs, seedRandom } from "./captures.js";
import { EventSender, type PlannedEvent } from "./events.js";
import { type SeedTable, type StoredFile, withSeed, withStoredFiles } from "./input.js";
import { type Ending, realTime, skippedTime, Watch } from "./wait.js";

export interface RunWorkflowOptions {
  /** Absolute path of the app's functions folder, with its generated code up to date. */
  readonly functionsDir: string;
  /** The name under which generated code looks for the component. Default: `workflow`. */
  readonly component?: string | undefined;
  /** The folder under the functions folder that holds generated code. Default: `_workflows`. */
  readonly output?: string;
  readonly workflow: string;
  readonly input: unknown;
  /** Files to put into storage first; their ids go into the input. */
  readonly files?: readonly StoredFile[] | undefined;
  /** Skip what the run waits for: backoff, sleeps. Default: wait for real. */
  readonly skipTime?: boolean;
  /** Events to send while it goes on. */
  readonly events?: readonly PlannedEvent[];
  /** Documents to insert first; the input may name them. */
  readonly seed?: readonly SeedTable[] | undefined;
  /** Makes `Math.random` give the same numbers each time. Default: it is left alone. */
  readonly random?: number | undefined;
  readonly onEvent?: (event: RunEvent) => void;
}

export interface ProgressEvent {
  readonly type: "progress";
  readonly tree: RunTree;
  readonly changes: readonly Change[];
  /** When the tree was looked at, by the clock that the functions see. */
  readonly seenAt: number;
}

/** What can be told while a run goes on. */
export type RunEvent =
  | { readonly type: "mounted"; readonly functionsDir: string }
  | { readonly type: "started"; readonly runId: string; readonly workflow: string }
  | ProgressEvent
  /** A function of the app wrote to the console, or the component logged an error. */
  | { readonly type: "log"; readonly text: string };

export interface RunOutcome extends Pick<Ending, "state" | "output" | "error"> {
  readonly runId: string;
  /** What the run took, with its start, without what was done to watch it. */
  readonly totals: Totals;
  /** By the clock that the functions saw. */
  readonly durationMs: number;
  /** The planned events that were not sent: no run waited for them, or their time had not come. */
  readonly unsent: readonly PlannedEvent[];
}

/** Runs a workflow to its end. @throws if it cannot be mounted or started, or gets stuck */
export async function runWorkflow(options: RunWorkflowOptions): Promise<RunOutcome> {
  const { functionsDir, workflow, input, files = [], seed, events = [] } = options;
  const tell = options.onEvent ?? (() => {});
  const back = await openBackEnd(functionsDir, options.output);
  const clock = options.skipTime === true ? skippedTime() : realTime();
  const releaseLogs = captureLogs((text) => tell({ type: "log", text }));
  const releaseRandom = seedRandom(options.random);
  let sender: EventSender | undefined;
  try {
    checkComponent(back, options.component ?? usualComponent);
    await logErrorsOnly(back);
    tell({ type: "mounted", functionsDir });
    const seeded = seed === undefined ? input : await withSeed(back, input, seed);
    const filled = await withStoredFiles(back.t, seeded, files);
    const runId = await startRun(back, workflow, filled);
    tell({ type: "started", runId, workflow });
    const watch = new Watch(back, runId, (tree, changes) => {
      tell({ type: "progress", tree, changes, seenAt: Date.now() });
    });
    sender = new EventSender(back, { runId, workflow }, events);
    const ending = await clock.untilEnded(back, watch, sender);
    // What ends a run may still be on its way out when its state is seen.
    await settle(back.counter);
    const { state, output, error, startedAt, endedAt = Date.now() } = ending;
    const durationMs = endedAt - startedAt;
    const { unsent } = sender;
    return { runId, state, output, error, totals: back.counter.totals(), durationMs, unsent };
  } finally {
    sender?.stop();
    releaseRandom();
    releaseLogs();
    clock.stop();
    back.close();
  }
}
