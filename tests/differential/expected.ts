import { drive, type Timers } from "@stepwise/testing";
import { type Fault, isEnd, type Workflows } from "./definition.js";
import { Interpreted } from "./interpreter.js";
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

export const INPUT = { at: "top", n: 2 };

/** What the interpreter makes of a workflow. */
export async function expected(
  workflows: Workflows,
  name: string,
  script: Script,
  timers: Timers,
  toleranceMs = TOLERANCE_MS,
): Promise<Outcome & { readonly tookMs: number; readonly isAmbiguous: boolean }> {
  const world = new World(toleranceMs);
  const began = Date.now();
  let endedAt = began;
  let run = new Interpreted(world, workflows, name, INPUT);
  const notes = async () => {
    await run.ended;
    endedAt = Date.now();
  };
  const restart = (from: string | undefined) => {
    // [S172]
    if (!isEnd(run.state) || run.isEnding) return "refused";
    // Those of children may be removed with them.
    if (world.ending > 0) world.unsure();
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
  const still = {
    activity: 0,
    running: 0,
    waiting: 0,
    uncounted: <T>(look: () => Promise<T>) => look(),
  };
  await drive(still, { timers });
  return {
    state: run.state,
    output: run.state === "completed" ? run.output : undefined,
    error: run.fault,
    ...effectsOf(world.log, began, toleranceMs),
    answers,
    tookMs: endedAt - began,
    isAmbiguous: world.isAmbiguous,
  };
}

/**
 * The log, and its times apart from it. What was written at one time, but for what the scheduler
 * took, is sorted by the run that wrote it: runs that go on side by side promise each other
 * nothing.
 */
export function effectsOf(
  log: readonly string[],
  began: number,
  toleranceMs = TOLERANCE_MS,
): Pick<Outcome, "effects" | "times"> {
  const lines = log.map((line) => {
    const [at = "", run = "", ...what] = line.split(" ");
    return { at: Number(at) - began, run, text: [run, ...what].join(" ") };
  });
  const groups: (typeof lines)[] = [];
  for (const line of lines) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && line.at - last.at < toleranceMs / 2) groups.at(-1)?.push(line);
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
  const { kind, workflow, node, attempt, message, data, key, cause, causes, compensationErrors } =
    error;
  return {
    kind,
    workflow,
    node,
    attempt,
    ...(to?.message === undefined || message === undefined ? {} : { message }),
    ...(data === undefined ? {} : { data }),
    ...(key === undefined ? {} : { key }),
    ...(cause === undefined ? {} : { cause: comparable(cause, to?.cause)! }),
    ...(causes === undefined
      ? {}
      : {
          causes: Object.fromEntries(
            Object.entries(causes).map(([of, each]) => [of, comparable(each, to?.causes?.[of])!]),
          ),
        }),
    ...(compensationErrors === undefined
      ? {}
      : {
          compensationErrors: compensationErrors.map((each, index) =>
            comparable(each, to?.compensationErrors?.[index])!,
          ),
        }),
  };
}

/** The same of an output: it may hold the errors of children that were let fail. */
export function comparableOutput(output: unknown, to: unknown): unknown {
  if (typeof output !== "object" || output === null || output instanceof ArrayBuffer) return output;
  const other = (to ?? {}) as Record<string, unknown>;
  if (Array.isArray(output))
    return output.map((each, index) => comparableOutput(each, other[index]));
  const isFailed = "ok" in output && output.ok === false;
  const fields = Object.entries(output).map(([name, value]) => [
    name,
    isFailed && name === "error"
      ? comparable(value as Fault, other[name] as Fault)
      : comparableOutput(value, other[name]),
  ]);
  return Object.fromEntries(fields);
}
