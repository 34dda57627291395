import type { ReactNode } from "react";
import type { ListedRun } from "../client/listing.js";
import type { ChildCounts } from "../client/status.js";
import { isHolding } from "../component/core/kinds.js";
import { namesInPath } from "../rules.js";
import {
  badgeOfLive,
  badgeOfRun,
  badgeOfStep,
  countsText,
  withStalled,
  type Badge,
  type Step,
} from "./states.js";
import { STYLES } from "./styles.js";
import { durationText, spansOf, timeScale, useNow, type Span, type TimeScale } from "./time.js";
import type { LiveRun } from "./use-run.js";

/** A child in the timeline, as `workflow.list` returns it; with `places`, also what it does. */
export type ChildRun = Pick<ListedRun, "runId" | "workflow" | "state" | "startedAt"> &
  Partial<
    Pick<ListedRun, "createdAt" | "endedAt" | "index" | "childKey" | "within" | "at" | "paused">
  >;

export interface RunTimelineProps {
  /** What `useRun` returns. */
  run: LiveRun;
  /** The pages of `workflow.steps`, together. */
  steps: readonly Step[];
  /**
   * Where the run is, as `workflow.list` tells it with `places`. Without it, a run that waits for
   * its children does not say what they do.
   */
  at?: ListedRun["at"] | null;
  /** The children of a step, to be listed below it. Default: they are only counted. */
  childRunsOf?: (step: Step) => readonly ChildRun[] | undefined;
  /**
   * Is called when the list of a step's children is opened or closed, so that you read them only
   * then.
   */
  onToggle?: (step: Step, isOpen: boolean) => void;
  /** The address of a child. Default: it is not a link. */
  hrefOf?: (child: ChildRun) => string;
  /** The name of the timeline for screen readers. Default: it names the workflow. */
  label?: string;
  /** Is shown below the state and above the steps, such as why the run failed. */
  children?: ReactNode;
}

/**
 * A run as a waterfall: a row for each step, with a bar for each attempt and for each wait. Long
 * times without work are shortened. It shows whatever state the run is in, and follows it.
 */
