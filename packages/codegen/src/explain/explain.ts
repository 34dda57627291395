import { durationMs } from "../plan/constants.js";
import { allNodes, stagesOf } from "../plan/flow.js";
import { isOnEnd } from "../plan/on-end.js";
import type {
  AppConfig,
  BodyPlan,
  NodePlan,
  ProjectPlan,
  StagePlan,
  WorkflowPlan,
} from "../plan/schema.js";
import {
  hasBodies,
  hasRivals,
  hasStage,
  isApart,
  isEach,
  isLoop,
  stageKind,
} from "../plan/stage-kinds.js";
import { actionsOf, entersBranches, iterationsOf, limitOf, loopExecutions } from "./costs.js";
import { type LongestRuns, takesTurns, throughStage, type Transaction, within } from "./costs.js";
import { type WorstCase, worstCase } from "./costs.js";

/** What something costs and takes at most, when nothing fails; and at worst. */
interface Bound {
  /** A branch counts its most expensive case; a loop all iterations, or one if that is computed. */
  readonly rootExecutions: number;
  readonly transactions: number;
  /** Infinity when it is open; JSON has null for that. */
  readonly worstCaseMs: number;
}

export type WorkflowExplained = ReturnType<typeof explain>[number];

export interface NodeExplained extends Bound {
  readonly name: string;
  readonly kind: string;
  /** How many iterations a loop makes at most; null when that is computed. */
  readonly maxIterations?: number | null;
  /** It runs a few items at a time: how long it takes depends on their number, which is unknown. */
  readonly takesTurns?: true;
  /** Its body is run for each item: what that costs is not in its own sum. */
  readonly isPerItem?: true;
  readonly stages: readonly StageExplained[];
  readonly bodies?: readonly BodyExplained[];
}

interface BodyExplained extends Bound {
  readonly key: string;
  readonly nodes: readonly NodeExplained[];
}

export interface StageExplained extends WorstCase {
  readonly name: string;
  readonly kind: StagePlan["kind"];
  readonly reference?: string;
  readonly rootExecutions: number;
  /** The root executions that are transactions; what shares one has its share. */
  readonly transactions: number;
  /** Names of the scope; `["*"]` for all of them. */
  readonly reads: readonly string[];
  /** Says whether it runs only when the run is undone, so that it counts in no sum. */
  readonly isCompensation?: true;
  /** The most that its limits let through. For how long it waits for them is not in any sum. */
  readonly limits?: readonly LimitExplained[];
  /** How long each attempt waits at most before it begins. In no sum either. */
  readonly waitAtMostMs?: number | undefined;
}

interface LimitExplained {
  readonly name: string;
  /** How many actions run at once that name it: in all, and of each key. Absent if it is open. */
  readonly total?: number;
  readonly perKey?: number;
  /** How many start in a time: of each key, if it has keys. */
  readonly rate?: NonNullable<AppConfig["limits"]>[string]["rate"];
  /** How many wait for it at most, or for each key. */
  readonly maxWaiting?: number;
  /** What the rate counts. Default: starts. */
  readonly unit?: string;
}

export function explain({ workflows }: ProjectPlan, only?: string) {
  const runs = longestRuns(workflows);
  const shown = workflows.filter(({ name }) => only === undefined || name === only);
  return shown.map((workflow) => {
    const nodes = explainNodes(workflow, runs);
    const whole = wholeOf(workflow, nodes);
    return {
      name: workflow.name,
      file: workflow.file,
      ...whole,
      /** What becomes of a run while another of its key goes on. Absent without a `one`. */
      ...(workflow.one && { one: workflow.one.otherwise ?? "computed" }),
      /** By how much earlier its actions go. Absent without a `priority`. */
      ...(workflow.priority && { priority: workflow.priority.by ?? "computed" }),
      /** Says whether its actions share the slots of the pool by keys. */
      ...(workflow.fairness !== undefined && { isFair: true as const }),
      /** How its starts are collected. Absent without a `collect`. */
      ...(workflow.collect && { collect: collectOf(workflow.collect) }),
      /** Says whether not every run costs as much: it has branches or loops. */
      isAtMost: allNodes(workflow.nodes).some(
        (node) => hasStage(hasBodies)(node) || hasRivals(node),
      ),
      /** What each child adds: its own run, without its children. And what each item does. */
      perChild: [
        ...stagesOf(workflow).flatMap((stage) => childrenOf(stage, workflows, runs)),
        ...nodes.flatMap(itemsOf),
      ],
      openEnded: whole.worstCaseMs === Infinity ? nodes.flatMap(openEnded) : [],
      nodes,
    };
  });
}

