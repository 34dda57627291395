import type { Backup } from "@stepwise/testing";
import type { Limits } from "@stepwise/workpool";
import { isEnd } from "../differential/definition.js";
import { eventsIn } from "../differential/events-in.js";
import { LIMITS } from "../differential/generator.js";
import type { RunRow } from "../differential/rest.js";
import { isUnwatched } from "../differential/tables.js";
import { look } from "./look.js";
import { ENCORE } from "./scenario.js";
import type { Blow, Clash, Deed, Entry, LimitSteering, Start, ToMany } from "./scenario.js";
import { JOBS, type Stage } from "./stage.js";

/** What is done to one run. */
type Aimed = Extract<Deed, { readonly run: number }>;
type Steering = Exclude<Aimed, { readonly does: "send" | "clash" }>;

/** So many starts that are collected come at one moment. */
const MOST_COLLECTED = 4;

const INPUT = { at: "top", n: 2 };

/** Does to a deployment what a plan says. */
export class Deeds {
  readonly #stage: Stage;
  readonly #due = new Map<number, Extract<Entry, { on: "event" }>[]>();
  #count = 0;
  #backup: Backup | undefined;

  constructor(stage: Stage) {
    this.#stage = stage;
    for (const entry of stage.scenario.plan)
      if (entry.on === "event")
        this.#due.set(entry.nth, [...(this.#due.get(entry.nth) ?? []), entry]);
  }

