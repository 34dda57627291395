import { realTime, seeded, settle, skippedTime, type Totals } from "@stepwise/testing";
import { type App, type AppOptions, openApp } from "./app.js";
import { type SeedTable, type StoredFile, withSeed, withStoredFiles } from "./input.js";
import { eventNames, placesOf, type RunTree, type Status, type TreeStep, Watch } from "./watch.js";

export interface PlannedEvent {
  readonly name: string;
  readonly value: unknown;
  /** Ms after the start of the run. Default: when a run waits for such an event. */
  readonly atMs?: number;
  /** Says whether it is for a run below: from its time on it is sent when one waits for it. */
  readonly isBelow?: boolean;
  /** Only for the child, branch or item of this place: `answers/0`. Default: for any run. */
  readonly in?: string;
}

export interface RunWorkflowOptions extends AppOptions {
  readonly workflow: string;
  readonly input: unknown;
  /** Files to put into storage first; their ids go into the input. */
  readonly files?: readonly StoredFile[] | undefined;
  /** Skip what the run waits for: backoff, sleeps. Default: wait for real. */
  readonly skipTime?: boolean;
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
  /** When the tree was read, by the clock that the functions see. */
  readonly seenAt: number;
}

export type RunEvent =
  | { readonly type: "started"; readonly runId: string; readonly workflow: string }
  | ProgressEvent
  /** A function of the app wrote to the console, or the component logged an error. */
  | { readonly type: "log"; readonly text: string }
  /** A run waits for an event that is not planned. */
  | { readonly type: "waiting"; readonly text: string };

type Ending = Pick<Status, "state" | "output" | "isSensitive" | "error" | "onEndError">;

export interface RunOutcome extends Ending {
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
  const { workflow, input, files = [], seed = [], events = [], onEvent: tell = () => {} } = options;
  const time = options.skipTime === true ? skippedTime : realTime;
  const app = await openApp(options, time, (text) => tell({ type: "log", text }));
  const { t, counter } = app.back;
  const ownRandom = Math.random;
  if (options.random !== undefined) Math.random = seeded(options.random);
  let sender: EventSender | undefined;
  try {
    const seeded = await withSeed(app.back, input, seed);
    const filled = await withStoredFiles(t, seeded.input, files);
    const runId = await app.start(workflow, filled);
    tell({ type: "started", runId, workflow });
    const watch = new Watch(app, runId, (tree) => {
      tell({ type: "progress", tree, seenAt: Date.now() });
      if (options.skipTime === true || sender === undefined) return;
      for (const text of sender.unplanned(tree)) tell({ type: "waiting", text });
    });
    sender = new EventSender(app, { runId, workflow }, events);
    const ending = await untilEnded(app, watch, sender);
    // What ends a run may still be on its way out when its state is seen.
    await settle(counter);
    const { state, output, isSensitive, error, onEndError } = ending;
    const { startedAt, endedAt = Date.now() } = ending;
    return {
      runId,
      state,
      output,
      isSensitive,
      ...(error && { error }),
      ...(onEndError !== undefined && { onEndError }),
      totals: counter.totals(),
      durationMs: endedAt - startedAt,
      unsent: sender.unsent,
    };
  } finally {
    sender?.stop();
    Math.random = ownRandom;
    app.close();
  }
}

/** Waits until the run has ended, and sends the events it waits for. @throws if it is stuck */
async function untilEnded({ clock }: App, watch: Watch, sender: EventSender): Promise<Status> {
  const nextDelivery = async () =>
    sender.isListening ? sender.next(await watch.tree()) : undefined;
  const isDue = async (isFar: boolean) =>
    (await watch.poll(isFar)) !== undefined || (await nextDelivery()) !== undefined;
  for (let goesOn = true; ;) {
    const ending = await watch.poll(true);
    if (ending !== undefined) return ending;
    const delivery = await nextDelivery();
    if (delivery !== undefined) await sender.send(delivery);
    else if (goesOn) goesOn = await clock.wait(isDue, () => watch.restMs);
    else throw stuck(await watch.tree(), sender.unsent);
  }
}

interface Delivery {
  readonly event: PlannedEvent;
  readonly to: { readonly runId: string; readonly workflow: string };
}

