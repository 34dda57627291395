import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Rounds } from "../../src/watch/watching.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Rounds whose work takes 100 ms, and the times of the first changes that they were given. */
function rounds(): { rounds: Rounds; starts: number[]; most: () => number } {
  const starts: number[] = [];
  let running = 0;
  let most = 0;
  const work = async (firstChangeAt: number) => {
    starts.push(firstChangeAt);
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 100));
    running--;
  };
  return { rounds: new Rounds(work), starts, most: () => most };
}

test("a burst of changes is one round, timed from its first change", async () => {
  const { rounds: watched, starts } = rounds();
  const first = performance.now();
  for (let change = 0; change < 5; change++) {
    watched.changed();
    await vi.advanceTimersByTimeAsync(5);
  }
  expect(starts).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(starts).toEqual([first]);
});

test("a change during a round makes another one after it, never one beside it", async () => {
  const { rounds: watched, starts, most } = rounds();
  watched.changed();
  await vi.advanceTimersByTimeAsync(50);
  expect(starts).toHaveLength(1);
  watched.changed();
  watched.changed();
  await vi.advanceTimersByTimeAsync(40);
  expect(starts).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(starts).toHaveLength(2);
  expect(most()).toBe(1);
});

test("a change during the very first round waits for its end, too", async () => {
  const { rounds: watched, starts, most } = rounds();
  const first = watched.start();
  watched.changed();
  await vi.advanceTimersByTimeAsync(1000);
  await first;
  expect(starts).toHaveLength(2);
  expect(most()).toBe(1);
});

test("after close there are no more rounds", async () => {
  const { rounds: watched, starts } = rounds();
  watched.changed();
  await watched.close();
  watched.changed();
  await vi.advanceTimersByTimeAsync(1000);
  expect(starts).toEqual([]);
});

test("close waits for the round that is under way, which is the last", async () => {
  const { rounds: watched, starts } = rounds();
  const ended: string[] = [];
  void watched.start().then(() => ended.push("round"));
  watched.changed();
  const closed = watched.close().then(() => ended.push("close"));
  await vi.advanceTimersByTimeAsync(99);
  expect(ended).toEqual([]);
  await vi.advanceTimersByTimeAsync(1000);
  await closed;
  expect(ended).toEqual(["round", "close"]);
  expect(starts).toHaveLength(1);
});
