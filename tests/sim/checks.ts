import { definitionOf, handlerOf, keyOf } from "../differential/records.js";
import { brokenOf } from "../differential/invariants.js";
import { OF_RUNS, UNDER_WAY } from "../differential/tables.js";
import { look } from "./look.js";
import { PoolWaits } from "./pool-waits.js";
import type { Stage } from "./stage.js";

/** How long a fresh run of one action takes at most, in ms. */
const FRESH_MS = 10_000;

/** What is told by a definition says nothing of runs that went on under another. */
const OF_ONE_VERSION = /^\[S(61|23|31|38|40)\]/;

/** What must hold of all runs at rest, and of what they did. */
export function checkRuns(stage: Stage): void {
  const { plan } = stage.scenario;
  const underWay = UNDER_WAY.map((table) => [table, stage.rows(table).length] as const);
  const slots = stage.rows("slots").filter(({ work }) => work !== undefined);
  const broken = brokenOf({
    workflows: stage.workflows,
    isEdited: stage.isDeployed,
    runs: stage.runs(),
    steps: stage.steps(),
    undos: stage.rows("undos"),
    inbox: stage.rows("inbox"),
    underWay: { ...Object.fromEntries(underWay), slots: slots.length },
    jobs: stage.jobs(),
    hasFaults: stage.hasFaults,
    violations: [],
    log: stage.watch.log,
    completions: stage.deployment.rows("", "ends"),
    steered: stage.watch.steered,
    stills: stage.watch.stills,
    sent: stage.sent,
  });
  const { mostActing, mostParallel } = stage.watch;
  if (!stage.hasFaults && mostParallel > 0 && mostActing > mostParallel)
    stage.problems.push(`${mostActing} actions ran at once of ${mostParallel}`);
  // A version that comes back has no tombstones of what the later one had.
  for (const step of stage.hasFaults || stage.isBack ? [] : stage.steps())
    for (const { kind } of step.errors ?? [])
      if (kind === "lost") stage.problems.push(`${step.stage} of ${step.run} was lost`);
  if (!stage.hasFaults && !stage.isDeployed && stage.watch.lost.length > 0)
    stage.problems.push(`nothing was lost but what the watchdog found: ${stage.watch.lost.join()}`);
  const jumps = plan.some((entry) => entry.on === "event" && entry.does === "jump");
  if (!jumps) checkWaits(stage);
  const begun = new Map(
    stage.watch.log
      .filter(({ what }) => what === "begins")
      .map(({ key, attempt, text }) => [`${key} ${attempt}`, Number.parseInt(text, 10)]),
  );
  for (const step of jumps ? [] : stage.steps())
    for (const { attempt, nextAt } of step.retries ?? [])
      if ((begun.get(`${keyOf(step)} ${attempt + 1}`) ?? Infinity) < nextAt)
        stage.problems.push(`${keyOf(step)} was tried again too soon after attempt ${attempt}`);
  for (const [says, all] of Object.entries(broken)) {
    // What is told by the times of rows.
    if (jumps && /began each after|was undone first|its time|no longer|no sooner/.test(says))
      continue;
    // Timers wait for a place of the scheduler, too.
    if (stage.isCrowded && /took no longer/.test(says)) continue;
    if (stage.isDeployed && OF_ONE_VERSION.test(says)) continue;
    // An action that is under way may still say so; a mutation would have conflicted.
    const about = /nothing began after/.test(says)
      ? all.filter((each) => each.includes(" changes while "))
      : all;
    const isSeen = (each: string) => ![...stage.watch.unseen].some((id) => each.includes(id));
    const what = about.filter(isSeen);
    if (what.length > 0) stage.problems.push(`${says}: ${what.join(" | ")}`);
  }
}

/** A step that has waited for as long as it may fails then, and no sooner. */
function checkWaits(stage: Stage): void {
  const { waits } = stage.watch;
  if (!stage.hasFaults && !stage.isCrowded)
    stage.problems.push(...waits.tooLong(), ...stage.watch.collecting.late);
  for (const step of stage.steps()) {
    if (step.state !== "timedOut" || step.errors?.at(-1)?.reason !== "waiting") continue;
    const { run, stage: of, _id } = step;
    const { workflow = "" } = stage.runs().find((each) => each._id === run) ?? {};
    const { waitAtMost = Infinity } = handlerOf(definitionOf(stage.workflows, workflow), of) ?? {};
    const problem = PoolWaits.told(waits.waited.get(_id), waitAtMost, true);
    if (problem !== undefined) stage.problems.push(`${keyOf(step)}: ${problem}`);
  }
}

/** Tables whose rows name a run. */
const HELD_BY_RUNS = ["steps", "undos", "inbox", "contexts", "deadlines", "tags"] as const;

/** When all is over, nothing holds on: a fresh run finds a pool at rest, and is soon done. */
export async function checkRest(stage: Stage): Promise<void> {
  stage.watch.rates.atRest();
  stage.watch.collecting.atRest();
  await look(stage);
  const [gate] = stage.rows("gate");
  if (gate !== undefined && !gate.open && gate.maxParallelism > 0)
    stage.problems.push("the gate is closed, and nothing waits");
  if (stage.rows("drain").some(({ on }) => on)) stage.problems.push("a drain is on");
  if (stage.rows("watch").some(({ watched, forHost }) => watched || forHost))
    stage.problems.push("the watchdog is on");
  if (!stage.hasFaults && stage.rows("executors").some(({ job }) => job !== undefined))
    stage.problems.push("an executor is said to go on");
  for (const { _id, state, done, atMost = Infinity } of stage.rows("bulks"))
    if (state === "running" || done > atMost)
      stage.problems.push(`the bulk ${_id} is ${state} after ${done} of ${atMost} runs`);
  const runs = new Set<string>(stage.runs().map(({ _id }) => _id));
  for (const table of HELD_BY_RUNS)
    for (const { run } of stage.rows(table))
      if (!runs.has(run)) stage.problems.push(`a row in ${table} is of ${run}, which is gone`);
  const began = stage.deployment.clock.now();
  const args = { name: "probe", input: {}, refuses: false };
  const runId = await stage.granted("manage:start", args);
  await stage.drive();
  const probe = stage.runs().find(({ _id }) => _id === runId);
  const tookMs = (probe?.endedAt ?? Infinity) - (probe?.startedAt ?? began);
  if (probe?.state !== "completed" || tookMs > FRESH_MS)
    stage.problems.push(`a fresh run is ${probe?.state} after ${tookMs} ms`);
  await stage.granted("manage:cleanup", { runId: String(runId) });
}

/** When all runs are removed, nothing is left of them. */
export async function checkRemoval(stage: Stage): Promise<void> {
  for (const { _id, root } of stage.runs())
    if (root === undefined && stage.scenario.plan.length > 0)
      await stage.insist("cleanup", { runId: _id });
  if (stage.scenario.plan.length === 0) return;
  await stage.drive();
  for (const table of OF_RUNS) {
    const { length } = stage.rows(table);
    if (length > 0) stage.problems.push(`${length} rows in ${table} when all runs are removed`);
  }
}
