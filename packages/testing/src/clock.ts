import { setTimeout as sleep } from "node:timers/promises";
import type { Counter } from "./counter.js";
import { spanLongTimers, type TimerHost } from "./long-timers.js";
import { isStandby } from "./scheduling.js";
import { installTimers } from "./timers.js";

/** Real ms that a function may be idle before time is skipped. */
const PATIENCE_MS = 1000;
/** A jump of this many virtual ms is far: what is watched may be removed by it. */
const FAR_MS = 30_000;

/** How backoff, timeouts and sleeps pass in a process that watches a back end. */
export interface Clock {
  /**
   * Waits until there may be something new to see; false when nothing can move any more.
   *
   * @param isDue Tells whether there is something, and whether time is about to jump far.
   * @param restMs How long nothing new is wanted.
   */
  wait(isDue: (isFar: boolean) => Promise<boolean>, restMs: () => number): Promise<boolean>;
  /** Ends a `wait`. */
  wake(): void;
  /** Gives the process its own clock back. */
  stop(): void;
}

/**
 * Backoff, timeouts and sleeps take their time; a wait ends when a root execution does. Functions on
 * standby are not waited for: what they look for cannot happen in one process.
 */
export function realTime(counter: Counter): Clock {
  // Node's types say more of a timer than is asked here.
  const giveBack = spanLongTimers(globalThis as unknown as TimerHost, isStandby);
  let moved = true;
  let go: ((goesOn: boolean) => void) | undefined;
  const wake = () => {
    moved = true;
    go?.(true);
  };
  const remove = counter.onCall(({ how }) => {
    if (how !== "nested") wake();
  });
  // Emitted when the process has nothing left to do, in which case nothing will move again.
  const onIdle = () => go?.(false);
  process.on("beforeExit", onIdle);
  return {
    async wait(_isDue, restMs) {
      const goesOn = moved || (await new Promise<boolean>((resolve) => (go = resolve)));
      moved = false;
      if (goesOn) await sleep(restMs());
      return goesOn;
    },
    wake,
    stop() {
      remove();
      process.off("beforeExit", onIdle);
      giveBack();
    },
  };
}

/** Waiting takes no time: when nothing moves any more, the clock jumps to the next timer. */
export function skippedTime(counter: Counter): Clock {
  const timers = installTimers();
  return {
    async wait(isDue) {
      const isFar = () => (timers.nextAt() ?? 0) - timers.now() >= FAR_MS;
      const done = async () => await isDue(isFar());
      return (await counter.drive({ timers, done, patienceMs: PATIENCE_MS })).done;
    },
    wake() {},
    stop: () => timers.uninstall(),
  };
}
