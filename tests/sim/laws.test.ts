import type { Commit, Deployment } from "@stepwise/testing";
import { expect, test } from "vitest";
import { Laws } from "./laws.js";

/** Found by seed 340001719 of S16: an executor reports several ends together. */
test("a race may fail in the commit in which all of its cases do, and not if one has not ended badly", () => {
  const problems = new Set<string>();
  // As much of a deployment as it asks.
  const tables = { table: () => ({ documents: { documents: new Map() } }) };
  const laws = new Laws({ store: tables } as unknown as Deployment, problems);
  const commit = (id: string, ...states: string[]) => {
    const cases = states.map((state, index) => {
      const row = { _id: `${id}${index}`, parentStep: id };
      const [old, next] = [
        { ...row, state: "running" },
        { ...row, state },
      ];
      return { table: { path: "workflow/runs" }, id: row._id, old, next };
    });
    const race = { _id: id, run: "r", stage: id, race: {}, total: 2, state: "waiting" };
    const event = { kind: "failed", error: { kind: "childFailed" } };
    const step = { table: { path: "workflow/steps" }, id, old: race };
    const settled = { ...step, next: { ...race, settled: true, event } };
    laws.see({ by: "test", writes: [...cases, settled] } as unknown as Commit);
  };
  commit("one", "failed", "timedOut");
  expect([...problems]).toEqual([]);
  commit("other", "failed", "canceled");
  expect([...problems].join()).toContain("fails as 1 of 2 children did");
});
