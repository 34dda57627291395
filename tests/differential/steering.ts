import type { Timers } from "@stepwise/testing";
import { Deployment, type Job, type Version } from "../edits/deployed.js";
import type { Line } from "./behaviour.js";
import { argsOf, familyOf, isActing, picked } from "./choice.js";
import { isGoing } from "./records.js";
import type { Rest, RunRow, Sent, Steered, StepRow, Still } from "./rest.js";
import { type Deed, SAME, type Turn } from "./script.js";
import { eventsIn } from "./events-in.js";
import { isEnd, type Workflows } from "./definition.js";
import { OF_RUNS, UNDER_WAY, isUnwatched } from "./tables.js";

/** What is shown of a run. */
interface Looked {
  readonly state: string | undefined;
  readonly stalled: boolean;
}

interface Setting {
  readonly workflows: Workflows;
  /** Those of them that are started. */
  readonly names: readonly string[];
  readonly timers: Timers;
  /** What is done to a run comes to those under it in pages. */
  readonly isPaged: boolean;
  /** How many of the newest commits a stale snapshot lacks; asked for each. */
  readonly lag: () => number;
}

/** An app in which runs are steered as a script says. */
export class SteeredApp {
  readonly #steered = new Map<string, Steered>();
  readonly #stills: Still[] = [];
  readonly #sent: Sent[] = [];
  #last: string | undefined;
  #failing = 0;
  #sentCount = 0;
  #isHarmed = false;
  #hasFailed = false;
  #needsRepair = false;
  #mostParallel = 0;
  readonly #problems: string[] = [];
  readonly history: string[] = [];

  private constructor(
    readonly app: Deployment,
    readonly setting: Setting,
  ) {}

  static async of(version: Version, setting: Setting): Promise<SteeredApp> {
    let steered: SteeredApp | undefined;
    const settle = () => steered !== undefined && steered.#failing > 0 && steered.#failing-- > 0;
    const app = await Deployment.withFaults(version, { settle, lag: setting.lag });
    app.timers = setting.timers;
    steered = new SteeredApp(app, setting);
    return steered;
  }

