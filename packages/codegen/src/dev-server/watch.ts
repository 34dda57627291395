import { componentsGeneric, type FunctionReference } from "convex/server";
import { workflowComponentPath } from "./app-workflows.js";
import type { BackEnd } from "./back-end.js";
import { type Change, changesBetween } from "./changes.js";
import { hasEnded, type RunTree, type StepError } from "./tree.js";

/** How a run ended. */
export interface Ending {
  readonly state: string;
  readonly startedAt: number;
  readonly endedAt?: number;
  readonly output?: unknown;
  readonly error?: StepError;
}

type Read<Args extends Record<string, unknown>, Result> = FunctionReference<
  "query",
  "internal",
  Args,
  Result | null
>;

type StatusOf = Read<{ run: { runId: string } }, Ending>;
type TreeOf = Read<{ runId: string }, RunTree>;

const now = performance.now.bind(performance);

/** Real ms that looking may always take; below, a run is looked at whenever it may have moved. */
const CHEAP_MS = 5;

/** Follows one run, from outside: what it reads is not counted. */
export class Watch {
  readonly #back: BackEnd;
  readonly #runId: string;
  readonly #tell: (tree: RunTree, changes: Change[]) => void;
  readonly #status: StatusOf;
  readonly #treeOf: TreeOf;
  #last: RunTree | undefined;
  readonly #statusRest = new Rest();
  readonly #treeRest = new Rest();

  constructor(back: BackEnd, runId: string, tell: (tree: RunTree, changes: Change[]) => void) {
    this.#back = back;
    this.#runId = runId;
    this.#tell = tell;
    const views = componentsGeneric()[workflowComponentPath(back)]!["views"]!;
    this.#status = views["status"] as unknown as StatusOf;
    this.#treeOf = views["tree"] as unknown as TreeOf;
  }

  /** The same as `look`, unless the run has been looked at too much lately. */
  async glance(): Promise<Ending | undefined> {
    return this.#statusRest.ms > 0 ? undefined : await this.look();
  }

  /** Looks at the run, and tells what happened since. Returns how it ended, once it has. */
  async look(): Promise<Ending | undefined> {
    const status = await this.#statusRest.after(() =>
      this.#read(this.#status, { run: { runId: this.#runId } }),
    );
    const ended = hasEnded(status.state);
    if (ended || this.#treeRest.ms === 0) await this.tree();
    return ended ? status : undefined;
  }

  /** The run and those below it as they are now; tells what happened since. */
  async tree(): Promise<RunTree> {
    const tree = await this.#treeRest.after(() => this.#read(this.#treeOf, { runId: this.#runId }));
    const changes = changesBetween(this.#last, tree);
    this.#last = tree;
    if (changes.length > 0) this.#tell(tree, changes);
    return tree;
  }

  /** Real ms after which there may be more to see than a look would show now. */
  get restMs(): number {
    return Math.max(this.#statusRest.ms, this.#treeRest.ms);
  }

  async #read<Args extends Record<string, unknown>, Result>(
    query: Read<Args, Result>,
    args: Args,
  ): Promise<Result> {
    const { counter, t } = this.#back;
    const result = await counter.uncounted(
      async () => await t.query(query as Read<Record<string, unknown>, unknown>, args),
    );
    if (result === null) throw new Error(`The run ${this.#runId} is gone.`);
    return result as Result;
  }
}

/** Big runs are dear to read: at most a fifth of the time goes into reading them. */
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
