import type { ActiveNode, ChildCounts } from "../client/status.js";
import { namesInPath } from "../rules.js";
import {
  type Badge,
  badgeOf,
  badgeOfStep,
  countsText,
  GOES_ON,
  type Step,
  type Tone,
  UNDO,
  withStalled,
} from "./states.js";
import type { LiveRun } from "./use-run.js";

/** The steps of each run that a parent has started in this workflow: its branches or its items. */
export type StepsInside = (step: Step) => readonly (readonly Step[])[] | undefined;

/** What several runs have done at a node. */
interface Seen {
  readonly badges: Badge[];
  /** Children that nothing more is known of, by the name of their parent. */
  readonly counts: Map<string, ChildCounts>;
}

const ELSEWHERE: Badge = { tone: "idle", sign: "", label: "not in this run" };
const PARTS = [".output", ".finalize", UNDO];
/** What is to be looked at first comes first. */
const TONES: readonly Tone[] = ["bad", "active", "waiting", "stopped", "good", "idle"];

/**
 * Returns how each node is shown: as what goes on at it, else as what was last done at it. What is
 * in branches or items is shown as their runs say, or by how many of them have ended.
 */
export function badgesOfNodes(
  names: readonly string[],
  run: LiveRun | undefined,
  steps: readonly Step[],
  inside: StepsInside = () => undefined,
): Map<string, Badge> {
  const known = run !== undefined && "active" in run ? run : undefined;
  const { active = [], within } = known ?? {};
  const current = active.map(({ paused, ...each }: ActiveNode) => ({ ...each, isPaused: paused }));
  const seen = new Map<string, Seen>();
  look(new Set(names), withStalled([...steps, ...current], active), inside, seen);
  const badges = new Map([...seen].map(([node, each]) => [node, together(each)]));
  // A branch has storage names, which need not be those of the graph.
  const isOwn = (name: string) => within !== undefined && name.startsWith(`${within}.`);
  if (names.some(isOwn))
    for (const name of names) if (!isOwn(name) && !badges.has(name)) badges.set(name, ELSEWHERE);
  return badges;
}

/** Adds what one run has done, and what those inside it have. @param all its steps */
function look(
  nodes: ReadonlySet<string>,
  all: readonly Step[],
  inside: StepsInside,
  seen: Map<string, Seen>,
): void {
  const at = (node: string): Seen => {
    const found = seen.get(node) ?? { badges: [], counts: new Map<string, ChildCounts>() };
    seen.set(node, found);
    return found;
  };
  for (const [node, step] of lastSteps(nodes, all)) {
    at(node).badges.push(badgeOfStep(step, all));
    const { children } = step;
    if (children === undefined || children.total === 0) continue;
    const runs = inside(step);
    for (const run of runs ?? []) look(nodes, run, inside, seen);
    if (runs !== undefined) continue;
    for (const name of nodes) {
      if (!name.startsWith(`${node}.`)) continue;
      const { counts } = at(name);
      counts.set(node, sumOf(children, counts.get(node)));
    }
  }
}

/** The step to show of each node: one that goes on, else the last. */
function lastSteps(nodes: ReadonlySet<string>, all: readonly Step[]): Map<string, Step> {
  const shown = new Map<string, Step>();
  for (const step of all) {
    const node = nodeOf(step.node, nodes);
    if (node === undefined) continue;
    const before = shown.get(node);
    if (before !== undefined && GOES_ON.has(before.state) && !GOES_ON.has(step.state)) continue;
    // The status of a run does not know the ids of its steps.
    const isSame = before?.node === step.node && `${before.iterations}` === `${step.iterations}`;
    shown.set(node, isSame && before.id !== undefined ? { id: before.id, ...step } : step);
  }
  return shown;
}

/** The node that a stage belongs to: `charge` of `charge.compensate`. */
function nodeOf(stage: string, nodes: ReadonlySet<string>): string | undefined {
  if (nodes.has(stage)) return stage;
  const part = PARTS.find((each) => stage.endsWith(each));
  const node = part === undefined ? undefined : stage.slice(0, -part.length);
  return node !== undefined && nodes.has(node) ? node : undefined;
}

/** One badge for what several runs have done: of many, it counts those that are alike. */
function together({ badges, counts }: Seen): Badge {
  const alike = new Map<string, { badge: Badge; count: number }>();
  for (const badge of badges) {
    const { short = badge.label } = badge;
    alike.set(short, { badge, count: (alike.get(short)?.count ?? 0) + 1 });
  }
  const rank = ({ badge: { tone } }: { badge: Badge }) => TONES.indexOf(tone);
  const sorted = [...alike].sort(([, one], [, other]) => rank(one) - rank(other));
  const around = [...counts].map(
    ([node, each]) => `in ${namesInPath(node).join(" › ")}: ${countsText(each)}`,
  );
  const [[, { badge: first }] = ["", { badge: undefined }]] = sorted;
  if (badges.length === 1 && around.length === 0) return badges[0]!;
  // How many children have ended does not tell what they did at this node.
  const { tone, sign } = first ?? { ...badgeOf(undefined), sign: "…" };
  const counted = sorted.map(([short, { count }]) => `${count} ${short}`);
  return { tone, sign, label: [...counted, ...around].join(", ") };
}

/** Adds up the children of a node in several runs. */
function sumOf(one: ChildCounts, other: ChildCounts | undefined): ChildCounts {
  if (other === undefined) return one;
  const isEstimate = one.isEstimate === true || other.isEstimate === true;
  return {
    total: one.total + other.total,
    done: one.done + other.done,
    failed: one.failed + other.failed,
    canceled: one.canceled + other.canceled,
    running: one.running + other.running,
    ...(isEstimate && { isEstimate }),
  };
}
