import {
  DOING,
  type Doing,
  RUN_STATES,
  type RunState,
} from "../../packages/workflow/src/component/validators.js";
import { isEnd } from "../differential/definition.js";
import type { Stage } from "./stage.js";

interface Listed {
  readonly runs: readonly string[];
  readonly isDone: boolean;
}

/** What lists give of the runs of a workflow. */
interface Lists {
  readonly inState: Record<RunState, Listed>;
  readonly does: Record<Doing, Listed>;
  /** By the value of the one tag that has few values. */
  readonly tagged: Record<string, Listed>;
  /** By the run above. */
  readonly below: Record<string, Listed>;
  readonly placed: readonly string[];
  readonly count: { readonly count: number; readonly isMore: boolean };
  readonly queued: number;
  readonly inLines: number;
}

/** The kinds of the step records of those that wait. */
const WAITS = {
  retrying: "action",
  waitingForEvent: "event",
  sleeping: "sleep",
  collecting: "collect",
  waitingForTurn: "turn",
} as const;
/** The values of the tag that runs have, if they have any. */
const KINDS = ["a", "b"];
/** Lists are of so many runs, and views count so many rows. */
const MOST = 100;
const MOST_PARENTS = 3;

/** What lists show of the runs of a workflow is what the rows say. */
export async function lookAtLists(stage: Stage): Promise<void> {
  const name = stage.scenario.top;
  const before = versionOf(stage);
  const parents = stage
    .runs()
    .filter(({ workflow, root }) => workflow === name && root === undefined)
    .slice(0, MOST_PARENTS)
    .map(({ _id }) => _id);
  const args = { name, states: RUN_STATES, doings: DOING, parents, tags: KINDS };
  const lists = (await stage.deployment.look("manage:lists", args)) as Lists;
  // The clock stands still while it looks, but others may have been about to commit.
  if (versionOf(stage) !== before) return;
  const tell = (problem: string) => void stage.problems.push(problem);
  const runs = stage.runs();
  const tops = runs.filter(({ workflow, root }) => workflow === name && root === undefined);
  if (tops.length > MOST) return;
  const { count, isMore } = lists.count;
  if (isMore || count !== tops.length) tell(`${tops.length} runs are counted as ${count}`);
  for (const [state, { runs: listed, isDone }] of entriesOf(lists.inState))
    for (const { _id, state: is } of isDone ? tops : [])
      if (listed.includes(_id) !== (is === state))
        tell(`${_id} is ${is}, and ${listed.includes(_id) ? "" : "not "}listed as ${state}`);
  for (const { _id, state } of tops)
    if (isEnd(state) && lists.placed.includes(_id))
      tell(`${_id} is ${state}, and shown as going on`);
  const tags = stage.rows("tags");
  for (const [kind, { runs: listed, isDone }] of entriesOf(lists.tagged)) {
    const has = (run: string) =>
      tags.some((tag) => tag.run === run && tag.name === "kind" && tag.value === kind);
    for (const { _id } of isDone ? tops : [])
      if (has(_id) !== listed.includes(_id)) tell(`the tag ${kind} of ${_id} is listed otherwise`);
  }
  for (const [parent, { runs: listed, isDone }] of entriesOf(lists.below)) {
    const below = runs.filter(({ parentRun }) => parentRun === parent).map(({ _id }) => _id);
    if (isDone && String(below.toSorted()) !== String(listed.toSorted()))
      tell(`${parent} has ${below.length} children, and ${listed.length} are listed`);
  }
  const doing = doingIn(stage);
  for (const [what, { runs: listed, isDone }] of entriesOf(lists.does))
    for (const { _id } of isDone ? tops : []) {
      const does = doing.get(what)?.has(_id);
      if (does !== undefined && does !== listed.includes(_id))
        tell(
          `${_id} ${does ? "is" : "is not"} ${what}, and listed so that it ${does ? "is not" : "is"}`,
        );
    }
  const isSound = stage.isOver ? !stage.needsRepair : !stage.hasFaults;
  for (const run of isSound ? lists.does.stalled.runs : []) tell(`${run} is listed as stalled`);
  for (const [table, shown] of [
    ["waiting", lists.queued],
    ["limited", lists.inLines],
  ] as const) {
    const { length } = stage.rows(table).filter(({ work }) => isStep(stage, work));
    if (stage.rows(table).length <= MOST && shown !== length)
      tell(`${length} works are in ${table}, and ${shown} are shown`);
  }
}

const entriesOf = <Key extends string, Value>(of: Record<Key, Value>) =>
  Object.entries(of) as [Key, Value][];

/** Anything that has been written of what is listed makes it another. */
function versionOf(stage: Stage): string {
  const rows = [...stage.runs(), ...stage.steps()].map(({ _id, state, endedAt }) => [
    _id,
    state,
    endedAt,
  ]);
  const works = (["waiting", "limited", "slots"] as const).flatMap((table) =>
    stage.rows(table).map(({ work }) => work),
  );
  return JSON.stringify([rows, works]);
}

const isStep = (stage: Stage, work: string) => stage.steps().some(({ _id }) => _id === work);

/** The runs of the top level that do something, themselves or below, by what it is. */
function doingIn(stage: Stage): Map<Doing, Set<string>> {
  const tops = new Map<string, string>(stage.runs().map(({ _id, root }) => [_id, root ?? _id]));
  const open = stage.steps().filter(({ endedAt }) => endedAt === undefined);
  const of = (steps: readonly { readonly run: string }[]) =>
    new Set(steps.map(({ run }) => tops.get(run) ?? run));
  const works = (table: "slots" | "waiting") => {
    const all = new Set<string | undefined>(stage.rows(table).map(({ work }) => work));
    return of(open.filter(({ _id }) => all.has(_id)));
  };
  const waits = entriesOf(WAITS).map(([doing, kind]): [Doing, Set<string>] => [
    doing,
    of(open.filter((step) => step.kind === kind && step.state === "waiting")),
  ]);
  return new Map([...waits, ["running", works("slots")], ["queued", works("waiting")]]);
}
