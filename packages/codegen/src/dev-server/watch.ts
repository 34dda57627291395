import { isDeepStrictEqual } from "node:util";
import type { ComponentApi } from "@stepwise/workflow/_generated/component.js";
import type { FunctionReference, FunctionReturnType } from "convex/server";
import { ON_END } from "../plan/on-end.js";
import type { App } from "./app.js";

type Views = ComponentApi["views"];
export type Status = NonNullable<FunctionReturnType<Views["status"]>>;
/** A run and those below it, oldest first. */
export type RunTree = NonNullable<FunctionReturnType<Views["tree"]>>;
export type TreeRun = RunTree["runs"][number];
export type TreeStep = TreeRun["steps"][number];
export type StepError = TreeStep["errors"][number];

/** Says whether a state is one that a run or step record does not leave any more. */
export function hasEnded(state: string): boolean {
  return !ACTIVE.has(state);
}
const ACTIVE = new Set(["pending", "running", "waiting", "compensating"]);

/** Says whether its `onEnd` is an action that has not ended. */
const isEnding = ({ steps }: TreeRun): boolean =>
  steps.some(({ stage, state }) => stage === ON_END && !hasEnded(state));

/** A stage as it is called inside its run. */
export const stageOf = (stage: string, { within }: Pick<TreeRun, "within">): string =>
  within === undefined ? stage : stage.split(".").slice(within.split(".").length).join(".");

/** The events that a step waits for: `"approval" or "refusal"`. */
export const eventNames = ({ events = [] }: Pick<TreeStep, "events">): string =>
  events.map((name) => JSON.stringify(name)).join(" or ");

/** Returns where each run is below the top, by its id: `answers/0`, or `facts/thumb/pages/3`. */
export function placesOf(runs: readonly TreeRun[]): ReadonlyMap<string, string> {
  const places = new Map<string, string>();
  for (const { runId, parentRunId, parentStage, key, index } of runs) {
    const above = runs.find((run) => run.runId === parentRunId);
    if (above === undefined || parentStage === undefined) continue;
    const place = `${stageOf(parentStage, above)}/${key ?? index}`;
    const around = places.get(above.runId);
    places.set(runId, around === undefined ? place : `${around}/${place}`);
  }
  return places;
}

const now = performance.now.bind(performance);

/** Real ms that a read may always take: what is cheap is read whenever it may have changed. */
const CHEAP_MS = 5;

/** Follows one run, from outside: what it reads is not counted. */
export class Watch {
  #last: RunTree | undefined;
  readonly #statusRest = new Rest();
  readonly #treeRest = new Rest();

  constructor(
    private readonly app: App,
    private readonly runId: string,
    private readonly tell: (tree: RunTree) => void,
  ) {}

  /**
   * Reads the run, and tells what happened since. Returns how it ended, once it and all its ends
   * have.
   * @param isUrgent whether also when it was read too much lately
   */
  async poll(isUrgent: boolean): Promise<Status | undefined> {
    if (!isUrgent && this.#statusRest.ms > 0) return undefined;
    const args = { run: { runId: this.runId } };
    const status = await this.#statusRest.after(() => this.#read("status", args));
    const ended = hasEnded(status.state);
    if (!ended && this.#treeRest.ms > 0) return undefined;
    const { runs } = await this.tree();
    return ended && !runs.some(isEnding) ? status : undefined;
  }

  /** The run and those below it as they are now; tells what happened since. */
  async tree(): Promise<RunTree> {
    const { runId } = this;
    const tree = await this.#treeRest.after(() => this.#read("tree", { runId }));
    if (!isDeepStrictEqual(tree, this.#last)) this.tell(tree);
    this.#last = tree;
    return tree;
  }

  /** Real ms until it may be read again. */
  get restMs(): number {
    return Math.max(this.#statusRest.ms, this.#treeRest.ms);
  }

  async #read<View extends "status" | "tree">(view: View, args: Views[View]["_args"]) {
    const { back, component } = this.app;
    // The arguments of a view are known where it is asked for; here it is one of two.
    const query = component.views[view] as FunctionReference<"query", "internal">;
    const result: FunctionReturnType<Views[View]> = await back.counter.uncounted(
      async () => await back.t.query(query, args),
    );
    if (result === null) throw new Error(`The run ${this.runId} is gone.`);
    return result;
  }
}

/** Big runs are expensive to read: at most a fifth of the time goes into reading them. */
class Rest {
  #until = 0;

  /** Real ms still to rest. */
  get ms(): number {
    return Math.max(0, this.#until - now());
  }

  async after<Result>(work: () => Promise<Result>): Promise<Result> {
    const startedAt = now();
    const result = await work();
    const took = now() - startedAt;
    if (took > CHEAP_MS) this.#until = now() + 4 * took;
    return result;
  }
}
