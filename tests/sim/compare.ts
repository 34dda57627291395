import { isDeepStrictEqual } from "node:util";
import { installTimers } from "@stepwise/testing";
import type { Fault } from "../differential/definition.js";
import { comparable, comparableOutput, effectsOf, expected } from "../differential/expected.js";
import type { Stage } from "./stage.js";

/**
 * What two things may be apart, in ms, and come in either order: transactions take their time, and
 * conflicts more.
 */
const TOLERANCE_MS = 5_000;
const MOST_EFFECTS = 250;

/**
 * A run to which nothing was done comes to what the interpreter comes to.
 * @returns whether that says something.
 */
export async function compare(stage: Stage, began: number): Promise<boolean> {
  const { plan, top, maxParallelism, profile } = stage.scenario;
  const [run] = stage.runs();
  // Of many children that begin together either may come first.
  const isLimited =
    stage.isCut ||
    stage.isGivenUp ||
    profile === "wide" ||
    stage.isCrowded ||
    maxParallelism !== undefined;
  if (plan.length > 0 || isLimited || run === undefined) return false;
  const timers = installTimers({ now: began });
  let told: Awaited<ReturnType<typeof expected>>;
  try {
    told = await expected(stage.workflows, top, [], timers, TOLERANCE_MS);
  } finally {
    timers.uninstall();
  }
  if (
    told.isAmbiguous ||
    isTie(told.error) ||
    hasTie(told.output) ||
    told.effects.length > MOST_EFFECTS
  )
    return false;
  const log = stage.watch.log.map(({ text }) => text);
  const end = stage.steps().find(({ _id }) => _id === run.outputStep);
  const error = run.error as Fault | undefined;
  const seen = {
    state: run.state,
    // As `status` gives it: no record has the output of a workflow of sleeps alone.
    output:
      run.state === "completed" ? comparableOutput(end?.output ?? null, told.output) : undefined,
    error: comparable(error, told.error),
    effects: effectsOf(log, began, TOLERANCE_MS).effects,
  };
  const { state, effects } = told;
  const wanted = {
    state,
    output: comparableOutput(told.output, told.output),
    error: comparable(told.error, told.error),
    effects,
  };
  if (!isDeepStrictEqual(seen, wanted))
    stage.problems.push(`the run came to ${show(seen)}\n  the interpreter to ${show(wanted)}`);
  return true;
}

/**
 * Children that begin together time out together, however deep below, and any of them may be the
 * first.
 */
function isTie(error: Fault | undefined): boolean {
  if (error?.cause === undefined) return false;
  return (error.key !== undefined && error.cause.kind === "timedOut") || isTie(error.cause);
}

/** Says whether one that has recovered, or is tolerated, is told of in an output. */
function hasTie(output: unknown): boolean {
  if (typeof output !== "object" || output === null) return false;
  // What is no error lacks what is asked for.
  return isTie(output as Fault) || Object.values(output).some(hasTie);
}

function show(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint" ? `${inner}n` : inner,
  );
}
