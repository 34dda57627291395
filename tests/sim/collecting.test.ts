import type { Commit, Deployment } from "@stepwise/testing";
import { expect, test } from "vitest";
import type { Collect, Workflows } from "../differential/definition.js";
import { Collecting } from "./collecting.js";

const QUIET_MS = 20_000;
const LONGER_MS = 60_000;
const NAME = "notify";

/** One run that collects, as of the definition that is deployed. */
function watched() {
  const problems: string[] = [];
  const now = { ms: 0, collect: undefined as Collect | undefined };
  const run = { _id: "r", workflow: NAME, collects: {} };
  // As much of a deployment as it asks.
  const deployment = {
    wall: () => now.ms,
    clock: { now: () => now.ms },
    jumps: [],
    store: { table: () => ({ documents: { documents: new Map([[run._id, run]]) } }) },
  } as unknown as Deployment;
  const workflows = () =>
    ({ [NAME]: { definition: { options: { collect: now.collect } } } }) as unknown as Workflows;
  const collecting = new Collecting(deployment, (told) => void problems.push(told), workflows);
  const see = (table: string, write: object) =>
    collecting.see({
      by: "test",
      writes: [{ table: { path: table }, ...write }],
    } as unknown as Commit);
  return {
    collecting,
    problems,
    deploy: (quiet: number, size?: number) => {
      now.collect = { keep: "all", quiet, ...(size && { size }) };
    },
    start: (at: string) => see("starts", { next: { run: run._id, at } }),
    begins: (afterMs: number, ...items: string[]) => {
      now.ms += afterMs;
      // By then any snapshot shows all starts.
      for (let commits = 0; commits < 20; commits++) see("other", {});
      const input = { items: items.map((at) => ({ at })) };
      see("workflow/runs", { old: run, next: { ...run, collects: undefined, input } });
    },
  };
}

/** Found by seed 200000977 of S16: a first version came back that waits for less. */
test("a run that collects begins at the time of its first start, whatever is deployed since", () => {
  for (const [before, after] of [
    [QUIET_MS, LONGER_MS],
    [LONGER_MS, QUIET_MS],
  ] as const) {
    const { collecting, problems, deploy, start, begins } = watched();
    deploy(before);
    start("one");
    deploy(after);
    start("other");
    begins(before, "one", "other");
    expect([...problems, ...collecting.late]).toEqual([]);
  }
});

test("a run that begins at another time than its first start says is a problem", () => {
  const early = watched();
  early.deploy(LONGER_MS);
  early.start("one");
  early.deploy(QUIET_MS);
  early.begins(QUIET_MS, "one");
  expect(early.problems.join()).toMatch(/begins 40000 ms before its time/);

  const late = watched();
  late.deploy(QUIET_MS);
  late.start("one");
  late.deploy(LONGER_MS);
  late.begins(LONGER_MS, "one");
  expect(late.collecting.late.join()).toMatch(/begins 40000 ms late/);
});

test("a run begins before its time if its last start says that it is full", () => {
  const { collecting, problems, deploy, start, begins } = watched();
  deploy(QUIET_MS);
  start("one");
  deploy(LONGER_MS, 2);
  start("other");
  deploy(QUIET_MS);
  begins(1_000, "one", "other");
  expect([...problems, ...collecting.late]).toEqual([]);
});

test("a start is lost if no run takes it, unless what is deployed collects no more", () => {
  const { collecting, problems, deploy, start } = watched();
  start("uncollected");
  collecting.atRest();
  expect(problems).toEqual([]);
  deploy(QUIET_MS);
  start("collected");
  collecting.atRest();
  expect(problems).toEqual(["collected of r were lost"]);
});
