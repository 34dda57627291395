import { setTimeout as sleep } from "node:timers/promises";
import {
  type InstalledTimers,
  installTimers,
  spanLongTimers,
  type TimerHost,
} from "@stepwise/testing";
import type { BackEnd } from "./back-end.js";
import type { Delivery, EventSender, PlannedEvent } from "./events.js";
import { type Change, changesBetween, hasEnded, type RunTree, type StepError } from "./tree.js";
import { componentsGeneric, type FunctionReference } from "convex/server";
import { workflowComponentPath } from "./app-workflows.js";

/** Real ms that a function may be idle before time is skipped. */
const PATIENCE_MS = 1000;
/** Before time jumps this far, in virtual ms, the run is looked at: it may be removed next. */
const FAR_MS = 30_000;

/** How a run's waiting (backoff, timeouts, sleeps) passes. */
export interface Clock {
  /** Waits until the run has ended, and sends the events that are waited for. */
  untilEnded(back: BackEnd, watch: Watch, sender: EventSender): Promise<Ending>;
  /** Gives the process its own clock back. */
  stop(): void;
}

/** Waiting takes as long as it takes. */
export function realTime(): Clock {
  // Node's types say more of a timer than is asked here.
  const giveBack = spanLongTimers(globalThis as unknown as TimerHost);
  return {
    async untilEnded(back, watch, sender) {
      const moves = movesOf(back);
      sender.onDue = () => moves.now();
      try {
        for (;;) {
          const ending = await watch.look();
          if (ending !== undefined) return ending;
          const delivery = await deliveryOf(sender, watch);
          if (delivery !== undefined) {
            await sender.send(delivery);
            continue;
          }
          if (!(await moves.next())) throw stuck(await watch.tree(), sender.unsent);
          await sleep(watch.restMs);
        }
      } finally {
        moves.stop();
      }
    },
    stop: giveBack,
  };
}

/** Waiting takes no time: when nothing moves any more, the clock jumps to the next timer. */
export function skippedTime(): Clock {
  const timers: InstalledTimers = installTimers();
  return {
    async untilEnded(back, watch, sender) {
      for (;;) {
        let ending: Ending | undefined;
        let delivery: Delivery | undefined;
        const done = async () => {
          const isFar = (timers.nextAt() ?? 0) - timers.now() >= FAR_MS;
          ending = isFar ? await watch.look() : await watch.glance();
          delivery = ending === undefined ? await deliveryOf(sender, watch) : undefined;
          return ending !== undefined || delivery !== undefined;
        };
        await back.counter.drive({ timers, done, patienceMs: PATIENCE_MS });
        ending ??= await watch.look();
        if (ending !== undefined) return ending;
        delivery ??= await deliveryOf(sender, watch);
        if (delivery === undefined) throw stuck(await watch.tree(), sender.unsent);
        await sender.send(delivery);
      }
    },
    stop: () => timers.uninstall(),
  };
}

async function deliveryOf(sender: EventSender, watch: Watch): Promise<Delivery | undefined> {
  return sender.isListening ? sender.next(await watch.tree()) : undefined;
}

/** The ends of root executions: a run does not change without one. */
function movesOf(back: BackEnd) {
  let moved = true;
  let wake: ((goesOn: boolean) => void) | undefined;
  const now = () => {
    moved = true;
    wake?.(true);
  };
  const remove = back.counter.onCall((call) => {
    if (call.how !== "nested") now();
  });
  // Emitted when the process has nothing left to do, in which case nothing will move again.
  const onIdle = () => wake?.(false);
  process.on("beforeExit", onIdle);
  return {
    now,
    /** Waits for the next one; false when there will be none. */
    async next(): Promise<boolean> {
      const goesOn = moved || (await new Promise<boolean>((resolve) => (wake = resolve)));
      moved = false;
      return goesOn;
    },
    stop() {
      remove();
      process.off("beforeExit", onIdle);
    },
  };
}

