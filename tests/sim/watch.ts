import type { Commit, Deployment } from "@stepwise/testing";
import { type Doc, isOf, type TableNames } from "../../packages/workflow/test/component.js";
import type { Line } from "../differential/behaviour.js";
import { definitionOf, handlerOf, isGoing } from "../differential/records.js";
import type { RunRow, Steered, StepRow, Still } from "../differential/rest.js";
import type { Job } from "../edits/deployed.js";
import { LIMITS } from "../differential/generator.js";
import { isEnd, type Node, type Workflows } from "../differential/definition.js";
import { Collecting } from "./collecting.js";
import { Laws } from "./laws.js";
import { PoolHolds } from "./pool-holds.js";
import { PoolLimits } from "./pool-limits.js";
import { PoolLines } from "./pool-lines.js";
import { PoolOrder } from "./pool-order.js";
import { PoolRates } from "./pool-rates.js";
import { PoolTurns } from "./pool-turns.js";
import { PoolWaits } from "./pool-waits.js";
import { Turns } from "./turns.js";

/** What one write has made of a document. */
interface Change<Table extends TableNames> {
  readonly old: Doc<Table> | undefined;
  readonly next: Doc<Table> | undefined;
}

/** A write as one to this table of the component, if it is. */
function changeOf<Table extends TableNames>(
  table: Table,
  { table: written, old, next }: Commit["writes"][number],
): Change<Table> | undefined {
  // What a table holds is for its schema to say.
  return written.path === `workflow/${table}` ? ({ old, next } as Change<Table>) : undefined;
}

interface Budget {
  readonly spend?: (scope: { output: unknown }) => number;
}

const objectsIn = (limits: unknown): object[] =>
  Array.isArray(limits) ? limits.filter((each) => typeof each === "object") : [];

/** @returns undefined if it cannot be said: then the estimate stays. */
function amountOf(spend: Budget["spend"], output: unknown): number | undefined {
  try {
    const amount = spend?.({ output });
    return Number.isNaN(amount) ? undefined : amount;
  } catch {
    return undefined;
  }
}

/** The functions that take in what an action reports. */
const REPORTS = /^(_workflows\/|workflow\/executor:record)/;

/** The idempotency key of a step record. */
function keyOf({ run, stage, iterations = [], generation = 1 }: StepRow): string {
  const inLoops = iterations.length === 0 ? "" : `#${iterations.join(".")}`;
  return `${run}/${stage}${inLoops}${generation === 1 ? "" : `~${generation}`}`;
}

/** Looks at every commit: what must hold after each, and what is to be known of runs in the end. */
export class Watch {
  readonly problems = new Set<string>();
  readonly steered = new Map<string, Steered>();
  readonly stills: Still[] = [];
  /** What handlers said, in the order of its commits: a clock that jumps orders rows otherwise. */
  readonly log: Line[] = [];
  /** The largest that it was set to. */
  mostParallel = 0;
  /** How many steps have ended. */
  ended = 0;
  /** The most actions of stages that have run at once. */
  mostActing = 0;
  #acting = 0;
  #held = 0;
  /** Which drain of the queue was the present one after the commit before. */
  #drain = 0;
  readonly #going = new Map<string, number>();
  readonly #laws: Laws;
  readonly #limits: PoolLimits;
  readonly rates: PoolRates;
  readonly waits: PoolWaits;
  readonly #order: PoolOrder;
  readonly #poolTurns: PoolTurns;
  readonly collecting: Collecting;
  readonly #holds: PoolHolds;
  readonly lines: PoolLines;
  /** Attempts whose hold is known. */
  readonly #holding = new Set<string>();
  readonly #turns: Turns;
  /** Attempts that an executor was still to begin when their steps ended badly. */
  readonly #dropped = new Set<string>();
  /** What the watchdog took for lost. */
  readonly lost: string[] = [];