export function RunTimeline({
  run,
  steps,
  at,
  childRunsOf,
  onToggle,
  hrefOf,
  label,
  children,
}: RunTimelineProps): ReactNode {
  const known = "runId" in run ? run : undefined;
  const all = withStalled(steps, known?.active ?? []);
  const endedAt = known && "endedAt" in known ? known.endedAt : undefined;
  const clock = useNow(known !== undefined && endedAt === undefined);
  const now = endedAt ?? clock;
  const rows = all.map((step) => {
    const below = childRunsOf?.(step)?.map((child) => ({
      ...childStep(child, step.node),
      href: hrefOf?.(child),
    }));
    return { step, spans: spansOf(step, now), below };
  });
  const ofChildren = rows.flatMap(({ below = [] }) =>
    below.flatMap((child) => spansOf(child, now)),
  );
  const scale = timeScale([...rows.flatMap(({ spans }) => spans), ...ofChildren]);
  const { sign, label: state, tone } = badgeOfLive(run, at);
  // A part of it may be paused alone. What holds others is not paused itself.
  const open = known?.active.filter((each) => !isHolding(each)) ?? [];
  const isPaused = open.length > 0 && open.every(({ paused }) => paused);
  const items = known?.collecting?.items;
  const collected = items === undefined ? "" : `${items} ${items === 1 ? "start" : "starts"} · `;
  const title = known && `${known.workflow} · ${collected}${timeOf(known, now)}`;
  return (
    <section
      className="stepwise"
      aria-label={label ?? (known ? `Timeline of ${known.workflow}` : "Timeline")}
      aria-busy={run.state === "loading"}
    >
      <style>{STYLES}</style>
      <p className="stepwise-state" data-tone={tone} role="status">
        <span aria-hidden>{sign}</span> {state}
        {isPaused && ", paused"}
      </p>
      <p className="stepwise-took">{title}</p>
      {children}
      <ol>
        {scale.ticks.length + scale.gaps.length > 0 && <Axis scale={scale} />}
        {rows.map(({ step, spans, below }) => (
          <li key={[step.node, ...(step.iterations ?? [])].join(" ")}>
            <Row step={step} steps={all} spans={spans} scale={scale} />
            {below === undefined && step.children && <Counts counts={step.children} />}
            {below !== undefined && (step.children !== undefined || below.length > 0) && (
              <details
                open={(step.children?.total ?? below.length) <= MOST_OPEN}
                onToggle={({ currentTarget }) => onToggle?.(step, currentTarget.open)}
              >
                <summary>
                  {step.children ? (
                    <Counts counts={step.children} />
                  ) : (
                    `${below.length} ${below.length === 1 ? "child" : "children"}`
                  )}
                </summary>
                <ol>
                  {below.map((child) => (
                    <li key={child.runId}>
                      <Row step={child} spans={spansOf(child, now)} scale={scale} />
                    </li>
                  ))}
                </ol>
              </details>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** How many children are listed without being asked for. */
const MOST_OPEN = 8;

/** Returns how long a run has gone on, or when one begins that was started for later. */
function timeOf(
  { state, startedAt, active, collecting }: Exclude<LiveRun, Unknown>,
  now: number,
): string {
  const [{ dueAt } = {}] = active;
  if (state !== "pending") return durationText(Math.max(0, now - startedAt));
  if (dueAt === undefined) return "";
  const latest = collecting === undefined ? "" : " at the latest";
  return `begins in ${durationText(Math.max(0, dueAt - now))}${latest}`;
}
type Unknown = { state: "loading" | "missing" };

/** A child as a row of its own, below its parent. Its bar covers whatever it did. */
function childStep(run: ChildRun, node: string) {
  const { state, index = 0, childKey, within, at: _at, paused: _paused, ...child } = run;
  const which = childKey ?? `#${index}`;
  // Its key is one name, whatever is in it.
  const path = [...namesInPath(node), within === undefined ? `${child.workflow} ${which}` : which];
  const shown = state === "compensating" ? ("running" as const) : state;
  const { startedAt: beganAt, createdAt: startedAt = beganAt } = child;
  return {
    ...child,
    node,
    path,
    kind: "children" as const,
    state: shown,
    startedAt,
    beganAt,
    errors: [],
    badge: badgeOfRun(run),
  };
}

interface RowProps {
  step: Step & { href?: string | undefined; path?: readonly string[]; badge?: Badge };
  /** All steps of the run. Default: it is a child, below its parent. */
  steps?: readonly Step[];
  spans: readonly Span[];
  scale: TimeScale;
}

function Row({ step, steps, spans, scale }: RowProps) {
  const { node, iterations = [], errors, events = [], state, href } = step;
  const { tone, sign, label } = step.badge ?? badgeOfStep(step, steps ?? []);
  const { path = namesInPath(node) } = step;
  const name = [path.at(-1), ...iterations.map((each) => `#${each}`)].join(" ");
  // A compensation comes long after its step, and what is in a loop after other iterations.
  const around = steps === undefined ? [] : path.slice(0, -1);
  const indent = path.length - 1 - around.length;
  const isAwaited = state === "waiting" && events.length > 0;
  const note = isAwaited ? `for ${events.join(" or ")}` : came(step);
  return (
    <>
      <div className="stepwise-row" data-tone={tone}>
        <span className="stepwise-name" style={{ paddingInlineStart: `${indent}em` }}>
          {around.length > 0 && <small>{around.map((each) => `${each} › `).join("")}</small>}
          {href === undefined ? name : <a href={href}>{name}</a>}
        </span>
        <span className="stepwise-result">
          <span aria-hidden>{sign}</span> {label} {note}{" "}
          {spans.length > 0 && <small>{timesOf(spans)}</small>}
        </span>
        <Bars spans={spans} scale={scale} />
      </div>
      {errors.length > 0 && (
        <details className="stepwise-errors">
          <summary>{errors.length === 1 ? "1 error" : `${errors.length} errors`}</summary>
          <ul>
            {errors.map(({ attempt, message }, index) => (
              <li key={index}>
                Attempt {attempt}: {message}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** The case that was chosen, or which of several events has come. */
const came = ({ chosen, event, events = [] }: Step): string | undefined =>
  event !== undefined && events.length > 1 ? `by ${event}` : chosen;

/** Returns how long a step worked, and how long it waited besides. */
function timesOf(spans: readonly Span[]): string {
  const sum = (of: (span: Span) => boolean) =>
    spans.filter(of).reduce((ms, { from, to }) => ms + to - from, 0);
  const waited = sum(({ kind }) => kind === "waiting");
  const worked = sum(({ kind }) => kind !== "waiting");
  if (worked > 0 && waited > 0) return `${durationText(worked)}, waited ${durationText(waited)}`;
  const hasOnlyQueued = spans.every(({ isQueued }) => isQueued === true);
  return `${hasOnlyQueued ? "waited " : ""}${durationText(worked + waited)}`;
}

const percent = (share: number): string => `${Number((100 * share).toFixed(2))}%`;

function Bars({ spans, scale }: Pick<RowProps, "spans" | "scale">) {
  const text = spans.map(({ title }) => title).join(", ");
  return (
    <span className="stepwise-bars" role="img" aria-label={text || "no time"}>
      {spans.map(({ from, to, kind, hasFailed, title }, index) => {
        const start = scale.place(from);
        const size = {
          insetInlineStart: percent(start),
          inlineSize: percent(scale.place(to) - start),
        };
        return (
          <span
            key={index}
            data-kind={kind}
            data-failed={hasFailed || undefined}
            title={title}
            style={size}
          />
        );
      })}
    </span>
  );
}

function Counts({ counts }: { counts: ChildCounts }) {
  const { total, done, failed, canceled } = counts;
  const parts = { good: done, bad: failed, stopped: canceled };
  return (
    <span className="stepwise-counts">
      <span
        className="stepwise-share"
        role="progressbar"
        aria-label="children that have ended"
        aria-valuemax={total}
        aria-valuenow={done + failed + canceled}
      >
        {Object.entries(parts).map(([tone, count]) => (
          <span
            key={tone}
            data-tone={tone}
            style={{ inlineSize: percent(count / Math.max(1, total)) }}
          />
        ))}
      </span>
      {countsText(counts)}
    </span>
  );
}

/** Above the bars: how long after the beginning is where, and which time is drawn shorter. */
function Axis({ scale }: { scale: TimeScale }) {
  return (
    <li className="stepwise-axis stepwise-row" aria-hidden>
      <span className="stepwise-bars">
        {scale.ticks.map(({ at, ms }) => (
          <span key={ms} data-tick style={{ insetInlineStart: percent(at) }}>
            {ms === 0 ? "0" : durationText(ms)}
          </span>
        ))}
        {scale.gaps.map(({ at, ms }) => (
          // About in the middle of its gap, and at either end within the row.
          <span
            key={at}
            style={{ insetInlineStart: percent(at), transform: `translateX(-${percent(at)})` }}
          >
            … {durationText(ms)} …
          </span>
        ))}
      </span>
    </li>
  );
}
