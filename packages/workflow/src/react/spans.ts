import type { Step } from "./states.js";
import { durationText, type Span } from "./time.js";

/** What these do is done by others: nodes inside, children, whoever sends the event. */
const WAITS: ReadonlySet<string> = new Set([
  "children",
  "sleep",
  "event",
  "branch",
  "loop",
  "entry",
]);

/** What a step did with its time: a span for each attempt, and for each wait between two. */
export function spansOf(
  { state, kind = "action", startedAt, endedAt, attempt = 1, ...of }: Step,
  now: number,
): Span[] {
  if (startedAt === undefined) return [];
  const spans: Span[] = [];
  const add = (span: Omit<Span, "title">, what: string) =>
    spans.push({ ...span, title: `${what} ${durationText(span.to - span.from)}` });
  let from = startedAt;
  for (const { attempt: failed, failedAt, nextAt } of of.retries ?? []) {
    add({ from, to: failedAt, kind: "running", hasFailed: true }, `attempt ${failed} failed after`);
    // A deploy or a pause may have brought the next attempt forward.
    const to = Math.max(failedAt, Math.min(nextAt, endedAt ?? now));
    add({ from: failedAt, to, kind: "waiting" }, "waited");
    from = to;
  }
  const to = Math.max(from, endedAt ?? now);
  const isTried = from > startedAt;
  if (state === "pending" || WAITS.has(kind)) add({ from, to, kind: "waiting" }, "waited");
  else if (state !== "waiting") {
    const hasFailed = state === "failed" || state === "timedOut";
    const which = isTried ? `attempt ${attempt}` : "one attempt";
    add(
      { from, to, kind: "running", hasFailed },
      hasFailed ? `${which} failed after` : `${which} ran for`,
    );
  }
  return spans;
}
