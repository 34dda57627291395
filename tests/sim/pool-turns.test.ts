import type { Commit, Deployment } from "@stepwise/testing";
import { expect, test } from "vitest";
import { PoolTurns } from "./pool-turns.js";

/** Three lines that wait for the same permit, of which there are so many. */
function watched(total: number) {
  const problems: string[] = [];
  const now = { clock: 0 };
  const gate = { limits: { api: { total } } };
  // As much of a deployment as it asks.
  const of = {
    wall: () => now.clock,
    clock: { now: () => now.clock },
    rows: () => [gate],
  } as unknown as Deployment;
  const turns = new PoolTurns(of, (problem) => void problems.push(problem), "workpool");
  type Written = { name: string; old?: object; next?: object };
  const commit = (...writes: Written[]) => {
    now.clock += 10_000;
    const all = writes.map(({ name, ...of }) => ({ table: { path: `workpool/${name}` }, ...of }));
    turns.see({ by: "test", writes: all } as unknown as Commit);
  };
  for (const line of "abc") commit({ name: "lines", next: { line, blockedBy: "api" } });
  // No look is so old that it lacks them.
  for (let n = 0; n < 20; n++) commit();
  let count = 0;
  const goOn = (lines: string) => {
    for (const line of lines) {
      const work = `w${++count}`;
      commit({ name: "limited", old: { work, line } }, { name: "slots", next: { work } });
    }
  };
  return { problems, goOn, commit };
}

test("a line that others pass over again and again is a problem; lines that take turns are none", () => {
  const { problems, goOn } = watched(2);
  goOn("aabbcc".repeat(10));
  expect(problems).toEqual([]);
  goOn("ab".repeat(11));
  expect(problems.join()).toMatch(/21 of other lines go on for api, as c waits/);
});

test("a line that waits for something else meanwhile is passed over by nobody", () => {
  const { problems, goOn, commit } = watched(1);
  goOn("ab".repeat(6));
  const c = { line: "c", blockedBy: "api" };
  commit({ name: "lines", old: c, next: { ...c, blockedBy: "other" } });
  commit({ name: "lines", old: { ...c, blockedBy: "other" }, next: c });
  goOn("ab".repeat(6));
  expect(problems).toEqual([]);
});
