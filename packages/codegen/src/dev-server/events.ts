import type { App } from "./app.js";
import type { RunTree } from "./watch.js";

export interface PlannedEvent {
  readonly name: string;
  readonly value: unknown;
  /** Ms after the start of the run. Default: when a run waits for such an event. */
  readonly atMs?: number;
  /** Whether it is for a run below: from its time on it is sent when one waits for it. */
  readonly isBelow?: boolean;
}

export interface Delivery {
  readonly event: PlannedEvent;
  readonly to: { readonly runId: string; readonly workflow: string };
}

/** Sends the planned events, each once; those of one name in their order. */
export class EventSender {
  readonly #expected: PlannedEvent[];
  readonly #timed: Set<PlannedEvent>;
  readonly #timers: NodeJS.Timeout[];
  #failure: Error | undefined;

  /** @param top the run that was started */
  constructor(
    private readonly app: App,
    top: Delivery["to"],
    events: readonly PlannedEvent[],
  ) {
    this.#expected = events.filter(({ atMs }) => atMs === undefined);
    this.#timed = new Set(events.filter(({ atMs }) => atMs !== undefined));
    this.#timers = [...this.#timed].map((event) =>
      setTimeout(() => {
        this.#timed.delete(event);
        if (event.isBelow === true) {
          this.#expected.push(event);
          return this.app.clock.wake();
        }
        void this.send({ event, to: top }).catch((error: unknown) => {
          this.#failure ??= error instanceof Error ? error : new Error(String(error));
        });
      }, event.atMs),
    );
  }

  /** Those that have not been sent: no run has waited for them, or their time has not come. */
  get unsent(): readonly PlannedEvent[] {
    return [...this.#expected, ...this.#timed];
  }

  /** Whether it matters what runs wait for. */
  get isListening(): boolean {
    return this.#expected.length > 0 || this.#failure !== undefined;
  }

  /** The next event that a run waits for. @throws if one that was sent was not taken */
  next({ runs }: RunTree): Delivery | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    for (const { runId, workflow, steps } of runs) {
      for (const { state, events = [] } of steps) {
        if (state !== "waiting") continue;
        const event = this.#expected.find(({ name }) => events.includes(name));
        if (event !== undefined) return { event, to: { runId, workflow } };
      }
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
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
