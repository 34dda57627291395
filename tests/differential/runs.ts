import { vitestTimers } from "@stepwise/testing";
import { vi } from "vitest";
import type { Doc, TableNames } from "../../packages/workflow/test/component.js";
import { Deployment, type Version } from "../edits/deployed.js";
import { effectsOf, expected as expectedBy, INPUT, type Outcome, type Script } from "./expected.js";
import type { Fault, Workflows } from "./definition.js";

export { comparable, comparableOutput, type Script } from "./expected.js";

/** What the interpreter makes of a workflow, with vitest's timers. */
export const expected = async (workflows: Workflows, name: string, script: Script) =>
  await expectedBy(workflows, name, script, vitestTimers(vi));

/**
 * What the compiled workflow comes to, run by the run time; with the deployment, to look at what is
 * left there.
 */
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

/** What must not be left when all has come to rest: by what it is, how much of it there is. */
export async function leftovers(app: Deployment): Promise<Record<string, unknown>> {
  const count = async <Table extends TableNames>(
    table: Table,
    isLeft: (row: Doc<Table>) => boolean = () => true,
  ) => (await app.rows(table)).filter(isLeft).length;
  const jobs = await app.jobs();
  const bad = new Set(
    (await app.rows("runs"))
      .filter(({ root, state }) => root === undefined && state !== "completed")
      .map(({ _id }) => _id),
  );
  return {
    activeRuns: await count("runs", ({ endedAt }) => endedAt === undefined),
    activeSteps: await count("steps", ({ endedAt }) => endedAt === undefined),
    wakes: await count("steps", ({ entersAt }) => entersAt !== undefined),
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
