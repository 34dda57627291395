import type { Commit, Deployment } from "@stepwise/testing";
import type { Doc } from "../../packages/workflow/test/component.js";

type Run = Doc<"runs">;
type Turn = Doc<"turns">;

/** Of the runs with one key of a workflow's `one`, one goes on. */
export class Turns {
  constructor(
    readonly deployment: Deployment,
    readonly tell: (problem: string) => void,
  ) {}

  see({ by, writes }: Commit): void {
    const touched = new Set<string>();
    for (const { table, old, next } of writes) {
      // What a table holds is for its schema to say.
      const row = (next ?? old) as unknown;
      if (table.path === "workflow/turns") touched.add(keyOf(row as Turn));
      if (table.path === "workflow/runs") for (const key of keyOfRun(row as Run)) touched.add(key);
    }
    if (touched.size === 0) return;
    const runs = new Map(
      this.deployment.rows<Run>("workflow", "runs").map((run) => [run._id, run]),
    );
    const turns = this.deployment.rows<Turn>("workflow", "turns");
    const waiting = new Set(
      this.deployment
        .rows<Doc<"steps">>("workflow", "steps")
        .filter(({ kind, endedAt }) => kind === "turn" && endedAt === undefined)
        .map(({ run }) => run),
    );
    for (const key of touched) {
      const ofKey = turns.filter((turn) => keyOf(turn) === key);
      const holding = ofKey.filter(({ state }) => state === "has it");
      if (holding.length > 1) this.tell(`${by}: ${holding.length} runs have the turn of ${key}`);
      const going = [...runs.values()].filter(
        (run) => isGoing(run, key) && !waiting.has(run._id) && !this.#isBelowOther(run, runs, key),
      );
      if (going.length > 1)
        this.tell(`${by}: ${going.map(({ _id }) => _id).join(" and ")} go on with ${key}`);
    }
  }

  /** One below another of its key is in its turn, and may outlive it for a moment. */
  #isBelowOther({ parentRun }: Run, runs: ReadonlyMap<string, Run>, key: string): boolean {
    const above = parentRun === undefined ? undefined : runs.get(parentRun);
    if (above === undefined) return false;
    return keyOfRun(above).includes(key) || this.#isBelowOther(above, runs, key);
  }
}

const keyOf = ({ workflow, key }: Pick<Turn, "workflow" | "key">): string => `${workflow} ${key}`;

const keyOfRun = ({ workflow, one }: Run): string[] =>
  one === undefined ? [] : [keyOf({ workflow, key: one.key })];

/** What a run did before a restart is undone without a turn. */
function isGoing(run: Run, key: string): boolean {
  return keyOfRun(run).includes(key) && run.endedAt === undefined && run.state === "running";
}