const collectOf = ({ keep, quiet, atMost, size }: NonNullable<WorkflowPlan["collect"]>) => ({
  keep: keep ?? "computed",
  quiet: quiet ?? "computed",
  ...(atMost !== undefined && { atMost }),
  ...(size !== undefined && { size }),
});

/** Starts from the timeouts, and shortens by what is known of the others until none changes. */
function longestRuns(workflows: readonly WorkflowPlan[]): LongestRuns {
  const runs = new Map(workflows.map((workflow) => [workflow.name, timeoutOf(workflow)]));
  for (let isShorter = true; isShorter;) {
    isShorter = false;
    for (const workflow of workflows) {
      const { worstCaseMs } = wholeOf(workflow, explainNodes(workflow, runs));
      isShorter ||= worstCaseMs !== runs.get(workflow.name);
      runs.set(workflow.name, worstCaseMs);
    }
  }
  return runs;
}

const timeoutOf = ({ options }: WorkflowPlan): number => durationMs(options["timeout"]) ?? Infinity;

const explainNodes = (workflow: WorkflowPlan, runs: LongestRuns): NodeExplained[] =>
  new Walk(workflow, runs).line(workflow.nodes);

/** Returns what a run costs, and how long it takes within the timeout of its workflow. */
function wholeOf(workflow: WorkflowPlan, nodes: readonly NodeExplained[]): Bound {
  const whole = sumOf(nodes);
  return { ...whole, worstCaseMs: Math.min(whole.worstCaseMs, timeoutOf(workflow)) };
}

/** Goes through the nodes of a workflow, as a run does in which nothing fails. */
class Walk {
  #from: Transaction = "none";

  constructor(
    readonly workflow: WorkflowPlan,
    readonly runs: LongestRuns,
  ) {}

