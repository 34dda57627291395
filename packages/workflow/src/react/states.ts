import type { ListedRun } from "../client/listing.js";
import type { ActiveNode, ChildCounts, Doing } from "../client/status.js";
import { isAction, isHolding, isParent, isTimed, takesEvents } from "../component/core/kinds.js";
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
  /** Its label without details, to count those that are alike. Default: the label. */
  readonly short?: string;
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
const QUEUED = detailed(BADGES.queued, "queued, waiting for a slot");
/** What children do is known only if somebody has looked. */
const FOR_CHILDREN: Badge = { ...BADGES.waiting, label: "waiting for its children" };
/** A wait whose event did not come: the run goes on without it. */
const TIMED_OUT: Badge = { tone: "waiting", sign: "◷", label: "timed out" };
export const UNDO = ".compensate";
/** `status` counts no more that come before a step. */
const MOST_COUNTED = 200;

/** Returns how a state is shown; without one, as a node that no run has reached. */
export function badgeOf(state: State | undefined): Badge {
  return state === undefined ? IDLE : BADGES[state];
}

function detailed({ label: short, ...badge }: Badge, label: string): Badge {
  return { ...badge, label, short };
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

/** Returns how the run that a page is about is shown. @param at where it is, as `list` tells it */
export function badgeOfLive(run: LiveRun, at?: ListedRun["at"] | null): Badge {
  if (!("active" in run)) return badgeOf(run.state);
  // A node that only holds others does nothing itself.
  const own = run.active.find(({ doing }) => doing)?.doing;
  const waits = own === "waitingForTurn" || own === "collecting";
  if (run.state !== "running" && !waits) return badgeOf(run.state);
  const doing = at?.doing ?? own;
  if (doing !== undefined) return badgeOf(doing);
  return run.active.some(isParent) ? FOR_CHILDREN : badgeOf(run.state);
}

/** Writes how many children have ended, and how. */
export function countsText(counts: ChildCounts): string {
  const { total, done, failed, canceled, running, isEstimate } = counts;
  const text = [
    `${done} of ${total} done`,
    failed > 0 && `${failed} failed`,
    canceled > 0 && `${canceled} canceled`,
    running > 0 && `${running} in progress`,
  ];
  return `${isEstimate === true ? "about " : ""}${text.filter(Boolean).join(", ")}`;
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
    return detailed(BADGES.timedOut, `waited too long ${late}`);
  if (state === "pending" && waitsFor !== undefined)
    return detailed(BADGES.queued, `queued, waiting for ${limitShown(waitsFor)}`);
  if (state === "pending" && queuedAt !== undefined) return QUEUED;
  const inside = isHolding({ kind }) && GOES_ON.has(state) ? goingOnIn(step, steps) : undefined;
  if (inside !== undefined) return badgeOfStep(inside, steps);
  // An event's row says which one it waits for.
  if (state !== "waiting" || takesEvents({ kind })) return badgeOf(state);
  if (kind === "collect") return detailed(BADGES.collecting, latestShown(step));
  if (kind === "turn") return BADGES.waitingForTurn;
  if (step.holds !== undefined && step.dueAt !== undefined)
    return detailed(BADGES.retrying, `held until ${timeShown(step.dueAt)}, as ${step.holds} is`);
  return isAction({ kind })
    ? BADGES.retrying
    : isTimed({ kind })
      ? BADGES.sleeping
      : badgeOf(state);
}

export const GOES_ON: ReadonlySet<string> = new Set(["pending", "running", "waiting"]);

/** The step inside a branch or a loop that goes on now: what it does is what they do. */
const goingOnIn = ({ node, iterations = [] }: Step, steps: readonly Step[]): Step | undefined =>
  steps.find(
    (other) =>
      GOES_ON.has(other.state) &&
      other.node.startsWith(`${node}.`) &&
      iterations.every((each, depth) => other.iterations?.[depth] === each),
  );
