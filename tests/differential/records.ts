import { identifierOf, isIdentifier } from "../../packages/codegen/src/plan/storage-names.js";
import type { Definition, Node, Nodes, Workflows } from "./definition.js";
import type { Rest, RunRow, StepRow } from "./rest.js";

export const BAD: readonly RunRow["state"][] = ["failed", "canceled", "timedOut"];
export const FINAL: readonly RunRow["state"][] = ["completed", ...BAD];

export function nameOf({ _id, workflow }: RunRow): string {
  return `${_id} (${workflow})`;
}

export function state({ state: is, endedAt, endsAs, paused, error }: RunRow): string {
  return JSON.stringify({ is, endedAt, endsAs, paused, error });
}

/** Says whether it counts among its siblings that may go on at once. */
export function isGoing({ state: is }: RunRow): boolean {
  return is === "running" || is === "compensating";
}

/** The idempotency key of a step record. */
export function keyOf({ run, stage, iterations, generation = 1 }: StepRow): string {
  const inLoops = iterations === undefined ? "" : `#${iterations.join(".")}`;
  return `${run}/${stage}${inLoops}${generation === 1 ? "" : `~${generation}`}`;
}

export function partsOf(key: string) {
  const [, run = "", stage = "", iterations, generation = "1"] =
    /^([^/]*)\/([^#~]*)(#[^~]*)?(?:~(\d+))?$/.exec(key) ?? [];
  return { run, stage, isInLoop: iterations !== undefined, generation: Number(generation) };
}

export function isUndoing({ stage }: StepRow): boolean {
  return stage.endsWith(".compensate");
}

/** The runs of an app at rest, and of each what it is to the runs above it. */
export class Family {
  readonly #runs: ReadonlyMap<string, RunRow>;
  readonly #steps: ReadonlyMap<string, StepRow>;

  constructor({ runs, steps }: Pick<Rest, "runs" | "steps">) {
    this.#runs = new Map(runs.map((run) => [run._id, run]));
    this.#steps = new Map(steps.map((step) => [step._id, step]));
  }

  /** The run that has failed, of a run and those above it the first. */
  undoerOf(id: string | undefined): string | undefined {
    const run = this.#runs.get(id ?? "");
    const isKept = run?.state === "canceled" && this.#above(run)?.keepsDone === true;
    if (run === undefined || (BAD.includes(run.state) && !isKept)) return run?._id;
    return this.undoerOf(run.parentRun);
  }

  /** Says whether it may take what was sent to a run: a case of a race may, for the one around it. */
  takesOf(id: string, sentTo: string): boolean {
    if (id === sentTo) return true;
    const run = this.#runs.get(id);
    const isCase = run !== undefined && this.#above(run)?.race !== undefined;
    return isCase && run.parentRun !== undefined && this.takesOf(run.parentRun, sentTo);
  }

  #above({ parentStep }: RunRow): StepRow | undefined {
    return this.#steps.get(parentStep ?? "");
  }
}

export function definitionOf(workflows: Workflows, name: string): Definition {
  const definition = workflows[name]?.definition;
  if (definition === undefined) throw new Error(`There is no workflow "${name}"`);
  return definition;
}

/** What is written in a definition of a stage. */
export function handlerOf({ nodes, options }: Definition, stage: string): Node {
  return stage === "onEnd" ? options.onEnd : found(nodes, stage).node;
}

/** The nodes that a run goes through, and what the stages of those begin with. */
export function sequenceOf(workflows: Workflows, { workflow, within }: RunRow) {
  const { nodes } = definitionOf(workflows, workflow);
  return within === undefined
    ? { nodes, prefix: "" }
    : { nodes: found(nodes, within).inside ?? {}, prefix: `${within}.` };
}

/** What a path leads to: a node or a part of it, or the nodes inside one. */
function found(nodes: Nodes, path: string): { node: Node; inside: Nodes | undefined } {
  let node: Node;
  let inside: Nodes | undefined = nodes;
  const parts = path.split(".");
  for (const [index, part] of parts.entries()) {
    const keyed: Readonly<Record<string, Nodes>> | undefined = node?.cases ?? node?.branches;
    if (inside !== undefined) {
      node = inside[part];
      inside = node?.body;
    } else if (keyed !== undefined) inside = caseOf(keyed, part, parts[index + 1]);
    else if (part !== "output") node = node?.[part];
  }
  return { node, inside };
}

/** The nodes of a case by its storage name: that of a key that is no identifier is made of it. */
function caseOf(
  cases: Readonly<Record<string, Nodes>>,
  stored: string,
  next = "",
): Nodes | undefined {
  const own = Object.hasOwn(cases, stored) ? cases[stored] : undefined;
  const isMadeOf = (key: string) => stored.startsWith(identifierOf(key));
  const made = Object.keys(cases).filter((key) => !isIdentifier(key) && isMadeOf(key));
  // Keys that are written alike are numbered; names of nodes tell them apart.
  return own ?? cases[made.find((key) => Object.hasOwn(cases[key] ?? {}, next)) ?? ""];
}

export function mostAttempts(
  workflows: Workflows,
  workflow: string | undefined,
  stage: string,
): number {
  if (workflow === undefined) return Infinity;
  const definition = definitionOf(workflows, workflow);
  const retry = handlerOf(definition, stage)?.retry ?? definition.options.retry ?? false;
  return typeof retry === "object" ? retry.maxAttempts : retry === true ? 5 : 1;
}
