import type { RunRow, StepRow } from "../differential/rest.js";
import { lookAtLists } from "./lists.js";
import type { Stage } from "./stage.js";

/** What is shown of runs is what they are, and nothing stands still that nobody has harmed. */
export async function look(stage: Stage): Promise<void> {
  for (const { _id: runId, workflow: name, state } of stage.runs()) {
    const ask = { name, runId };
    const isWaiting = () =>
      stage.steps().some((step) => step.run === runId && isWait(step)) ? "waits" : "waits not";
    const wait = isWaiting();
    const seen = (await stage.deployment.look("manage:look", ask)) as {
      state: string;
      stalled: boolean;
      waits: readonly string[];
    } | null;
    const now = stage.runs().find(({ _id }) => _id === runId)?.state;
    if (seen?.state !== state && now === state)
      stage.problems.push(`${runId} is ${state}, seen as ${seen?.state}`);
    const waits = seen?.waits.includes(runId) === true ? "waits" : "waits not";
    // Pages of waits are of 100 runs, of which it is the first.
    if (waits !== wait && wait === isWaiting())
      stage.problems.push(`${runId} ${wait} for an event, and is shown so that it ${waits}`);
    // What a restore has taken away stands still until it is repaired.
    const isSound = stage.isOver ? !stage.needsRepair : !stage.hasFaults;
    if (seen?.stalled === true && isSound)
      stage.problems.push(`${runId} is ${state}, and shown as stalled`);
  }
  const name = stage.scenario.top;
  const before = stage.runs();
  const listed = (await stage.deployment.look("manage:all", { name })) as [string, string][];
  // The clock stands still while it looks, but others may have been about to commit.
  const areSame = String(stage.runs().map(stateOf)) === String(before.map(stateOf));
  const tops = before.filter((run) => run.workflow === name && run.root === undefined);
  const told = new Map(listed);
  for (const { _id, state } of tops)
    if (areSame && tops.length <= 100 && told.get(_id) !== state)
      stage.problems.push(`${_id} is ${state}, and listed as ${told.get(_id)}`);
  await lookAtLists(stage);
}

const isWait = ({ kind, endedAt }: StepRow) => kind === "event" && endedAt === undefined;
const stateOf = ({ _id, state }: RunRow): string => `${_id} ${state}`;
