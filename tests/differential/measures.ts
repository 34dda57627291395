import type { Node } from "./definition.js";
import { definitionOf, handlerOf, keyOf, mostAttempts } from "./records.js";
import type { Invariant, Rest, RunRow, StepRow } from "./rest.js";

/*
 * What holds of numbers, when all runs have come to rest: of attempts, of failures that are
 * tolerated, and of times. The rows say what happened, and the definition what was to happen.
 */

/** What a transaction may take until it is recorded, in ms: others wait for its end. */
const LATEST_MS = 60_000;

export const MEASURES: readonly Invariant[] = [
  {
    says: "[S108] an action that was completed had begun for the attempt that was",
    broken: ({ steps, log }) => {
      const begun = new Set(
        log.flatMap(({ what, key, attempt }) => (what === "begins" ? [`${key} ${attempt}`] : [])),
      );
      return steps
        .filter(({ kind, state, errors = [], attempt }) => {
          const isMended = errors.some((error) => error.attempt === attempt);
          return kind === "action" && state === "completed" && !isMended;
        })
        .filter((step) => !begun.has(`${keyOf(step)} ${step.attempt}`))
        .map((step) => `${keyOf(step)} is completed by attempt ${step.attempt}, which never began`);
    },
  },
  {
    says: "[S31] an action that threw was tried as often as it might be",
    broken: ({ steps, runs, workflows }) => {
      const names = namesOf(runs);
      return steps.flatMap((step) => {
        const { kind, state, run, stage, attempt, errors = [] } = step;
        const error = errors.at(-1);
        // The error of a `recover` has a cause. Without its entry an attempt could not begin.
        const isThrown =
          error?.kind === "thrown" &&
          error.cause === undefined &&
          !error.message.startsWith("The run could not go on at ");
        const isTried = kind === "action" && state === "failed" && isThrown;
        const retry = isTried ? retryOf(workflows, names.get(run), stage) : undefined;
        // What is asked may say no, and fail itself.
        if (!isTried || (typeof retry === "object" && retry.when !== undefined)) return [];
        const { uncounted = 0 } = step;
        const most = mostAttempts(workflows, names.get(run), stage) + uncounted;
        return attempt === most
          ? []
          : [`${keyOf(step)} has failed at attempt ${attempt} of ${most}`];
      });
    },
  },
  {
    says: "[S49] [S50] [S51] a parent that went on let no more of its children fail than it tolerates",
    broken: ({ steps, runs }) =>
      steps.flatMap((step) => {
        const { total = 0, tolerate, state, errors } = step;
        if (step.kind !== "children" || state !== "completed" || errors !== undefined) return [];
        const most = mostTolerated({ tolerate, total });
        const bad = runs.filter(
          (run) => run.parentStep === step._id && run.state !== "completed",
        ).length;
        return bad <= most ? [] : [`${keyOf(step)} has let ${bad} of ${total} fail, not ${most}`];
      }),
  },
  {
    says: "[S38] [S40] [S41] what has timed out had its time, counted from its begin",
    broken: (rest) => timed(rest, (tookMs, mostMs, isOver) => isOver && tookMs < mostMs),
  },
  {
    says: "[S40] [S41] what has a time and was completed took no longer",
    broken: (rest) =>
      rest.hasFaults
        ? []
        : timed(rest, (tookMs, mostMs, isOver) => !isOver && tookMs > mostMs + LATEST_MS),
  },
  {
    says: "[S66] [S73] what waited until a time went on no sooner",
    broken: ({ steps }) =>
      steps
        .filter(({ kind, state, dueAt, timedOut }) => {
          const isOfTime = kind === "sleep" || (kind === "event" && timedOut === true);
          return isOfTime && state === "completed" && dueAt !== undefined;
        })
        .filter(({ dueAt = 0, endedAt = 0 }) => endedAt < Math.floor(dueAt))
        .map((step) => `${keyOf(step)} was to wait until ${step.dueAt}, and ended ${step.endedAt}`),
  },
];

/** The number of children that may fail. */
export function mostTolerated({
  tolerate,
  total = 0,
}: Pick<StepRow, "tolerate" | "total">): number {
  if (tolerate === "all") return total;
  const { failures = 0, percentage }: { failures?: number; percentage?: number } = tolerate ?? {};
  return percentage === undefined ? failures : Math.floor((total * percentage) / 100);
}

const namesOf = (runs: readonly RunRow[]) =>
  new Map<string, string>(runs.map(({ _id, workflow }) => [_id, workflow]));

function retryOf(workflows: Rest["workflows"], workflow: string | undefined, stage: string): Node {
  if (workflow === undefined) return undefined;
  const definition = definitionOf(workflows, workflow);
  return handlerOf(definition, stage)?.retry ?? definition.options.retry;
}

/** Runs and nodes with a time of their own that are wrong. */
function timed(
  { runs, steps, workflows }: Rest,
  isWrong: (tookMs: number, mostMs: number, isOver: boolean) => boolean,
): string[] {
  const byId = new Map<string, RunRow>(runs.map((run) => [run._id, run]));
  const look = (what: string, tookMs: number, mostMs: unknown, isOver: boolean) =>
    typeof mostMs === "number" && isWrong(tookMs, mostMs, isOver)
      ? [`${what} took ${tookMs} ms of ${mostMs}`]
      : [];
  return [
    ...runs.flatMap(({ _id, state, timeoutMs, startedAt, endedAt = 0 }) =>
      // What fails may be undone after its time, for as long as that takes.
      state === "timedOut" || state === "completed"
        ? look(_id, endedAt - startedAt, timeoutMs, state === "timedOut")
        : [],
    ),
    ...steps.flatMap((step) => {
      const { kind, state, stage, errors, endedAt = 0, beganAt = 0 } = step;
      const run = byId.get(step.run);
      if (run === undefined) return [];
      const timeout = handlerOf(definitionOf(workflows, run.workflow), stage)?.timeout;
      // The time of a parent goes on while its handler waits for a limit. Clocks have whole ms.
      const since = stage.endsWith(".output") ? Math.floor(step._creationTime) : beganAt;
      const error = errors?.at(-1);
      // [S185] One that has waited too long for a limit has not begun.
      const hasWaited = error?.reason === "waiting";
      if (kind === "action" && error?.kind === "timedOut" && state === "timedOut" && !hasWaited)
        return look(keyOf(step), endedAt - since, timeout, true);
      if (kind !== "children" && kind !== "loop") return [];
      // What times out inside ends what is around it, too.
      const isOver = run.error?.kind === "timedOut" && run.error.node === stage;
      if (state !== (isOver ? "timedOut" : "completed") || errors !== undefined) return [];
      const own = steps.filter((each) => isPartOf(step, each));
      // [S236] Its time was up in a part of it, and it has recovered, maybe only once it was resumed.
      if (!isOver && own.some((each) => each !== step && each.state === "timedOut")) return [];
      const begun = Math.min(...own.map(({ startedAt }) => startedAt));
      // [S169] While what lost a race is undone, its time does not count.
      const until = byId.get(step.won ?? "")?.endedAt ?? endedAt;
      return look(keyOf(step), until - begun, timeout, isOver);
    }),
  ];
}

/** Says whether a record is of a node itself or of a part of it, such as a parent's handler. */
function isPartOf({ run, stage, iterations, generation }: StepRow, each: StepRow): boolean {
  const isOf = each.stage === stage || each.stage.startsWith(`${stage}.`);
  const isBeside = String(each.iterations ?? "") === String(iterations ?? "");
  return isOf && isBeside && each.run === run && each.generation === generation;
}
