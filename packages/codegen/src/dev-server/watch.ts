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

type View = FunctionReference<"query", "internal", Record<string, unknown>, unknown>;

const now = performance.now.bind(performance);

/** Real ms that a look may always take; below, a run is looked at whenever it may have moved. */
const CHEAP_MS = 5;

/** Follows one run, from outside: what it reads is not counted. */
export class Watch {
  #last: RunTree | undefined;
  readonly #statusRest = new Rest();
  readonly #treeRest = new Rest();

  constructor(
    private readonly back: BackEnd,
    private readonly runId: string,
    private readonly tell: (tree: RunTree, changes: Change[]) => void,
  ) {}

  /** The same as `look`, unless the run has been looked at too much lately. */
  async glance(): Promise<Ending | undefined> {
    return this.#statusRest.ms > 0 ? undefined : await this.look();
  }

  /** Looks at the run, and tells what happened since. Returns how it ended, once it has. */
  async look(): Promise<Ending | undefined> {
    const status = await this.#statusRest.after(() =>
      this.#read<Ending>("status", { run: { runId: this.runId } }),
    );
    const ended = hasEnded(status.state);
    if (ended || this.#treeRest.ms === 0) await this.tree();
    return ended ? status : undefined;
  }

  /** The run and those below it as they are now; tells what happened since. */
  async tree(): Promise<RunTree> {
    const { runId } = this;
    const tree = await this.#treeRest.after(() => this.#read<RunTree>("tree", { runId }));
    const changes = changesBetween(this.#last, tree);
    this.#last = tree;
    if (changes.length > 0) this.tell(tree, changes);
    return tree;
  }

  /** Real ms after which there may be more to see than a look would show now. */
  get restMs(): number {
    return Math.max(this.#statusRest.ms, this.#treeRest.ms);
  }

  /** What a view of the component gives, whose types the compiler does not depend on. */
  async #read<Result>(view: "status" | "tree", args: Record<string, unknown>): Promise<Result> {
    const { counter, t } = this.back;
    const { views } = componentsGeneric()[workflowComponentPath(this.back)]!;
    const query = views![view] as unknown as View;
    const result = await counter.uncounted(async () => await t.query(query, args));
    if (result === null) throw new Error(`The run ${this.runId} is gone.`);
    return result as Result;
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