  /** All that is due at an event: as events of their own, or the next would come meanwhile. */
  at(events: number): void {
    const stage = this.#stage;
    for (const entry of this.#due.get(events) ?? [])
      stage.deployment.at(0, () => {
        if (!stage.isOver) this.#befall(entry);
      });
  }

  /** What is done when all runs have ended, one thing after the other. */
  async encore(): Promise<void> {
    for (const entry of this.#due.get(ENCORE) ?? []) {
      if (this.#stage.isCut) return;
      this.#befall(entry);
      await this.#stage.drive();
    }
  }

  #befall(what: Deed | Blow): void {
    const deployment = this.#stage.deployment;
    switch (what.does) {
      case "crash":
        this.#stage.note("crash");
        return deployment.crash(() => what.survives);
      case "restore":
        this.#stage.note("restore");
        this.#stage.needsRepair = true;
        return deployment.restore();
      case "backup":
        this.#stage.note("backup");
        this.#backup = deployment.backup();
        return;
      case "bring back":
        if (this.#backup === undefined) return;
        this.#stage.note(`${what.older} of the backup come back`);
        this.#stage.needsRepair = true;
        this.#stage.sent.length = 0;
        deployment.bringBack(this.#backup, what.older);
        return this.#stage.watch.forget();
      case "jump":
        this.#stage.note(`the clock jumps by ${what.ms} ms`);
        return deployment.jump(what.ms);
      case "deploy":
        return this.#deploy();
      case "cancel function":
      case "delete function":
        return this.#lose(what.does, what.which);
      default:
        void this.#do(what).catch(() => {});
    }
  }

  #deploy(): void {
    const { app, deployment } = this.#stage;
    if (app.later === undefined) return;
    const isBack = this.#stage.workflows === app.later.workflows;
    const { workflows, parts } = isBack ? app : app.later;
    this.#stage.note(isBack ? "the first version is back" : "the other version is deployed");
    this.#stage.isDeployed = true;
    this.#stage.isBack = isBack;
    this.#stage.workflows = workflows;
    void deployment.deploy(parts);
  }

  #lose(does: string, which: number): void {
    const jobs = this.#stage.jobs().filter(({ state }) => state.kind === "pending");
    const job = jobs[Math.floor(which * jobs.length)];
    if (job === undefined) return;
    this.#stage.note(`${does} ${job.name}`);
    this.#stage.needsRepair ||= isUnwatched(job);
    const table = { component: "workflow", name: JOBS };
    // A row of the scheduler's, as it was.
    const next = { ...job, state: { kind: "canceled" } } as never;
    this.#stage.deployment.edit(table, job._id, does === "delete function" ? undefined : next);
  }

  async #do(deed: Deed): Promise<void> {
    if (deed.does === "start") return await this.start(deed);
    if (deed.does === "look") return await look(this.#stage);
    if (deed.does === "storm")
      return void (await Promise.all(deed.deeds.map((each) => this.#do(each))));
    if (deed.does === "limit") return await this.limit(deed.maxParallelism, deed.limits);
    if (deed.does === "steer limit") return await this.#steerLimit(deed);
    if (deed.does === "bulk") return await this.#bulk(deed);
    if (deed.does === "stop bulk") return await this.#stopBulk(deed.which);
    if (deed.does === "repair") return void (await this.#stage.call("repair", {}));
    const run = this.#runFor(deed);
    if (run === undefined) return;
    if (deed.does === "clash") return await this.#clash(deed, run);
    if (deed.does === "send") return await this.#send(run, deed.event);
    await this.#steer(run, deed);
  }

  /** The run that something is done to: one that it suits, if there is any. */
  #runFor(deed: Aimed): RunRow | undefined {
    const ofChildren = "child" in deed && deed.child === true;
    const all = this.#stage.runs().filter(({ root }) => (root === undefined) !== ofChildren);
    const suits = ({ _id, state, paused }: RunRow) =>
      ({
        // Half of what is sent comes early, or in vain.
        send: !isEnd(state) && ("event" in deed && deed.event < 0.5 ? this.#waits(_id) : true),
        // What begins with a restart is for a run that has ended.
        clash:
          "all" in deed && deed.all[0] === "restart"
            ? isEnd(state)
            : !isEnd(state) && this.#waits(_id),
        cancel: !isEnd(state),
        pause: !isEnd(state) && paused !== true,
        resume: paused === true,
        restart: isEnd(state),
        cleanup: isEnd(state),
      })[deed.does];
    const some = all.filter(suits);
    const among = some.length > 0 ? some : all;
    return among[Math.floor(deed.run * among.length)];
  }

  #waits(run: string): boolean {
    return this.#open(run).some(({ dueAt, names }) => (dueAt ?? names) !== undefined);
  }

  #open(run: string) {
    return this.#stage.steps().filter((step) => step.run === run && step.endedAt === undefined);
  }

  async #clash({ all, event, aroundMs, inTurn = false }: Clash, run: RunRow): Promise<void> {
    const { _id, expiresAt } = run;
    const clash = async () => {
      const doing: Promise<void>[] = [];
      for (const does of all) {
        const done =
          does === "send" ? this.#send(run, event) : this.#steer(run, { does, run: event });
        doing.push(done);
        if (inTurn) await done;
      }
      await Promise.all(doing);
    };
    if (aroundMs === undefined) return await clash();
    const { deployment } = this.#stage;
    const due = this.#open(_id).flatMap(({ dueAt }) => (dueAt === undefined ? [] : [dueAt]));
    const inMs = Math.min(...due, expiresAt ?? Infinity) + aroundMs - deployment.wall();
    if (!Number.isFinite(inMs)) return;
    deployment.at(Math.max(0, inMs), () => {
      if (!this.#stage.isOver) void clash().catch(() => {});
    });
  }

  async #send({ _id: runId, workflow: name, generation = 1 }: RunRow, which: number) {
    const { nodes = {} } = this.#stage.workflows[name]?.definition ?? {};
    const awaited = this.#open(runId).flatMap(({ names = [] }) => names);
    const events = [...awaited, ...eventsIn(nodes)];
    const event = events[Math.floor(which * events.length)];
    if (event === undefined) return;
    const value = `event ${++this.#count}`;
    const answer = await this.#stage.call("send", { name, runId, event, value });
    if (answer === "taken" || answer === "kept")
      this.#stage.sent.push({ run: runId, generation, value, answer });
  }

  async #steer({ _id: runId, workflow: name }: RunRow, deed: Steering): Promise<void> {
    const from = deed.does === "restart" ? this.#placeOf(name, deed) : {};
    const input =
      "input" in deed && deed.input === true
        ? { input: { ...INPUT, at: `other${++this.#count}`, more: "x".repeat(2_000) } }
        : {};
    await this.#stage.call(deed.does, { name, runId, ...from, ...input });
  }

  /** Where a restart goes on: at a node, and in which iteration of it if it is a loop. */
  #placeOf(workflow: string, { from, iteration }: Extract<Deed, { does: "restart" }>) {
    const nodes = this.#stage.workflows[workflow]?.definition.nodes ?? {};
    const names = Object.keys(nodes);
    const loops = names.filter((name) => nodes[name].initial !== undefined);
    const isOfLoop = iteration !== undefined && loops.length > 0;
    if (from === undefined) return {};
    const among = isOfLoop ? loops : names;
    const node = among[Math.floor(from * among.length)];
    return isOfLoop ? { from: node, iteration } : { from: node };
  }

