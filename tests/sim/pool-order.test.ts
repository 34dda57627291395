import type { Commit, Deployment } from "@stepwise/testing";
import { expect, test } from "vitest";
import { PoolOrder } from "./pool-order.js";

/** A queue with keys of fairness, and as many slots as are written. */
function watched() {
  const problems: string[] = [];
  const gate = { maxParallelism: 1 };
  // As much of a deployment as it asks.
  const of = {
    wall: () => now,
    clock: { now: () => now },
    rows: () => [gate],
  } as unknown as Deployment;
  const order = new PoolOrder(of, (problem) => void problems.push(problem), "workpool");
  let now = 0;
  type Written = { name: string; old?: object; next?: object };
  const commit = (...writes: Written[]) => {
    now += 10_000;
    const all = writes.map(({ name, ...of }) => ({ table: { path: `workpool/${name}` }, ...of }));
    order.see({ by: "test", writes: all } as unknown as Commit);
  };
  commit({ name: "gate", next: gate });
  const row = (work: string, key: string) => ({ work, at: 1n, fair: { key, weight: 1 } });
  const join = (work: string, key: string) => ({ name: "waiting", next: row(work, key) });
  const leave = (work: string, key: string) => ({ name: "waiting", old: row(work, key) });
  /** So many works of a key join, start and end. */
  const pass = (key: string, count: number) => {
    for (let n = 0; n < count; n++) {
      const held = { work: `${key}${n}`, fair: key };
      commit(join(held.work, key));
      commit(leave(held.work, key), { name: "slots", next: held });
      commit({ name: "slots", old: held, next: {} });
    }
  };
  return { problems, commit, join, leave, pass };
}

test("a key that others pass over again and again, and that holds no slot, is a problem", () => {
  const { problems, commit, join, pass } = watched();
  commit(join("w", "z"));
  pass("a", 40);
  expect(problems.join()).toMatch(/others start, as the key "z" waits without a slot/);
});

/** Found by seed 7100048 of S16. */
test("a work that joins again as it leaves waits once, and no longer than that", () => {
  const { problems, commit, join, leave, pass } = watched();
  commit(join("w", "z"));
  commit(leave("w", "z"), join("w", "z"));
  commit(leave("w", "z"));
  pass("a", 40);
  expect(problems).toEqual([]);
});

/** Found by seed 300000783 of S16. */
test("a key had its turn where a limit of its work was reached, and waits from then on", () => {
  const { problems, commit, join, leave, pass } = watched();
  commit(join("v", "z"));
  commit(join("w", "z"));
  pass("a", 6);
  commit(leave("v", "z"), { ...join("v", "z"), name: "limited" });
  pass("a", 6);
  expect(problems).toEqual([]);
  pass("a", 40);
  expect(problems.join()).toMatch(/as the key "z" waits without a slot/);
});