/** Sends the planned events, each once; those of one name in their order. */
class EventSender {
  readonly #expected: PlannedEvent[];
  readonly #timers = new Map<PlannedEvent, NodeJS.Timeout>();
  readonly #told = new Set<string>();
  #failure: Error | undefined;

  /** @param top the run that was started */
  constructor(
    private readonly app: App,
    private readonly top: Delivery["to"],
    events: readonly PlannedEvent[],
  ) {
    this.#expected = events.filter(({ atMs }) => atMs === undefined);
    for (const event of events)
      if (event.atMs !== undefined)
        this.#timers.set(event, setTimeout(this.#due, event.atMs, event));
  }

  readonly #due = (event: PlannedEvent) => {
    if (event.isBelow === true) {
      this.#timers.delete(event);
      this.#expected.push(event);
      return this.app.clock.wake();
    }
    void this.send({ event, to: this.top })
      .catch((error: unknown) => {
        this.#failure ??= error instanceof Error ? error : new Error(String(error));
      })
      .finally(() => this.#timers.delete(event));
  };

  /** The events not yet sent: no run has waited for them, or their time has not come. */
  get unsent(): readonly PlannedEvent[] {
    return [...this.#expected, ...this.#timers.keys()];
  }

  /** Tells once of each wait for events of which none is planned. */
  *unplanned({ runs }: RunTree): Generator<string> {
    for (const { step, place } of stepsIn(runs)) {
      const { state, events = [] } = step;
      const text = `waiting for ${eventNames(step)}: send it with --events`;
      const isPlanned = this.unsent.some((event) => isFor(event, step, place));
      if (state !== "waiting" || events.length === 0 || isPlanned || this.#told.has(text)) continue;
      this.#told.add(text);
      yield text;
    }
  }

  /** Says whether it matters what runs wait for. */
  get isListening(): boolean {
    return this.#expected.length > 0 || this.#failure !== undefined;
  }

  /** The next event that a run waits for. @throws if one that was sent was not taken */
  next({ runs }: RunTree): Delivery | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    for (const { run, step, place } of stepsIn(runs)) {
      if (step.state !== "waiting") continue;
      const event = this.#expected.find((each) => isFor(each, step, place));
      if (event !== undefined) return { event, to: run };
    }
    return undefined;
  }

  /** @throws if the event is not taken */
  async send({ event, to }: Delivery): Promise<void> {
    const at = this.#expected.indexOf(event);
    if (at >= 0) this.#expected.splice(at, 1);
    await this.app.sendEvent(to.workflow, to.runId, event.name, event.value);
  }

  stop(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
  }
}

/** All steps, each with its run and where that is below the top. */
function stepsIn(runs: RunTree["runs"]) {
  const places = placesOf(runs);
  return runs.flatMap((run) =>
    run.steps.map((step) => ({ run, step, place: places.get(run.runId) })),
  );
}

const isFor = (event: PlannedEvent, { events = [] }: TreeStep, place: string | undefined) =>
  events.includes(event.name) && (event.in === undefined || event.in === place);

/** @param unsent events that were given, and that nothing has waited for */
function stuck({ runs }: RunTree, unsent: readonly PlannedEvent[]): Error {
  const counts = new Map<string, number>();
  for (const { workflow, steps } of runs)
    for (const { state, stage, events } of steps) {
      if (events === undefined || state !== "waiting") continue;
      const what = `"${stage}" of ${workflow} waits for the event ${eventNames({ events })}`;
      counts.set(what, (counts.get(what) ?? 0) + 1);
    }
  const all = [...counts].map(([what, count]) => (count === 1 ? what : `${what} (${count} runs)`));
  const given = unsent
    .map(({ name, in: place }) => `${JSON.stringify(name)}${place ? ` in ${place}` : ""}`)
    .join(", ");
  const instead = given === "" ? "" : ` Nothing waits for what was given there: ${given}.`;
  return new Error(
    all.length === 0
      ? "The run has not ended, but nothing is scheduled any more that could move it on."
      : `The run cannot end: ${all.join("; ")}, which nobody sends. Give it with --events.${instead}`,
  );
}