  /**
   * Does what the script says, and lets all come to rest.
   * @returns what was seen to be wrong on the way.
   */
  async play(script: readonly Turn[]): Promise<readonly string[]> {
    for (const { after, whileActing = false, ...deed } of script) {
      let left = after;
      await this.app.drive(
        async () => left-- <= 0 || (whileActing && (await this.#steps()).some(isActing)),
      );
      this.history.push(`${Date.now()} ${JSON.stringify(deed)}: ${String(await this.#do(deed))}`);
      await this.#lookMidway();
    }
    if (this.#mostParallel > 0) await this.#do({ does: "limit", maxParallelism: 2 });
    for (const { _id, paused } of await this.#runs()) if (paused === true) await this.#resume(_id);
    await this.app.drive();
    // [S107] [S109] [S111] All else that goes wrong is found.
    if (this.#needsRepair) {
      await this.#do({ does: "repair" });
      await this.app.drive();
    }
    return this.#problems;
  }

  async #do(deed: Deed): Promise<unknown> {
    switch (deed.does) {
      case "start":
        return await this.#start(deed);
      case "limit":
        this.#mostParallel = Math.max(this.#mostParallel, deed.maxParallelism);
        return await this.app.call("manage:limit", { maxParallelism: deed.maxParallelism });
      case "repair":
        return await this.app.call("manage:repair", {});
      case "fail":
        this.#isHarmed = true;
        this.#hasFailed = true;
        this.#failing = deed.times;
        return;
      case "lose":
        return await this.#lose(deed);
      default:
    }
    const runs = await this.#runs();
    const steps = await this.#steps();
    const acts = (id: string) => steps.some((step) => step.run === id && isActing(step));
    const suits = ({ _id, state, paused }: RunRow) =>
      ({
        send: steps.some(({ run: of, names, endedAt }) => of === _id && names && !endedAt),
        resume: paused === true,
        restart: isEnd(state),
        cleanup: isEnd(state),
        cancel: state === "running" || state === "pending",
        pause: state === "running" && paused !== true && acts(_id),
      })[deed.does];
    const run =
      deed.run === SAME
        ? runs.find(({ _id }) => _id === this.#last)
        : picked(runs, deed.run, suits);
    if (run === undefined) return;
    this.#last = run._id;
    switch (deed.does) {
      case "send":
        return await this.#send(run, deed.event, steps);
      case "resume":
        return await this.#resume(run._id);
      case "restart":
        return await this.#restart(run, deed.from);
      case "cleanup":
        return await this.#cleanup(run, runs);
      default: {
        const isDone = await this.app.call(`manage:${deed.does}`, { runId: run._id });
        if (isDone !== true) return isDone;
        return await this.#still(run, runs, deed.does === "cancel" ? "canceled" : "paused");
      }
    }
  }

  async #start({ which, refuses, runAfter }: Extract<Deed, { does: "start" }>): Promise<string> {
    const name = this.setting.names[Math.floor(which * this.setting.names.length)] ?? "";
    const input = { at: `top${this.#steered.size}`, n: 2 };
    const options = runAfter === undefined ? {} : { runAfter };
    const id = (await this.app.call("manage:start", {
      name,
      input,
      refuses,
      ...options,
    })) as string;
    this.#steered.set(id, { workflow: name, ends: [], refuses, isGone: false });
    return id;
  }

  async #send(
    { _id: runId, workflow: name, generation = 1 }: RunRow,
    pick: number,
    steps: readonly StepRow[],
  ): Promise<unknown> {
    const definition = this.setting.workflows[name]?.definition;
    const awaited = steps.flatMap(({ run, names = [], endedAt }) =>
      run === runId && endedAt === undefined ? names : [],
    );
    const events = [...awaited, ...(definition === undefined ? [] : eventsIn(definition.nodes))];
    const event = events[Math.floor(pick * events.length)];
    if (event === undefined) return;
    const value = `event ${++this.#sentCount}`;
    const answer = await this.app
      .call("manage:send", { name, runId, event, value })
      .catch((error: unknown) => error);
    if (answer === "taken" || answer === "kept")
      this.#sent.push({ run: runId, generation, value, answer });
    return answer instanceof Error ? "refused" : answer;
  }

  async #resume(runId: string): Promise<unknown> {
    const isDone = await this.app.call("manage:resume", { runId });
    if (isDone !== true) return isDone;
    const family = familyOf(runId, await this.#runs());
    const now = (await this.#log()).length;
    for (const still of this.#stills) {
      const isOf = [...still.family].some((id) => family.has(id));
      if (still.why === "paused" && isOf) still.to = Math.min(still.to, now);
    }
    return `${runId} resumed`;
  }

  async #restart(run: RunRow, pick: number | undefined): Promise<unknown> {
    const { _id: runId, workflow: name } = run;
    const nodes = Object.keys(this.setting.workflows[name]?.definition.nodes ?? {});
    const from = pick === undefined ? undefined : nodes[Math.floor(pick * nodes.length)];
    const refused = await this.app
      .call("manage:restart", { name, runId, ...(from === undefined ? {} : { from }) })
      .catch((error: unknown) => error);
    if (refused instanceof Error) return refused.message;
    this.#steered.get(runId)?.ends.push(run.state);
    return `${runId} restarted from ${from}`;
  }

  /** From now on nothing of a run is to begin. */
  async #still(run: RunRow, runs: readonly RunRow[], why: Still["why"]): Promise<string> {
    const { _id, generation = 1 } = run;
    const from = (await this.#log()).length;
    // [S86] In those under it something may begin until its page has come.
    const family = this.setting.isPaged ? new Set([_id]) : familyOf(_id, runs);
    this.#stills.push({ why, run: _id, generation, family, from, to: Infinity });
    return `${_id} is ${why}`;
  }

  async #cleanup(run: RunRow, runs: readonly RunRow[]): Promise<unknown> {
    const { _id: runId, state } = run;
    const refused = await this.app
      .call("manage:cleanup", { runId })
      .catch((error: unknown) => error);
    if (refused instanceof Error) return refused.message;
    const steered = this.#steered.get(runId);
    steered?.ends.push(state);
    if (steered !== undefined) steered.isGone = true;
    return await this.#still(run, runs, "gone");
  }

  async #lose({ what, which, gone }: Extract<Deed, { does: "lose" }>): Promise<number> {
    const isLost = (job: Job) => what === "all" || (what === "actions") === "slot" in argsOf(job);
    const pending = (await this.app.jobs()).filter(
      (job) => job.state.kind === "pending" && isLost(job),
    );
    const one = pending[Math.floor(which * pending.length)];
    const lost = what === "one" ? (one === undefined ? [] : [one]) : pending;
    this.#isHarmed ||= lost.length > 0;
    this.#needsRepair ||= lost.some(isUnwatched);
    return await this.app.lose(({ _id }) => lost.some((job) => job._id === _id), { gone });
  }