  line(nodes: readonly NodePlan[]): NodeExplained[] {
    return nodes.map((node) => this.#node(node));
  }

  #node(node: NodePlan): NodeExplained {
    const reachedIn = this.#from;
    const walked = node.stages.map((stage) => this.#stage(stage, node));
    const iterations = iterationsOf(node);
    const { bodies, more = 0 } = isLoop(node)
      ? this.#loop(node, iterations)
      : this.#cases(node, reachedIn);
    const extra = { rootExecutions: more, transactions: more, worstCaseMs: 0 };
    const stages =
      more === 0 ? walked : walked.map((stage) => ({ ...stage, ...sumOf([stage, extra]) }));
    const own = sumOf(stages.filter(({ isCompensation }) => isCompensation !== true));
    const all = sumOf([own, times(this.#inside(node, bodies), iterations)]);
    // A run does not wait for its `onEnd`.
    const worstCaseMs = isOnEnd(node) ? 0 : Math.min(all.worstCaseMs, limitOf(node));
    const maxIterations = isLoop(node) ? { maxIterations: iterations } : {};
    const turns = {
      ...(takesTurns(node) ? { takesTurns: true as const } : {}),
      ...(isEach(node) ? { isPerItem: true as const } : {}),
    };
    const { path: name, kind } = node;
    // The stage of a branch or a loop takes as long as what is inside it.
    const shown = bodies === undefined ? stages : stages.map((each) => ({ ...each, worstCaseMs }));
    return { name, kind, ...all, worstCaseMs, ...maxIterations, ...turns, stages: shown, bodies };
  }

  /** Adds what runs side by side cost. The longest of them gives the time. */
  #inside(node: NodePlan, bodies: readonly BodyExplained[] = []): Bound {
    const greatest = greatestOf(bodies);
    if (!isApart(node)) return greatest;
    const sum = isEach(node) ? greatestOf([]) : sumOf(bodies);
    if (hasRivals(node)) return { ...sum, worstCaseMs: longestRace(node, bodies) };
    if (takesTurns(node)) return { ...sum, worstCaseMs: Infinity };
    return node.given.has("concurrency") ? sum : { ...sum, worstCaseMs: greatest.worstCaseMs };
  }

  #stage(stage: StagePlan, node: NodePlan): StageExplained {
    const { kind, reference, reads, isAside } = stage;
    const [, part = ""] = /(\.(?:output|finalize|compensate))$/.exec(stage.name) ?? [];
    const { executions, after } = throughStage(stage, this.#from, node);
    this.#from = after;
    const rootExecutions = rounded(executions);
    const transactions = rounded(executions - actionsOf(stage));
    const own = { name: node.path + part, kind, reference, rootExecutions, transactions, reads };
    const worst = worstCase(stage, { node, workflow: this.workflow, runs: this.runs });
    const limits = limitsOf(stage, this.workflow);
    return {
      ...own,
      ...worst,
      ...(isAside && !isOnEnd(node) ? { isCompensation: true } : {}),
      ...(limits.length > 0 ? { limits } : {}),
      waitAtMostMs: isAside ? undefined : durationMs(node.options["waitAtMost"]),
    };
  }

  /** Each case begins where the branch does. */
  #cases(node: NodePlan, reachedIn: Transaction) {
    const isEntered = entersBranches(node, reachedIn);
    // What is run by a run of its own begins as a run does.
    const from = !isApart(node) ? this.#from : isEntered ? "shared" : "none";
    const afters: Transaction[] = [];
    const bodies = node.bodies?.map((each) => {
      this.#from = from;
      const body = this.#body(each);
      afters.push(this.#from);
      return body;
    });
    if (bodies === undefined) return {};
    const areFused = bodies.every(({ rootExecutions }) => rootExecutions < 1);
    // No function wakes it: the transaction goes on with what follows.
    const isPassed = isEntered && areFused && afters.every((after) => after === "shared");
    const otherwise = (["closed", "shared"] as const).find((after) => afters.includes(after));
    if (isPassed) this.#from = within(reachedIn);
    else this.#from = (isApart(node) ? undefined : otherwise) ?? "open";
    return { bodies, more: isPassed ? -1 : 0 };
  }

  /** The first iteration may need one transaction more than the next ones, by the loop itself. */
  #loop({ bodies = [] }: NodePlan, iterations: number | null) {
    const count = iterations ?? 1;
    const first = bodies.map((body) => this.#body(body));
    const next = count > 1 ? bodies.map((body) => this.#body(body)) : first;
    const more = sumOf(first).rootExecutions - sumOf(next).rootExecutions;
    return { bodies: next, more: loopExecutions(count, more) };
  }

  #body({ key, nodes }: BodyPlan): BodyExplained {
    const explained = this.line(nodes);
    return { key, ...sumOf(explained), nodes: explained };
  }
}

/** The limits of an action: its own, and those of its workflow. */
function limitsOf(stage: StagePlan, { limitNames = [], inherited }: WorkflowPlan) {
  if (!stageKind(stage.kind).options.includes("limits")) return [];
  const names = new Set([...limitNames, ...(stage.limitNames ?? [])].map(({ name }) => name));
  return [...names].map((name): LimitExplained => ({ name, ...inherited?.limits?.[name] }));
}

/** A case that only waits ends well: no race takes longer. With `any`, a failed one ends it too. */
function longestRace({ options }: NodePlan, bodies: readonly BodyExplained[]): number {
  const ends = ({ kind }: StageExplained) =>
    ["duration", "timeout"].includes(stageKind(kind).takes);
  const sure = bodies.filter(
    ({ nodes }) => options["first"] === "any" || nodes.every(({ stages }) => stages.every(ends)),
  );
  const times = (of: readonly BodyExplained[]) => of.map(({ worstCaseMs }) => worstCaseMs);
  return Math.min(Math.max(...times(bodies)), ...times(sure));
}

interface PerChild {
  readonly node: string;
  /** Undefined for any of the app. */
  readonly workflow: string | undefined;
  readonly rootExecutions: number | undefined;
  readonly transactions: number | undefined;
  /** Says whether it is an item of an each, which is of no workflow. */
  readonly isItem?: true;
}

/** The workflows that a stage starts; undefined is any of the app. */
function childrenOf(
  { kind, node, workflows }: StagePlan,
  all: readonly WorkflowPlan[],
  runs: LongestRuns,
): PerChild[] {
  if (stageKind(kind).shape !== "fanOut") return [];
  return (workflows ?? [undefined]).map((workflow) => {
    const child = all.find(({ name }) => name === workflow);
    const own = child && sumOf(explainNodes(child, runs));
    const { rootExecutions, transactions } = own ?? {};
    return { node, workflow, rootExecutions, transactions };
  });
}

/** Returns what each item of a node adds, and each of those inside it. */
function itemsOf({ name: node, isPerItem, bodies = [] }: NodeExplained): PerChild[] {
  const inside = bodies.flatMap(({ nodes }) => nodes.flatMap(itemsOf));
  const { rootExecutions, transactions } = sumOf(bodies);
  const own = { node, workflow: undefined, rootExecutions, transactions, isItem: true as const };
  return isPerItem === true ? [own, ...inside] : inside;
}

/** The stages of a node, and of those inside it, whose time depends on something else. */
function openEnded(node: NodeExplained): string[] {
  // A limit of its own covers what is in it.
  if (node.worstCaseMs < Infinity) return [];
  const own = node.stages.filter(
    ({ worstCaseMs, isCompensation }) =>
      // What is in a branch or a loop is named itself.
      node.bodies === undefined && worstCaseMs === Infinity && isCompensation !== true,
  );
  const iterations = node.maxIterations === null ? [`the iterations of ${node.name}`] : [];
  const inside = (node.bodies ?? []).flatMap(({ nodes }) => nodes.flatMap(openEnded));
  const turns = node.takesTurns === true ? [`the items of ${node.name}`] : [];
  return [...own.map(({ name }) => name), ...iterations, ...turns, ...inside];
}

const sumOf = (bounds: readonly Bound[]): Bound =>
  merged(bounds, (numbers) => numbers.reduce((total, number) => total + number, 0));

const greatestOf = (bounds: readonly Bound[]): Bound =>
  merged(bounds, (numbers) => Math.max(0, ...numbers));

const merged = (bounds: readonly Bound[], made: (of: readonly number[]) => number): Bound => ({
  rootExecutions: rounded(made(bounds.map((bound) => bound.rootExecutions))),
  transactions: rounded(made(bounds.map((bound) => bound.transactions))),
  worstCaseMs: made(bounds.map((bound) => bound.worstCaseMs)),
});

const times = (bound: Bound, count: number | null): Bound => ({
  rootExecutions: rounded(bound.rootExecutions * (count ?? 1)),
  transactions: rounded(bound.transactions * (count ?? 1)),
  worstCaseMs: count === null ? Infinity : bound.worstCaseMs * count,
});

/** Rounds to hundredths, without the crumbs of binary fractions. */
const rounded = (number: number): number => Math.round(number * 100) / 100;
