import { setTimeout as sleep } from "node:timers/promises";
import {
  installTimers,
  spanLongTimers,
  type InstalledTimers,
  type TimerHost,
} from "@stepwise/testing";
import type { BackEnd } from "./back-end.js";
import type { Delivery, EventSender, PlannedEvent } from "./events.js";
import type { RunTree } from "./tree.js";
import type { Ending, Watch } from "./watch.js";

/** Real ms that a function which neither ends nor calls anything may take before time is skipped. */
const PATIENCE_MS = 1000;
/** Before time jumps so far, in virtual ms, the run is looked at: if it has ended, its removal may be next. */
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