  constructor(
    readonly deployment: Deployment,
    /** Those that are deployed. */
    readonly workflows: () => Workflows,
    readonly hasFaults: boolean,
  ) {
    const tell = (problem: string) => void this.problems.add(problem);
    this.#laws = new Laws(deployment, this.problems);
    const place = { component: "workflow", works: "steps" };
    this.#limits = new PoolLimits(deployment, tell, place);
    this.rates = new PoolRates(deployment, tell, place, (commit) => this.#usedIn(commit));
    this.waits = new PoolWaits(deployment, tell, {
      component: "workflow",
      maxWaiting: LIMITS.scarce.maxWaiting,
      isRefusal: ({ table }) => table.path === "refusals",
      mayBeRefused: (work, commit) => this.#isOfStart(work, commit),
      atMostOf: (work) => this.#stepOf(work) && this.#optionsOf(this.#stepOf(work)!)?.waitAtMost,
    });
    this.#holds = new PoolHolds(deployment, tell, place, (id) => this.#heldBy(id));
    this.#order = new PoolOrder(deployment, tell, "workflow");
    this.#poolTurns = new PoolTurns(deployment, tell, "workflow");
    this.lines = new PoolLines(deployment, "workflow", this.rates);
    this.collecting = new Collecting(deployment, tell, workflows);
    this.#turns = new Turns(deployment, tell);
    deployment.onCommit((commit) => this.#see(commit));
    deployment.onHappening((event) => {
      if (event.what === "crash") this.#acting = 0;
      if (!("path" in event) || !event.path.name.startsWith("_workflows")) return;
      if (event.what === "began") this.mostActing = Math.max(this.mostActing, ++this.#acting);
      else if (event.what === "ended") this.#acting -= 1;
    });
  }

  /** What there is now is not what it has seen. */
  forget(): void {
    this.steered.clear();
    this.#going.clear();
    this.#laws.forget();
    this.#limits.forget();
    this.rates.forget();
    this.waits.forget();
    this.#order.forget();
    this.#poolTurns.forget();
    this.#held = this.#slots().filter(({ work }) => work !== undefined).length;
    this.log.splice(0, Infinity, ...this.deployment.rows<Line>("", "log"));
    this.stills.length = 0;
    this.#dropped.clear();
    for (const run of this.deployment.rows<RunRow>("workflow", "runs")) {
      this.#siblings(undefined, run);
      // Its earlier generations were not seen, and what it began since may still be scheduled.
      this.unseen.add(run._id);
    }
    const [drain] = this.deployment.rows<Doc<"drain">>("workflow", "drain");
    this.#drain = drain?.generation ?? 0;
  }
  /** Runs of which not all was seen. */
  readonly unseen = new Set<string>();

  /** By step, what the actions that report in a commit have used, as far as their outputs say. */
  #usedIn(commit: Commit): Map<string, Record<string, number>> {
    const used = new Map<string, Record<string, number>>();
    const book = (step: StepRow, amountOf: (spend: Budget["spend"]) => number | undefined) => {
      const { limits } = this.#optionsOf(step) ?? {};
      for (const [name, given] of Object.entries(Object.assign({}, ...objectsIn(limits)))) {
        const amount = amountOf((given as Budget).spend);
        if (amount !== undefined) used.set(step._id, { ...used.get(step._id), [name]: amount });
      }
    };
    for (const write of commit.writes) {
      const { old, next } = changeOf("steps", write) ?? {};
      const isDone =
        next?.kind === "action" && next.state === "completed" && old?.state !== next.state;
      // What `recover` gave has used nothing.
      const isMended = next?.errors?.some(({ attempt }) => attempt === next.attempt) === true;
      if (isDone && !isMended) book(next, (spend) => amountOf(spend, next.output));
    }
    // [S226] What its run goes on without has no output in its record.
    for (const step of this.#lateIn(commit)) {
      const key = keyOf(step);
      const ends = ({ what, attempt, ...line }: Line) =>
        line.key === key && what === "ends" && attempt === step.attempt;
      const uses = this.log.findLast(ends)?.uses;
      book(step, (spend) => spend && uses);
    }
    return used;
  }

  /** The steps that had ended when a commit took in what their actions report. */
  #lateIn({ by, writes }: Commit): StepRow[] {
    if (!REPORTS.test(by)) return [];
    const changed = new Set(writes.filter((write) => changeOf("steps", write)).map(({ id }) => id));
    return writes.flatMap((write) => {
      const { old, next } = changeOf("slots", write) ?? {};
      const step = old?.work === undefined ? undefined : this.#stepOf(old.work);
      return step === undefined || next?.work === step._id || changed.has(step._id) ? [] : [step];
    });
  }

  /** The run begins with it, in the commit of its start. */
  #isOfStart(work: string, { by, writes }: Commit): boolean {
    const run = this.#stepOf(work)?.run;
    return by === "manage:start" && writes.some(({ id, old }) => id === run && old === undefined);
  }

