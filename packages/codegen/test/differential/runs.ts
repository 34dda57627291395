import { drive } from "@stepwise/testing";
import { vitestTimers } from "@stepwise/testing";
import { vi } from "vitest";
import { Deployment, type Version } from "../edits/deployed.js";
import { Interpreted, isEnd, type Fault, type Workflows } from "./interpreter.js";
import { TOLERANCE_MS, World } from "./world.js";

/** What is done to a run from outside, in the order of time. */
export type Script = readonly Deed[];
/** At some ms after its start. */
export type Deed = { readonly at: number } & (
  | { readonly event: string; readonly value: unknown }
  /** `repair` changes nothing, where nothing was lost. */
  | { readonly does: "cancel" | "pause" | "resume" | "repair" }
  | { readonly does: "restart"; readonly from?: string }
);

/** What became of a run. */
export interface Outcome {
  readonly state: string;
  readonly output: unknown;
  readonly error: Fault | undefined;
  /** What its handlers wrote, in order; what happened at one time is sorted by run. */
  readonly effects: readonly string[];
  /** When each of them was written, in ms after the start. */
  readonly times: readonly number[];
  /** What each deed was answered. */
  readonly answers: readonly unknown[];
}

const INPUT = { at: "top", n: 2 };

/** What the interpreter makes of a workflow. */
export async function expected(
  workflows: Workflows,
  name: string,
  script: Script,
): Promise<Outcome & { readonly tookMs: number; readonly isAmbiguous: boolean }> {
  const world = new World();
  const began = Date.now();
  let endedAt = began;
  let run = new Interpreted(world, workflows, name, INPUT);
  const notes = async () => {
    await run.ended;
    endedAt = Date.now();
  };
  const restart = (from: string | undefined) => {
    if (!isEnd(run.state)) return "refused";
    run = new Interpreted(world, workflows, name, INPUT, { before: run, from });
    run.begin();
    void notes();
    return null;
  };
  const answers: unknown[] = [];
  const answerOf = (deed: Deed) => {
    if ("event" in deed) return run.send(deed.event, deed.value);
    if (deed.does === "repair") return null;
    return deed.does === "restart" ? restart(deed.from) : run[deed.does]();
  };
  for (const [index, deed] of script.entries()) {
    const does = () => {
      answers[index] = answerOf(deed);
    };
    if (deed.at === 0) does();
    // Who goes on when a run is resumed was held: that they do so at the same time is no matter.
    else if ("does" in deed && /resume|repair/.test(deed.does)) setTimeout(does, deed.at);
    else world.after(`deed ${index}`, deed.at, does);
  }
  // What is done at once comes before anything of the run: its start was only committed.
  run.begin();
  void notes();
  // Nothing in the interpreter but promises moves by itself.
  const still = { activity: 0, running: 0, uncounted: <T>(look: () => Promise<T>) => look() };
  await drive(still, { timers: vitestTimers(vi) });
  return {
    state: run.state,
    output: run.state === "completed" ? run.output : undefined,
    error: run.fault,
    ...effectsOf(world.log, began),
    answers,
    tookMs: endedAt - began,
    isAmbiguous: world.isAmbiguous,
  };
}

/** What the compiled workflow comes to, run by the run time; with the deployment, to look at what is left there. */
export async function actual(
  version: Version,
  name: string,
  script: Script,
): Promise<Outcome & { readonly app: Deployment }> {
  const app = new Deployment(version);
  const began = Date.now();
  const runId = (await app.call("start", { name, input: INPUT })) as string;
  const answers: unknown[] = [];
  for (const deed of script) {
    const due = began + deed.at;
    // The drive goes from timer to timer, so there is to be one.
    const mark = setTimeout(() => {}, due - Date.now());
    if (deed.at > 0) await app.drive(() => Date.now() >= due);
    clearTimeout(mark);
    const { at: _at, does = "send", ...given } = { does: undefined, ...deed };
    const answer = app.call(`manage:${does}`, { name, runId, ...given });
    answers.push(await answer.catch(() => "refused"));
  }
  await app.drive();
  const { state, output, error } = await app.see(runId);
  const effects = effectsOf(await app.logged(), began);
  return { state, output, error: error as Fault | undefined, ...effects, answers, app };
}

/**
 * The log, and its times apart from it. What was written at one time, but for what the scheduler took, is sorted by the run that wrote it: runs that go
 * on side by side promise each other nothing.
 */
function effectsOf(log: readonly string[], began: number): Pick<Outcome, "effects" | "times"> {
  const lines = log.map((line) => {
    const [at = "", run = "", ...what] = line.split(" ");
    return { at: Number(at) - began, run, text: [run, ...what].join(" ") };
  });
  const groups: (typeof lines)[] = [];
  for (const line of lines) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && line.at - last.at < TOLERANCE_MS / 2) groups.at(-1)?.push(line);
    else groups.push([line]);
  }
  const sorted = groups.flatMap((group) =>
    group.toSorted((one, other) => (one.run < other.run ? -1 : one.run > other.run ? 1 : 0)),
  );
  return { effects: sorted.map(({ text }) => text), times: sorted.map(({ at }) => at) };
}

/** As much of an error as another says of it. */
export function comparable(error: Fault | undefined, to: Fault | undefined): Fault | undefined {
  if (error === undefined) return undefined;
  const { kind, workflow, node, attempt, message, data, key, cause, compensationErrors } = error;
  return {
    kind,
    workflow,
    node,
    attempt,
    ...(to?.message === undefined || message === undefined ? {} : { message }),
    ...(data === undefined ? {} : { data }),
    ...(key === undefined ? {} : { key }),
    ...(cause === undefined ? {} : { cause: comparable(cause, to?.cause)! }),
    ...(compensationErrors === undefined
      ? {}
      : {
          compensationErrors: compensationErrors.map((each, index) =>
            comparable(each, to?.compensationErrors?.[index])!,
          ),
        }),
  };
}

/** What must not be left when all has come to rest: by what it is, how much of it there is. */
export async function leftovers(app: Deployment): Promise<Record<string, unknown>> {
  const count = async (table: string, isLeft: (row: Row) => boolean = () => true) =>
    (await app.rows(table)).filter(isLeft).length;
  const jobs = await app.jobs();
  const bad = new Set(
    (await app.rows("runs"))
      .filter((run) => run["root"] === undefined && run["state"] !== "completed")
      .map((run) => run["_id"]),
  );
  return {
    activeRuns: await count("runs", ({ endedAt }) => endedAt === undefined),
    activeSteps: await count("steps", ({ endedAt }) => endedAt === undefined),
    wakes: await count("steps", ({ wakeAt }) => wakeAt !== undefined),
    deadlines: await count("deadlines"),
    childPages: await count("childPages"),
    continuations: await count("continuations"),
    undos: bad.size === 0 ? 0 : await count("undos"),
    slots: await count("slots", ({ work }) => work !== undefined),
    waiting: await count("waiting"),
    setAside: await count("setAside"),
    pending: await app.pending(),
    failedJobs: jobs.filter(({ state }) => state.kind === "failed").map(({ name }) => name),
    violations: app.violations.map(({ message }) => message),
  };
}
type Row = Readonly<Record<string, unknown>>;

export const NOTHING_LEFT: Record<string, unknown> = {
  activeRuns: 0,
  activeSteps: 0,
  wakes: 0,
  deadlines: 0,
  childPages: 0,
  continuations: 0,
  undos: 0,
  slots: 0,
  waiting: 0,
  setAside: 0,
  pending: 0,
  failedJobs: [],
  violations: [],
};
