import type { ListedRun } from "../client/listing.js";
import type { ActiveNode, Doing } from "../client/status.js";
import { isAction, isHolding, isTimed, takesEvents } from "../component/core/kinds.js";
import type { TimelineEntry } from "../client/timeline.js";
import type { LiveRun } from "./use-run.js";

/** What the components show of an entry of the timeline. An app may leave out the other fields. */
export type Step = Pick<TimelineEntry, "node" | "state" | "errors"> &
  Partial<TimelineEntry> &
  Pick<ActiveNode, "stalled">;

/** The state of a run, a node or a child; or what it does. */
export type State = LiveRun["state"] | Step["state"] | Doing;

/** The colours, each with a sign: a state is never told by its colour alone. */
export type Tone = "idle" | "active" | "waiting" | "good" | "bad" | "stopped";

export interface Badge {
  readonly tone: Tone;
  readonly sign: string;
  readonly label: string;
}

const BADGES: Readonly<Record<State, Badge>> = {
  loading: { tone: "idle", sign: "…", label: "loading" },
  missing: { tone: "idle", sign: "?", label: "not found" },
  pending: { tone: "waiting", sign: "◷", label: "waiting to start" },
  running: { tone: "active", sign: "▶", label: "running" },
  waiting: { tone: "waiting", sign: "◷", label: "waiting" },
  stalled: { tone: "bad", sign: "!", label: "stalled" },
  queued: { tone: "waiting", sign: "◷", label: "queued" },
  retrying: { tone: "waiting", sign: "↻", label: "waiting for a retry" },
  waitingForEvent: { tone: "waiting", sign: "◷", label: "waiting for an event" },
  collecting: { tone: "waiting", sign: "◷", label: "collecting starts" },
  waitingForTurn: { tone: "waiting", sign: "◷", label: "waiting for its turn" },
  sleeping: { tone: "waiting", sign: "◷", label: "sleeping" },
  completed: { tone: "good", sign: "✓", label: "completed" },
  compensating: { tone: "bad", sign: "↩", label: "being undone" },
  failed: { tone: "bad", sign: "✕", label: "failed" },
  timedOut: { tone: "bad", sign: "✕", label: "timed out" },
  canceled: { tone: "stopped", sign: "■", label: "canceled" },
  skipped: { tone: "idle", sign: "–", label: "skipped" },
};

const IDLE: Badge = { tone: "idle", sign: "", label: "not reached" };
const UNDONE: Badge = { tone: "stopped", sign: "↩", label: "undone" };
const NOT_UNDONE: Badge = { tone: "bad", sign: "✕", label: "not undone" };
const QUEUED: Badge = { ...BADGES.queued, label: "queued, waiting for a slot" };
/** A wait whose event did not come: the run goes on without it. */
const TIMED_OUT: Badge = { tone: "waiting", sign: "◷", label: "timed out" };
const UNDO = ".compensate";
/** `status` counts no more that come before a step. */
const MOST_COUNTED = 200;

/** Returns how a state is shown; without one, as a node that no run has reached. */
export function badgeOf(state: State | undefined): Badge {
  return state === undefined ? IDLE : BADGES[state];
}

/** Returns how a run is shown beside others: by what it does, if that is known. */
export function badgeOfRun({
  state,
  at,
  paused,
}: Pick<ListedRun, "state"> & Partial<Pick<ListedRun, "at" | "paused">>): Badge {
  const badge = badgeOf(at === undefined || state === "compensating" ? state : at.doing);
  return paused === true ? { ...badge, label: `${badge.label}, paused` } : badge;
}

/** Writes a limit such as `tenant acme (3 of 3 running), 41st`, or `…, 2nd of acme`. */
function limitShown({
  limit,
  key,
  running,
  atMost,
  place,
  fairness,
  nextAt,
  paused,
}: NonNullable<Step["waitsFor"]>): string {
  const name = key === undefined ? limit : `${limit} ${key}`;
  const first = place > MOST_COUNTED ? `after more than ${MOST_COUNTED}` : ordinal(place);
  const isRate = nextAt !== undefined;
  const of = `${running} of ${atMost}`;
  const { by, until } = paused ?? {};
  const byWhom = by === undefined ? "" : ` by ${by}`;
  const ends = until === undefined ? "" : ` until ${timeShown(until)}`;
  const isPaused = paused !== undefined || atMost === 0;
  const stopped = isPaused ? `paused${byWhom}${ends}` : undefined;
  const why = stopped ?? (isRate ? `rate used up, ${of}` : `${of} running`);
  const among = fairness === undefined ? "" : ` of ${fairness}`;
  return `${name} (${why}), ${first}${among}`;
}

const timeShown = (at: number): string => new Date(at).toLocaleString();

const latestShown = ({ dueAt }: Step): string =>
  dueAt === undefined
    ? BADGES.collecting.label
    : `collecting starts, begins at the latest at ${timeShown(dueAt)}`;

