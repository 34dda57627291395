import { ProgressLines } from "../../src/cli/progress.js";
import type { RunTree, StepError, TreeRun, TreeStep } from "../../src/dev-server/index.js";

/** Trees as the component would give them, for tests of what is made of them. */

export function step(
  stage: string,
  state: TreeStep["state"],
  more: Partial<TreeStep> = {},
): TreeStep {
  const ended = ["completed", "failed", "canceled"].includes(state) ? { endedAt: 1040 } : {};
  return {
    stage,
    kind: "action",
    state,
    attempt: 1,
    startedAt: 1000,
    errors: [],
    ...ended,
    ...more,
  };
}

export function run(runId: string, state: TreeRun["state"], more: Partial<TreeRun> = {}): TreeRun {
  const ended = ["completed", "failed", "canceled"].includes(state) ? { endedAt: 1100 } : {};
  return {
    runId,
    workflow: "document",
    index: 0,
    generation: 1,
    paused: false,
    state,
    createdAt: 1000,
    startedAt: 1000,
    steps: [],
    ...ended,
    ...more,
  };
}

export function child(
  index: number,
  state: TreeRun["state"] & TreeStep["state"],
  more: Partial<TreeRun> = {},
): TreeRun {
  return run(`child${index}`, state, {
    workflow: "section",
    parentRunId: "top",
    parentStage: "sections",
    index,
    steps: [step("analysis", state)],
    ...more,
  });
}

export function tree(...runs: TreeRun[]): RunTree {
  return { runs, truncated: false };
}

export function error(attempt: number, message = "no luck"): StepError {
  return { message, kind: "thrown", workflow: "section", node: "analysis", attempt };
}

/** The lines that are told of each look at a tree. */
export function linesOf(looks: readonly RunTree[], seenAt: number): string[][] {
  let told: string[] = [];
  const progress = new ProgressLines((line) => told.push(line));
  return looks.map((look) => {
    told = [];
    progress.tell({ type: "progress", tree: look, seenAt });
    return told;
  });
}
