import { expect, test } from "vitest";
import { checkRuns } from "./checks.js";
import type { Stage } from "./stage.js";

/** What is told when a run at rest has an `onEnd` that was lost. @param of how it was deployed */
function told(of: { isDeployed: boolean; isBack: boolean }): string[] {
  const run = { _id: "r", workflow: "w", state: "completed", startedAt: 0, endedAt: 1 };
  const step = { _id: "s", run: "r", stage: "onEnd", state: "failed", iterations: [] };
  const problems: string[] = [];
  // As much of a stage as it asks.
  const stage = {
    ...of,
    problems,
    scenario: { plan: [] },
    workflows: { w: { definition: { nodes: {}, options: {} } } },
    hasFaults: false,
    sent: [],
    rows: () => [],
    runs: () => [run],
    steps: () => [{ ...step, errors: [{ kind: "lost" }] }],
    jobs: () => [],
    deployment: { rows: () => [] },
    watch: {
      log: [],
      steered: new Map(),
      stills: [],
      lost: [],
      unseen: new Set(),
      waits: { tooLong: () => [] },
      collecting: { late: [] },
    },
  };
  checkRuns(stage as unknown as Stage);
  return problems.filter((problem) => problem.endsWith("was lost"));
}

/** Found by seed 250000335 of S16: the `onEnd` of the first version is a mutation. */
test("an action may be lost that only the version before the present one has", () => {
  expect(told({ isDeployed: true, isBack: true })).toEqual([]);
  expect(told({ isDeployed: true, isBack: false })).toEqual(["onEnd of r was lost"]);
  expect(told({ isDeployed: false, isBack: false })).toEqual(["onEnd of r was lost"]);
});