const ENDINGS: Readonly<Record<string, string>> = { one: "st", two: "nd", few: "rd" };
const rules = new Intl.PluralRules("en", { type: "ordinal" });

const ordinal = (place: number): string => `${place}${ENDINGS[rules.select(place)] ?? "th"}`;

/** Returns the steps with what only `status` knows: which have lost their scheduled functions. */
export function withStalled(steps: readonly Step[], active: readonly ActiveNode[]): Step[] {
  const nameOf = ({ node, iterations = [] }: Step | ActiveNode) => [node, ...iterations].join(" ");
  const lost = new Set(active.filter(({ stalled }) => stalled === true).map(nameOf));
  return steps.map((step) =>
    GOES_ON.has(step.state) && lost.has(nameOf(step)) ? { ...step, stalled: true } : step,
  );
}

/** Returns how a step is shown: undone and paused ones differ. @param steps those of its run */
export function badgeOfStep(step: Step, steps: readonly Step[]): Badge {
  const { node, kind = "children", iterations = [], state } = step;
  const { isUndone, isPaused, isTimedOut, queuedAt, waitsFor } = step;
  const hasFailedToUndo = (other: Step) =>
    other.state === "failed" &&
    other.node.endsWith(UNDO) &&
    `${other.node}.`.startsWith(`${node}.`) &&
    iterations.every((each, depth) => other.iterations?.[depth] === each);
  // A step counts as undone once its compensation has ended, whether or not that failed.
  if (isUndone === true || (node.endsWith(UNDO) && ["completed", "failed"].includes(state)))
    return steps.some(hasFailedToUndo) ? NOT_UNDONE : UNDONE;
  if (step.stalled === true) return BADGES.stalled;
  if (isPaused === true) return { tone: "stopped", sign: "‖", label: "paused" };
  if (isTimedOut === true) return TIMED_OUT;
  const late = step.errors.at(-1)?.waitedFor;
  if (state === "timedOut" && late !== undefined)
    return { ...BADGES.timedOut, label: `waited too long ${late}` };
  if (state === "pending" && waitsFor !== undefined)
    return { ...QUEUED, label: `queued, waiting for ${limitShown(waitsFor)}` };
  if (state === "pending" && queuedAt !== undefined) return QUEUED;
  const inside = isHolding({ kind }) && GOES_ON.has(state) ? goingOnIn(step, steps) : undefined;
  if (inside !== undefined) return badgeOfStep(inside, steps);
  // An event's row says which one it waits for.
  if (state !== "waiting" || takesEvents({ kind })) return badgeOf(state);
  if (kind === "collect") return { ...BADGES.collecting, label: latestShown(step) };
  if (kind === "turn") return BADGES.waitingForTurn;
  if (step.holds !== undefined && step.dueAt !== undefined)
    return {
      ...BADGES.retrying,
      label: `held until ${timeShown(step.dueAt)}, as ${step.holds} is`,
    };
  return isAction({ kind })
    ? BADGES.retrying
    : isTimed({ kind })
      ? BADGES.sleeping
      : badgeOf(state);
}

const GOES_ON: ReadonlySet<string> = new Set(["pending", "running", "waiting"]);

/** The step inside a branch or a loop that goes on now: what it does is what they do. */
const goingOnIn = ({ node, iterations = [] }: Step, steps: readonly Step[]): Step | undefined =>
  steps.find(
    (other) =>
      GOES_ON.has(other.state) &&
      other.node.startsWith(`${node}.`) &&
      iterations.every((each, depth) => other.iterations?.[depth] === each),
  );

const PARTS = [".output", ".finalize", UNDO];

/** The node that a stage belongs to: `charge` of `charge.compensate`. */
function nodeOf(stage: string, nodes: ReadonlySet<string>): string | undefined {
  if (nodes.has(stage)) return stage;
  const part = PARTS.find((each) => stage.endsWith(each));
  const node = part === undefined ? undefined : stage.slice(0, -part.length);
  return node !== undefined && nodes.has(node) ? node : undefined;
}

/** Returns how each node is shown: as what goes on at it, else as what was last done at it. */
export function badgesOfNodes(
  names: readonly string[],
  steps: readonly Step[],
  active: readonly ActiveNode[],
): Map<string, Badge> {
  const nodes = new Set(names);
  const shown = new Map<string, Step>();
  const current = active.map(({ paused, ...each }) => ({ ...each, isPaused: paused }));
  const all = withStalled([...steps, ...current], active);
  for (const step of all) {
    const node = nodeOf(step.node, nodes);
    if (node === undefined) continue;
    const before = shown.get(node);
    if (before !== undefined && GOES_ON.has(before.state) && !GOES_ON.has(step.state)) continue;
    shown.set(node, step);
  }
  return new Map([...shown].map(([node, step]) => [node, badgeOfStep(step, all)]));
}
