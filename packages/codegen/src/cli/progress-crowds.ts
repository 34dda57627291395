import { type Change, hasEnded, type RunTree, type TreeRun } from "../dev-server/index.js";
import { countStates } from "./progress-text.js";

/** Children of one parent from which on those that go alike are told once. */
const MANY = 10;
/** Their progress is told in so many parts. */
const PARTS = 4;

interface Crowd {
  readonly parent: TreeRun;
  readonly stage: string;
  children: readonly TreeRun[];
  isWhole: boolean;
  partsTold: number;
}

/** Parents with many children: what one of them has come to is told once for all, then how many have ended. */
export class Crowds {
  readonly #crowds = new Map<string, Crowd>();
  readonly #told = new Set<string>();
  #runs = new Map<string, TreeRun>();

  /** To be called with each tree, before its changes are told. */
  see({ runs, truncated }: RunTree): void {
    this.#runs = new Map(runs.map((run) => [run.runId, run]));
    const groups = new Map<string, TreeRun[]>();
    for (const run of runs) {
      const group = groups.get(keyOf(run));
      if (group === undefined) groups.set(keyOf(run), [run]);
      else group.push(run);
    }
    for (const [key, children] of groups) {
      const parent = this.#runs.get(children[0]?.parentRunId ?? "");
      if (parent === undefined || children.length < MANY) continue;
      const stage = children[0]?.parentStage ?? "";
      const { partsTold = 0 } = this.#crowds.get(key) ?? {};
      this.#crowds.set(key, { parent, stage, children, isWhole: !truncated, partsTold });
    }
  }

  /** Whether the same was told of another child of the same parent; it counts as told from now on. */
  hasTold(change: Change): boolean {
    const path: string[] = [];
    let crowd: string | undefined;
    for (
      let run: TreeRun | undefined = change.run;
      run !== undefined;
      run = this.#runs.get(run.parentRunId ?? "")
    ) {
      const isCrowded = this.#crowds.has(keyOf(run));
      if (isCrowded) crowd = keyOf(run);
      path.push(isCrowded ? `${keyOf(run)} ${run.workflow}` : run.runId);
    }
    if (crowd === undefined) return false;
    const told = JSON.stringify([path, whatOf(change)]);
    const isTold = this.#told.has(told);
    this.#told.add(told);
    return isTold;
  }

  /** What has become of crowds, each time that another quarter of one has ended. */
  *progress(): Generator<{ parent: TreeRun; stage: string; text: string }> {
    for (const crowd of this.#crowds.values()) {
      const { parent, stage, children, isWhole } = crowd;
      const ended = children.filter(({ state }) => hasEnded(state));
      const parts = Math.floor((ended.length / children.length) * PARTS);
      if (parts <= crowd.partsTold) continue;
      crowd.partsTold = parts;
      const all = `${children.length}${isWhole ? "" : " or more"}`;
      yield { parent, stage, text: `${countStates(ended)} of ${all} children` };
    }
  }
}

function keyOf({ parentRunId = "", parentStage = "" }: TreeRun): string {
  return `${parentRunId}\n${parentStage}`;
}

/** What makes a change worth telling, without its times. */
function whatOf(change: Change): readonly unknown[] {
  const { what } = change;
  if (!("step" in change)) return [what, change.run.state];
  const { stage, pass, state, attempt } = change.step;
  return [what, stage, pass, state, attempt, "error" in change ? change.error.message : undefined];
}
