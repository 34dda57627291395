import { setTimeout as sleep } from "node:timers/promises";
import { installTimers, type InstalledTimers } from "@stepwise/counting";
import type { BackEnd } from "./back-end.js";
import type { Ending, Watch } from "./watch.js";

/**
 * Real ms that a function which neither ends nor calls anything is waited for before time is
 * skipped: it may be waiting for the network, or just for a timer of its own.
 */
const PATIENCE_MS = 1000;

/** How a run's waiting (backoff, timeouts, sleeps) passes. */
export interface Clock {
  /** Waits until the run has ended. */
  untilEnded(back: BackEnd, watch: Watch): Promise<Ending>;
  /** Gives the process its own clock back. */
  stop(): void;
}

/** Waiting takes as long as it takes. */
export const realTime: Clock = {
  async untilEnded(back, watch) {
    const moves = movesOf(back);
    try {
      for (;;) {
        const ending = await watch.look();
        if (ending !== undefined) return ending;
        await moves.next();
        await sleep(watch.restMs);
      }
    } finally {
      moves.stop();
    }
  },
  stop() {},
};

/** Waiting takes no time: when nothing moves any more, the clock jumps to the next timer. */
export function skippedTime(): Clock {
  const timers: InstalledTimers = installTimers();
  return {
    async untilEnded(back, watch) {
      let ending: Ending | undefined;
      const done = async () => (ending = await watch.glance()) !== undefined;
      await back.counter.drive({ timers, done, patienceMs: PATIENCE_MS });
      ending ??= await watch.look();
      if (ending === undefined) throw stuck();
      return ending;
    },
    stop: () => timers.uninstall(),
  };
}

/** The ends of root executions: a run does not change without one. */
function movesOf(back: BackEnd) {
  let moved = true;
  let wake: (() => void) | undefined;
  let fail: ((error: Error) => void) | undefined;
  const remove = back.counter.onCall((call) => {
    if (call.how === "nested") return;
    moved = true;
    wake?.();
  });
  // Emitted when the process has nothing left to do, in which case nothing will move again.
  const onIdle = () => fail?.(stuck());
  process.on("beforeExit", onIdle);
  return {
    async next(): Promise<void> {
      if (!moved) {
        await new Promise<void>((resolve, reject) => {
          wake = resolve;
          fail = reject;
        });
      }
      moved = false;
    },
    stop() {
      remove();
      process.off("beforeExit", onIdle);
    },
  };
}

function stuck(): Error {
  return new Error(
    "The run has not ended, but nothing is scheduled any more that could move it on.",
  );
}
