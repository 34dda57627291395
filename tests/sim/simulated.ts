import { CLASSES, Deployment, type Faults, type FunctionPath, textOf } from "@stepwise/testing";
import { isUnwatched } from "../differential/tables.js";
import { type App, compiled } from "./app.js";
import { checkRemoval, checkRest, checkRuns } from "./checks.js";
import { compare } from "./compare.js";
import { Deeds } from "./deeds.js";
import { plantLarge } from "./large.js";
import type { Entry, Scenario } from "./scenario.js";
import { Stage } from "./stage.js";
import { isUnread } from "./unread.js";
import { checkVerdict } from "./verdict.js";
import { Idle } from "./idle.js";
import { Watch } from "./watch.js";

/** What a simulation has come to. */
export interface Outcome {
  /** What does not hold; nothing, where all is well. */
  readonly problems: readonly string[];
  /** What was done to it, and what that was answered. */
  readonly history: readonly string[];
  readonly events: number;
  /** Says whether it was held against what the interpreter makes of the same definition. */
  readonly isCompared: boolean;
  /** Says whether it took so long that it was ended before all was over. */
  readonly isGivenUp: boolean;
}

/**
 * Plays a scenario, with an app in which its definition is; without one it is compiled.
 * @returns what does not hold.
 */
export async function simulated(scenario: Scenario, app?: App): Promise<Outcome> {
  return await play(scenario, app ?? (await compiled([scenario])));
}

async function play(scenario: Scenario, app: App): Promise<Outcome> {
  const stage: Stage = new Stage(scenario, app, (events) => deeds.at(events));
  const deeds = new Deeds(stage);
  const { problems, history } = stage;
  const of = { ...CLASSES[scenario.class], ...scenario.throttle, actionLimitMs: 4 * 3_600_000 };
  const options = { class: of, seed: scenario.seed, faults: faultsOf(stage) };
  const deployment = (stage.deployment = await Deployment.of(app.parts, options));
  plantLarge(deployment, scenario.seed);
  stage.watch = new Watch(deployment, () => stage.workflows, stage.hasFaults);
  stage.idle = new Idle(deployment, "workflow");
  const began = deployment.clock.now();
  try {
    if (scenario.maxParallelism !== undefined)
      await stage.done(deeds.limit(scenario.maxParallelism));
    void deeds.start({});
    await stage.drive();
    await deeds.encore();
    await settle(stage, deeds);
    checkRuns(stage);
    checkVerdict(stage);
    if (problems.length === 0) await checkRest(stage);
    if (problems.length === 0) await checkRemoval(stage);
  } catch (error) {
    // What must hold after each commit has been looked at, and the rest cannot be.
    if (!stage.isGivenUp) problems.push(`threw ${(error as Error).stack ?? String(error)}`);
  }
  const isCompared = problems.length === 0 && (await compare(stage, began));
  return {
    problems: [...stage.watch.problems, ...problems],
    history,
    events: stage.events,
    isCompared,
    isGivenUp: stage.isGivenUp,
  };
}

/** Nothing goes wrong any more, and what was held goes on. */
async function settle(stage: Stage, deeds: Deeds): Promise<void> {
  const waits = stage.hasFaults ? undefined : stage.idle.atRest();
  if (waits !== undefined) stage.problems.push(waits);
  stage.isOver = true;
  if (stage.needsRepair) await stage.insist("repair", {});
  await stage.drive();
  stage.needsRepair = false;
  // Only now, as a call that pauses may have been under way.
  if (stage.scenario.maxParallelism !== undefined) await deeds.unlimit(3);
  if (/^(limits|deploy)$/.test(stage.scenario.profile ?? "")) await deeds.freeLimits();
  for (const { _id, paused } of stage.runs())
    if (paused === true) await stage.insist("resume", { runId: _id });
  await stage.drive();
}

function faultsOf(stage: Stage): Faults {
  let uses = 0;
  let refusals = 0;
  const { plan, staleLag = 0, fullOfTen = 0 } = stage.scenario;
  const nth = { action: 0, call: 0, mutation: 0 };
  const of = <On extends keyof typeof nth>(
    on: On,
    path: FunctionPath,
  ): Extract<Entry, { on: On }> | undefined => {
    if (stage.isOver) return undefined;
    nth[on] += 1;
    const entry = plan.find((each) => each.on === on && each.nth === nth[on]);
    if (entry !== undefined) stage.note(`${textOf(path)}: ${JSON.stringify(entry)}`);
    return entry as Extract<Entry, { on: On }> | undefined;
  };
  return {
    action: (path) => of("action", path)?.fault,
    // What a handler writes down itself is its own affair.
    call: (path) => (path.name === "runs:log" ? undefined : of("call", path)?.fault),
    timesOut: (path) => {
      if (path.name.startsWith("manage:") || of("mutation", path) === undefined) return false;
      // One that is gone for good, and looked after by nobody.
      stage.needsRepair ||= isUnwatched(path);
      return true;
    },
    refuses: () => {
      const isThrottled = stage.scenario.throttle !== undefined && !stage.isOver;
      return isThrottled && ++refusals % 23 === 0 ? "TooManyConcurrentRequests" : undefined;
    },
    forgets: isUnread,
    used: () => (stage.isOver || (uses = (uses + 7) % 10) >= fullOfTen ? 0 : 0.55),
    staleLag: () => (staleLag === 0 ? 0 : (stage.events * 7) % (staleLag + 1)),
  };
}
