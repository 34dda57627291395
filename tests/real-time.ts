import { afterAll } from "vitest";

/*
 * Files share a worker. If one leaves time faked, the next one hangs where it waits for real time:
 * but only in the order in which it comes next.
 */
afterAll(() => {
  // A fake clock marks what it puts in place of the process's own timers.
  if ("clock" in globalThis.setTimeout)
    throw new Error("This file leaves timers faked: call vi.useRealTimers() after each test");
});