  /** What an attempt has asked to be held, if it is to be tried again. */
  #heldBy(id: string): { limit: string; until: number } | undefined {
    const step = this.#stepOf(id);
    if (step === undefined) return undefined;
    const key = keyOf(step);
    const line = this.log.findLast((each) => each.key === key && each.what === "ends");
    const attempt = `${key} ${line?.attempt}`;
    if (step.attempt !== (line?.attempt ?? 0) + 1 || this.#holding.has(attempt)) return undefined;
    this.#holding.add(attempt);
    return line?.holds;
  }

  #stepOf(id: string): StepRow | undefined {
    const { documents } = this.deployment.store.table("workflow", "steps").documents;
    return documents.get(id) as unknown as StepRow | undefined;
  }

  /** What is written in a definition of a step. */
  #optionsOf({ run: id, stage }: StepRow): Node {
    const { documents } = this.deployment.store.table("workflow", "runs").documents;
    const run = documents.get(id) as unknown as RunRow | undefined;
    return run && handlerOf(definitionOf(this.workflows(), run.workflow), stage);
  }

  #slots(): Doc<"slots">[] {
    return this.deployment.rows<Doc<"slots">>("workflow", "slots");
  }

  #see(commit: Commit): void {
    const { by, writes } = commit;
    this.#laws.see(commit);
    this.#limits.see(commit);
    this.rates.see(commit);
    this.waits.see(commit);
    this.#order.see(commit);
    this.#poolTurns.see(commit);
    this.collecting.see(commit);
    // An attempt that is lost has asked for nothing.
    if (!this.hasFaults) this.#holds.see(commit);
    this.#turns.see(commit);
    for (const write of writes) {
      if (write.old === undefined && write.table.path === "workflow/_scheduled_functions")
        this.#scheduled(write.next as unknown as Job);
      if (write.table.path === "log" && write.old === undefined)
        this.#logged(write.next as unknown as Line);
      const run = changeOf("runs", write);
      if (run !== undefined) this.#run(write.id, run);
      const { old, next } = changeOf("steps", write) ?? {};
      if (old !== undefined && next !== undefined) this.#step(old, next);
      const isNew = next !== undefined && old !== undefined && next.attempt > old.attempt;
      if (isNew || (next?.endedAt !== undefined && old?.endedAt === undefined)) this.ended += 1;
      if (old !== undefined) this.#called(old, next, writes);
      const slot = changeOf("slots", write);
      this.#held += Number(slot?.next?.work !== undefined) - Number(slot?.old?.work !== undefined);
      const had = slot?.old?.work;
      if (by.endsWith("watchdog:sweep") && had !== undefined && slot?.next?.work !== had)
        this.lost.push(had);
    }
    for (const write of writes) {
      const next = changeOf("contexts", write)?.next;
      const known = next === undefined ? undefined : this.steered.get(next.run);
      const { refuses = false } = (next?.context ?? {}) as { refuses?: boolean | string };
      if (known !== undefined) known.refuses = refuses !== false;
    }
    for (const write of writes)
      this.#drain = changeOf("drain", write)?.next?.generation ?? this.#drain;
    if (this.mostParallel > 0 && this.#held > this.mostParallel)
      this.problems.add(`${this.#held} slots are held of ${this.mostParallel}`);
  }

  /**
   * One drain at a time: an earlier one goes on no more when another has begun. One transaction may
   * ring twice: the function of the first ring then finds the second, and ends. A look at what is
   * left to an owner is no round of a drain: it counts if that owner's document names it.
   */
  #scheduled(job: Job): void {
    if (!isOf("watchdog:drainQueue")(job)) return;
    const [{ generation, look }] = job.args as readonly [{ generation: number; look?: object }];
    if (look === undefined && generation < this.#drain)
      this.problems.add(`drain ${generation} went on beside ${this.#drain}`);
  }

  #run(id: string, { old, next }: Change<"runs">): void {
    this.#siblings(old, next);
    const { root } = next ?? old!;
    const isTop = root === undefined;
    const known = this.steered.get(id);
    if (old === undefined && isTop)
      this.steered.set(id, { workflow: next!.workflow, ends: [], refuses: false, isGone: false });
    if (next === undefined) {
      if (known === undefined) return;
      known.ends.push(old!.state);
      known.isGone = true;
      this.#still(old!, "gone");
      return;
    }
    if (old === undefined) return;
    const isRestarted = (next.generation ?? 1) !== (old.generation ?? 1);
    if (isRestarted) known?.ends.push(old.state);
    else if (isEnd(old.state) && old.state !== next.state)
      this.problems.add(`${id} was ${old.state}, and then ${next.state}`);
    if (!isTop) return;
    const canceled = (run: RunRow) => run.state === "canceled" || run.endsAs === "canceled";
    if (canceled(next) && !canceled(old)) this.#still(next, "canceled");
    if (next.paused === true && old.paused !== true) this.#still(next, "paused");
    if (next.paused !== true && old.paused === true)
      for (const still of this.stills)
        if (still.why === "paused" && still.run === id)
          still.to = Math.min(still.to, this.log.length);
  }

  /** A result is recorded once. */
  #step(old: StepRow, next: StepRow): void {
    if (old.endedAt === undefined || (old.generation ?? 1) !== (next.generation ?? 1)) return;
    if (old.state === next.state && old.endedAt === next.endedAt) return;
    this.problems.add(`${next.stage} of ${next.run} was ${old.state}, and then ${next.state}`);
  }

  /** An action whose step has ended badly, and which has not begun, does not begin any more. */
  #called(old: StepRow, next: StepRow | undefined, writes: Commit["writes"]): void {
    const wasInPool = old.kind === "action" && old.state === "running";
    if (!wasInPool || !/^(canceled|failed|timedOut)$/.test(next?.state ?? "canceled")) return;
    for (const write of writes) {
      const slot = changeOf("slots", write)?.old;
      if (slot?.work !== old._id || slot.job === undefined || slot.reporting === true) continue;
      const jobs = this.deployment.store.table("workflow", "_scheduled_functions").documents;
      const job = jobs.documents.get(slot.job) as unknown as Job | undefined;
      if (job?.state.kind !== "pending" || job.name.endsWith("pool:carry")) continue;
      // An executor begins, and leaves it out.
      if (slot.shared === true) this.#dropped.add(`${keyOf(old)} ${old.attempt}`);
      else this.problems.add(`${old.stage} of ${old.run} has ended, and is about to begin`);
    }
  }

  #logged(line: Line): void {
    this.log.push(line);
    if (line.what === "begins" && this.#dropped.has(`${line.key} ${line.attempt}`))
      this.problems.add(`${line.text} had ended when its executor began, and begins`);
  }

  /** No more children of a parent go on than may. */
  #siblings(old: RunRow | undefined, next: RunRow | undefined): void {
    const going = (run: RunRow | undefined) => Number(run !== undefined && isGoing(run));
    const change = going(next) - going(old);
    const parent = (next ?? old)?.parentStep;
    if (change === 0 || parent === undefined) return;
    const count = (this.#going.get(parent) ?? 0) + change;
    this.#going.set(parent, count);
    const { documents } = this.deployment.store.table("workflow", "steps").documents;
    const { concurrency = Infinity, settled } = (documents.get(parent) ?? {}) as Partial<StepRow>;
    if (settled !== true && change > 0 && count > concurrency)
      this.problems.add(`${count} children of ${parent} go on, of ${concurrency}`);
  }

  #still({ _id, generation = 1 }: RunRow, why: Still["why"]): void {
    const family = new Set([_id]);
    this.stills.push({ why, run: _id, generation, family, from: this.log.length, to: Infinity });
  }
}