  /** Of a workflow that collects them, some at one moment. */
  async start(how: Start): Promise<void> {
    const { top } = this.#stage.scenario;
    const collects = this.#stage.workflows[top]?.definition.options.collect !== undefined;
    const count = collects ? 1 + (this.#count % MOST_COLLECTED) : 1;
    await Promise.all(Array.from({ length: count }, () => this.#start(how)));
  }

  async #start({ refuses = false, ...options }: Start): Promise<void> {
    const input = this.#count === 0 ? INPUT : { ...INPUT, at: `top${this.#count}` };
    this.#count += 1;
    const { key, reuse, runAfter, expires } = options;
    const runAt =
      options.runAt === undefined ? undefined : this.#stage.deployment.wall() + options.runAt;
    const given = { key, reuse, runAfter, runAt, expires };
    const named = Object.entries(given).filter(([, value]) => value !== undefined);
    const { top, profile } = this.#stage.scenario;
    const isLimited = profile === "limits" ? { isLimited: true } : {};
    const args = { name: top, input, refuses, ...isLimited, ...Object.fromEntries(named) };
    await this.#stage.call("start", args);
  }

  async limit(maxParallelism: number, limits?: Limits): Promise<void> {
    this.#stage.watch.mostParallel = Math.max(this.#stage.watch.mostParallel, maxParallelism);
    await this.#stage.call("limit", { maxParallelism, ...(limits && { limits }) });
  }

  /** The same, until it is not refused. */
  async unlimit(maxParallelism: number): Promise<void> {
    this.#stage.watch.mostParallel = Math.max(this.#stage.watch.mostParallel, maxParallelism);
    await this.#stage.insist("limit", { maxParallelism });
  }

  /** No limit is paused or overridden any more. */
  async freeLimits(): Promise<void> {
    for (const [name, limit] of Object.entries(LIMITS) as [LimitSteering["name"], object][])
      for (const key of "perKey" in limit ? [undefined, "a", "b"] : [undefined])
        for (const how of ["resume", "reset"] as const)
          await this.#stage.done(this.#steerLimit({ how, name, ...(key && { key }) }));
  }

  async #steerLimit({ how, name, key, numbers, forMs }: Omit<LimitSteering, "does">) {
    const until = forMs === undefined ? {} : { until: this.#stage.deployment.wall() + forMs };
    const options = { ...(key && { key }), ...numbers, ...until };
    await this.#stage.call("steerLimit", { does: how, name, options });
  }

  async #bulk({ to, ofTop = false, state, from, atMost, perSecond }: ToMany): Promise<void> {
    const { top } = this.#stage.scenario;
    const at = to === "restart" && ofTop && from !== undefined ? { from } : {};
    const options = { do: to, where: state === undefined ? {} : { state }, atMost, perSecond };
    const given = Object.entries({
      ...options,
      ...this.#placeOf(top, { does: "restart", run: 0, ...at }),
    });
    const args = Object.fromEntries(given.filter(([, value]) => value !== undefined));
    await this.#stage.call("bulk", { ...args, ...(ofTop ? { name: top } : {}) });
  }

  async #stopBulk(which: number): Promise<void> {
    const going = this.#stage.rows("bulks").filter((bulk) => bulk.state === "running");
    const bulk = going[Math.floor(which * going.length)];
    if (bulk !== undefined) await this.#stage.call("stopBulk", { bulkId: bulk._id });
  }
}