/** @param unsent events that were given, and that nothing has waited for */
function stuck({ runs }: RunTree, unsent: readonly PlannedEvent[]): Error {
  const counts = new Map<string, number>();
  for (const { workflow, steps } of runs)
    for (const { kind, state, stage, events = [] } of steps) {
      if (kind !== "event" || state !== "waiting") continue;
      const names = events.map((name) => JSON.stringify(name)).join(" or ");
      const what = `"${stage}" of ${workflow} waits for the event ${names}`;
      counts.set(what, (counts.get(what) ?? 0) + 1);
    }
  const all = [...counts].map(([what, count]) => (count === 1 ? what : `${what} (${count} runs)`));
  const given = unsent.map(({ name }) => JSON.stringify(name)).join(", ");
  const instead = given === "" ? "" : ` Nothing waits for what was given there: ${given}.`;
  return new Error(
    all.length === 0
      ? "The run has not ended, but nothing is scheduled any more that could move it on."
      : `The run cannot end: ${all.join("; ")}, which nobody sends. Give it with --events.${instead}`,
  );
}

/** How a run ended. */
export interface Ending {
  readonly state: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly output?: unknown;
  readonly error?: StepError;
}

type View = FunctionReference<"query", "internal", Record<string, unknown>, unknown>;

const now = performance.now.bind(performance);

/** Real ms that a look may always take; below, a run is looked at whenever it may have moved. */
const CHEAP_MS = 5;

/** Follows one run, from outside: what it reads is not counted. */
export class Watch {
  #last: RunTree | undefined;
  readonly #statusRest = new Rest();
  readonly #treeRest = new Rest();

  constructor(
    private readonly back: BackEnd,
    private readonly runId: string,
    private readonly tell: (tree: RunTree, changes: Change[]) => void,
  ) {}

  /** The same as `look`, unless the run has been looked at too much lately. */
  async glance(): Promise<Ending | undefined> {
    return this.#statusRest.ms > 0 ? undefined : await this.look();
  }

  /** Looks at the run, and tells what happened since. Returns how it ended, once it has. */
  async look(): Promise<Ending | undefined> {
    const status = await this.#statusRest.after(() =>
      this.#read<Ending>("status", { run: { runId: this.runId } }),
    );
    const ended = hasEnded(status.state);
    if (ended || this.#treeRest.ms === 0) await this.tree();
    return ended ? status : undefined;
  }

  /** The run and those below it as they are now; tells what happened since. */
  async tree(): Promise<RunTree> {
    const { runId } = this;
    const tree = await this.#treeRest.after(() => this.#read<RunTree>("tree", { runId }));
    const changes = changesBetween(this.#last, tree);
    this.#last = tree;
    if (changes.length > 0) this.tell(tree, changes);
    return tree;
  }

  /** Real ms after which there may be more to see than a look would show now. */
  get restMs(): number {
    return Math.max(this.#statusRest.ms, this.#treeRest.ms);
  }

  /** What a view of the component gives, whose types the compiler does not depend on. */
  async #read<Result>(view: "status" | "tree", args: Record<string, unknown>): Promise<Result> {
    const { counter, t } = this.back;
    const { views } = componentsGeneric()[workflowComponentPath(this.back)]!;
    const query = views![view] as unknown as View;
    const result = await counter.uncounted(async () => await t.query(query, args));
    if (result === null) throw new Error(`The run ${this.runId} is gone.`);
    return result as Result;
  }
}

/** Big runs are expensive to read: at most a fifth of the time goes into reading them. */
class Rest {
  #until = 0;

  /** Real ms still to rest. */
  get ms(): number {
    return Math.max(0, this.#until - now());
  }

  async after<Result>(work: () => Promise<Result>): Promise<Result> {
    const startedAt = now();
    const result = await work();
    const took = now() - startedAt;
    if (took > CHEAP_MS) this.#until = now() + 4 * took;
    return result;
  }
}
