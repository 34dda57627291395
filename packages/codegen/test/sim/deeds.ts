import type { Backup } from "@stepwise/testing";
import { isEnd } from "../differential/definition.js";
import { eventsIn } from "../differential/events-in.js";
import type { RunRow } from "../differential/rest.js";
import { isUnwatched } from "../differential/tables.js";
import { look } from "./look.js";
import { ENCORE } from "./scenario.js";
import type { Blow, Deed, Entry, Start } from "./scenario.js";
import { JOBS, type Stage } from "./stage.js";

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

  /** All that is due at an event. */
  at(events: number): void {
    for (const entry of this.#due.get(events) ?? []) this.#befall(entry);
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
    this.#stage.note("the other version is deployed");
    this.#stage.isDeployed = true;
    this.#stage.workflows = app.later.workflows;
    void deployment.deploy(app.later.parts);
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
    if (deed.does === "limit") return await this.limit(deed.maxParallelism);
    if (deed.does === "repair") return void (await this.#stage.call("repair", {}));
    const ofChildren = "child" in deed && deed.child === true;
    const tops = this.#stage.runs().filter(({ root }) => (root === undefined) !== ofChildren);
    const suits = ({ state, paused }: RunRow) =>
      ({
        send: !isEnd(state),
        cancel: !isEnd(state),
        pause: !isEnd(state) && paused !== true,
        resume: paused === true,
        restart: isEnd(state),
        cleanup: isEnd(state),
      })[deed.does];
    const some = tops.filter(suits);
    const among = some.length > 0 ? some : tops;
    const run = among[Math.floor(deed.run * among.length)];
    if (run === undefined) return;
    const { _id: runId, workflow: name, generation = 1 } = run;
    if (deed.does === "send") {
      const awaited = this.#stage
        .steps()
        .flatMap((step) =>
          step.run === runId && step.endedAt === undefined ? (step.names ?? []) : [],
        );
      const events = [...awaited, ...eventsIn(this.#stage.workflows[name]?.definition.nodes ?? {})];
      const event = events[Math.floor(deed.event * events.length)];
      if (event === undefined) return;
      const value = `event ${++this.#count}`;
      const answer = await this.#stage.call("send", { name, runId, event, value });
      if (answer === "taken" || answer === "kept")
        this.#stage.sent.push({ run: runId, generation, value, answer });
      return;
    }
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

  async start({ refuses = false, ...options }: Start): Promise<void> {
    const input = this.#count === 0 ? INPUT : { ...INPUT, at: `top${this.#count}` };
    this.#count += 1;
    const { key, reuse, runAfter, expires } = options;
    const runAt =
      options.runAt === undefined ? undefined : this.#stage.deployment.wall() + options.runAt;
    const given = { key, reuse, runAfter, runAt, expires };
    const named = Object.entries(given).filter(([, value]) => value !== undefined);
    const args = { name: this.#stage.scenario.top, input, refuses, ...Object.fromEntries(named) };
    await this.#stage.call("start", args);
  }

  async limit(maxParallelism: number): Promise<void> {
    this.#stage.watch.mostParallel = Math.max(this.#stage.watch.mostParallel, maxParallelism);
    await this.#stage.call("limit", { maxParallelism });
  }
}