  /**
   * [S53] [S96] [S97] [S111] What must hold at any time: no more runs than may, and what is shown
   * of a run is what it is.
   */
  async #lookMidway(): Promise<void> {
    const [runs, steps] = [await this.#runs(), await this.#steps()];
    const held = (await this.app.rows("slots")).filter(({ work }) => work !== undefined).length;
    // A script that was shrunk may not say.
    const isTooMany = this.#mostParallel > 0 && held > this.#mostParallel;
    if (isTooMany) this.#problems.push(`${held} slots are held`);
    for (const { _id: runId, workflow: name, state, root } of runs) {
      if (root !== undefined) continue;
      const seen = await this.app.ask<Looked>("manage:look", { name, runId });
      if (seen.state !== state) this.#problems.push(`${runId} is ${state}, but seen ${seen.state}`);
      if (seen.stalled && !this.#isHarmed) this.#problems.push(`${runId} is stalled`);
    }
    for (const { _id, state, concurrency = Infinity, settled } of steps) {
      if (state !== "waiting" || settled === true) continue;
      const going = runs.filter((run) => run.parentStep === _id && isGoing(run));
      if (going.length > concurrency) this.#problems.push(`${going.length} children of ${_id} run`);
    }
  }

  /** What is there when all has come to rest. */
  async rest(): Promise<Rest> {
    const { app } = this;
    const { workflows } = this.setting;
    const counts = UNDER_WAY.map(async (table) => [table, (await app.rows(table)).length] as const);
    const slots = (await app.rows("slots")).filter(({ work }) => work !== undefined);
    return {
      workflows,
      runs: await this.#runs(),
      steps: await this.#steps(),
      undos: await app.rows("undos"),
      inbox: await app.rows("inbox"),
      underWay: { ...Object.fromEntries(await Promise.all(counts)), slots: slots.length },
      jobs: await app.jobs(),
      hasFaults: this.#hasFailed,
      violations: app.violations.map(({ message }) => message),
      log: await this.#log(),
      completions: await app.ask("manage:rows", { table: "ends" }),
      steered: this.#steered,
      stills: this.#stills,
      sent: this.#sent,
    };
  }

  /** [S104] Removes all runs. @returns what is left of them, by table. */
  async removeAll(): Promise<Record<string, number>> {
    for (const { _id, root } of await this.#runs())
      if (root === undefined) await this.app.call("manage:cleanup", { runId: _id });
    await this.app.drive();
    const left: Record<string, number> = {};
    for (const table of OF_RUNS) {
      const { length } = await this.app.rows(table);
      if (length > 0) left[table] = length;
    }
    return left;
  }

  async #runs(): Promise<RunRow[]> {
    return await this.app.rows("runs");
  }
  async #steps(): Promise<StepRow[]> {
    return await this.app.rows("steps");
  }
  async #log(): Promise<Line[]> {
    return await this.app.ask("manage:rows", { table: "log" });
  }
}
