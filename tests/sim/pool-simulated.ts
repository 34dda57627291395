import { CLASSES, type Commit, Deployment, type Faults, textOf } from "@stepwise/testing";
import type { Limits } from "@stepwise/workpool";
import type {
  Doc,
  TableNames,
} from "../../packages/workpool/src/component/_generated/dataModel.js";
import type { Job } from "../edits/deployed.js";
import { type Asked, type Happened, parts, type Work } from "./pool-app.js";
import type { PoolEntry, PoolScenario } from "./pool-scenario.js";
import type { Outcome } from "./simulated.js";
import { granted } from "./granted.js";
import { Idle } from "./idle.js";
import { plantLarge } from "./large.js";
import { FIRST_LIMITS, PoolLimits, UNSTEERED } from "./pool-limits.js";
import { HeldWorks, PoolHolds } from "./pool-holds.js";
import { PoolLines } from "./pool-lines.js";
import { PoolOrder } from "./pool-order.js";
import { PoolTurns } from "./pool-turns.js";
import { PoolRates } from "./pool-rates.js";
import { PoolWaits } from "./pool-waits.js";
import { type Held, isInSlot } from "./seats.js";
import { isUnread } from "./unread.js";

const JOBS = "_scheduled_functions";
const MOST_EVENTS = 50_000;
const FRESH_MS = 10_000;
const AT_REST = [
  "works",
  "waiting",
  "limited",
  "lines",
  "permits",
  "largeArgs",
  "largeValues",
  "continuations",
  "waits",
] as const;

/** Plays a scenario of a pool of its own. @returns what does not hold. */
export async function poolSimulated(scenario: PoolScenario): Promise<Outcome> {
  return await new PoolSimulation(scenario).play();
}

class PoolSimulation {
  readonly #history: string[] = [];
  readonly #problems: string[] = [];
  #deployment!: Deployment;
  #idle!: Idle;
  #lines!: PoolLines;
  #rates!: PoolRates;
  #waits!: PoolWaits;
  #events = 0;
  #uses = 0;
  /** In the order of commits. */
  readonly #asked: Asked[] = [];
  readonly #happened: Happened[] = [];
  #isOver = false;
  #mostParallel = 0;
  #acting = 0;
  /** What the watchdog took for lost. */
  readonly #lost: string[] = [];
  #mostActing = 0;

  constructor(readonly scenario: PoolScenario) {}

  async play(): Promise<Outcome> {
    const { scenario } = this;
    const of = { ...CLASSES[scenario.class], ...scenario.throttle, actionLimitMs: 4 * 3_600_000 };
    const options = { class: of, seed: scenario.seed, faults: this.#faults() };
    const deployment = (this.#deployment = await Deployment.of(parts, options));
    plantLarge(deployment, scenario.seed);
    this.#watch();
    this.#idle = new Idle(deployment, "workpool");
    try {
      await this.#done(this.#limit(scenario.maxParallelism));
      await this.#drive();
      const waits = this.#hasFaults ? undefined : this.#idle.atRest();
      if (waits !== undefined) this.#problems.push(waits);
      this.#isOver = true;
      await this.#insist("repair", {});
      await granted(deployment, () => this.#done(this.#limit(3)));
      if (scenario.plan.some((entry) => entry.on === "event" && entry.does === "steer limit"))
        for (const each of UNSTEERED) await this.#insist("steerLimit", { ...each });
      await this.#drive();
      await this.#check();
      await this.#checkRest();
    } catch (error) {
      this.#problems.push(`threw ${(error as Error).stack ?? String(error)}`);
    }
    const problems = [...new Set(this.#problems)];
    return {
      problems,
      history: this.#history,
      events: this.#events,
      isCompared: false,
      isGivenUp: false,
    };
  }

  #faults(): Faults {
    let refusals = 0;
    const { plan, throttle, staleLag = 0, fullOfTen = 0 } = this.scenario;
    const nth = { action: 0, call: 0, mutation: 0 };
    const of = <On extends keyof typeof nth>(on: On, name: string) => {
      // What a work writes down itself is its own affair.
      if (this.#isOver || name === "works:log") return undefined;
      nth[on] += 1;
      const entry = plan.find((each) => each.on === on && each.nth === nth[on]);
      if (entry !== undefined) this.#note(`${name}: ${JSON.stringify(entry)}`);
      return entry as Extract<PoolEntry, { on: On }> | undefined;
    };
    return {
      action: (path) => of("action", textOf(path))?.fault,
      call: (path) => of("call", textOf(path))?.fault,
      timesOut: ({ component, name }) =>
        component === "workpool" && of("mutation", name) !== undefined,
      refuses: () => {
        const isThrottled = throttle !== undefined && !this.#isOver;
        return isThrottled && ++refusals % 23 === 0 ? "TooManyConcurrentRequests" : undefined;
      },
      forgets: isUnread,
      used: () => (this.#isOver || (this.#uses = (this.#uses + 7) % 10) >= fullOfTen ? 0 : 0.55),
      staleLag: () => (staleLag === 0 ? 0 : (this.#events * 7) % (staleLag + 1)),
    };
  }

  /** What must hold after every commit. */
  #watch(): void {
    let held = 0;
    const tell = (problem: string) => void this.#problems.push(problem);
    const limits = new PoolLimits(this.#deployment, tell);
    const place = { component: "workpool", works: "works" };
    const rates = new PoolRates(this.#deployment, tell, place, (commit) => this.#used(commit));
    const waits = new PoolWaits(this.#deployment, tell, {
      component: "workpool",
      maxWaiting: FIRST_LIMITS.scarce.maxWaiting,
      isRefusal: ({ table, next }) => table.path === "asked" && next?.["asks"] === "in vain",
      mayBeRefused: (_work, { by }) => by.endsWith("works:enqueue"),
      atMostOf: (work) => this.#workOf(work)?.waitAtMost,
    });
    [this.#rates, this.#waits] = [rates, waits];
    this.#lines = new PoolLines(this.#deployment, "workpool", rates);
    const order = new PoolOrder(this.#deployment, tell, "workpool");
    const turns = new PoolTurns(this.#deployment, tell, "workpool");
    const asking = new HeldWorks((id) => this.#workOf(id));
    const holds = new PoolHolds(this.#deployment, tell, place, (id) => asking.of(id));
    this.#deployment.onCommit((commit) => {
      limits.see(commit);
      rates.see(commit);
      waits.see(commit);
      order.see(commit);
      turns.see(commit);
      // An attempt that is lost has asked for nothing.
      asking.see(commit);
      if (!this.#hasFaults) holds.see(commit);
      const { by, writes } = commit;
      for (const { table, old, next } of writes) {
        if (table.path === "workpool/slots") {
          for (const [row, by] of [
            [old, -1],
            [next, 1],
          ] as const)
            if (row !== undefined && isInSlot(row as unknown as Held)) held += by;
          const had = old?.["work"];
          if (by.endsWith("watchdog:sweep") && had !== undefined && next?.["work"] !== had)
            this.#lost.push(String(had));
        }
        // What the app has written itself.
        if (table.path === "asked") this.#asked.push(next as unknown as Asked);
        if (table.path === "happened") this.#happened.push(next as unknown as Happened);
      }
      if (held > this.#mostParallel)
        this.#problems.push(`${held} slots are held of ${this.#mostParallel}`);
    });
    this.#deployment.onHappening((event) => {
      if (event.what === "crash") this.#acting = 0;
      if (!("path" in event) || textOf(event.path) !== "works:act") return;
      if (event.what === "began") this.#mostActing = Math.max(this.#mostActing, ++this.#acting);
      else if (event.what === "ended") this.#acting -= 1;
    });
  }

  /** What works have used that end in a commit, as far as they say. */
  #used({ writes }: Commit): Map<string, Record<string, number>> {
    const used = new Map<string, Record<string, number>>();
    for (const { table, next } of writes) {
      // What the app has written itself.
      const { label, what } = (next ?? {}) as Partial<Happened>;
      if (table.path !== "happened" || what !== "success") continue;
      const asked = this.#asked.find((one) => one.asks === "work" && one.work.label === label);
      if (asked?.asks === "work" && asked.work.uses !== undefined)
        used.set(asked.workId, { tokens: asked.work.uses });
    }
    return used;
  }

  async #drive(): Promise<void> {
    const until = this.#events + MOST_EVENTS;
    const { scheduledAtOnce } = CLASSES[this.scenario.class];
    await this.#deployment.drive({
      done: () => {
        this.#events += 1;
        for (const looks of this.#hasFaults ? [] : [this.#idle, this.#lines]) {
          const isIdle = looks.look(scheduledAtOnce);
          if (isIdle !== undefined) this.#problems.push(isIdle);
        }
        if (this.#events > until) throw new Error("It does not come to rest");
        if (this.#isOver) return false;
        for (const entry of this.scenario.plan)
          if (entry.on === "event" && entry.nth === this.#events)
            // As an event of its own: with none to come the drive would be over. What comes after
            // it would befall the calls that put the pool right.
            this.#deployment.at(0, () => {
              if (!this.#isOver) this.#befall(entry);
            });
        return false;
      },
    });
  }

  async #done<Result>(call: Promise<Result>): Promise<Result> {
    let isDone = false;
    const end = () => void (isDone = true);
    call.then(end, end);
    await this.#deployment.drive({ done: () => isDone });
    return await call;
  }

  #befall(what: Extract<PoolEntry, { on: "event" }>): void {
    const deployment = this.#deployment;
    this.#note(JSON.stringify(what));
    switch (what.does) {
      case "crash":
        return deployment.crash(() => what.survives);
      case "restore":
        return deployment.restore();
      case "jump":
        return deployment.jump(what.ms);
      case "cancel function":
      case "delete function": {
        const jobs = deployment
          .rows<Job>("workpool", JOBS)
          .filter(({ state }) => state.kind === "pending");
        const job = jobs[Math.floor(what.which * jobs.length)];
        if (job === undefined) return;
        const next = { ...job, state: { kind: "canceled" } } as never;
        const table = { component: "workpool", name: JOBS };
        return deployment.edit(table, job._id, what.does === "delete function" ? undefined : next);
      }
      case "enqueue":
        return void this.#call("enqueue", { works: what.works });
      case "cancel work": {
        const works = this.#works();
        const work = works[Math.floor(what.which * works.length)];
        if (work !== undefined) void this.#call("cancel", { label: work.label });
        return;
      }
      case "cancel all":
        return void this.#call("cancelAll", { limit: what.limit });
      case "limit":
        return void this.#limit(what.maxParallelism, what.limits).catch(() => {});
      case "steer limit": {
        const { how, name, options } = what;
        return void this.#call("steerLimit", { how, name, options });
      }
      case "repair":
        return void this.#call("repair", {});
      case "look":
        return void this.#look().catch((error: unknown) => this.#problems.push(String(error)));
      default:
    }
  }

  async #limit(maxParallelism: number, limits?: Limits): Promise<void> {
    this.#mostParallel = Math.max(this.#mostParallel, maxParallelism);
    const config = limits === undefined ? { maxParallelism } : { maxParallelism, limits };
    await this.#deployment.mutation("works:limit", config);
  }

  async #call(name: string, args: Record<string, unknown>): Promise<void> {
    const answer = this.#deployment.mutation(`works:${name}`, args);
    await answer.catch((error: Error) => this.#note(`${name} was refused: ${error.message}`));
  }

  async #insist(name: string, args: Record<string, unknown>): Promise<void> {
    const call = () => this.#done(this.#deployment.mutation(`works:${name}`, args));
    await granted(this.#deployment, call);
  }

  /** What is shown of works is what the rows say. */
  async #look(): Promise<void> {
    const asked = this.#asked.filter((one) => one.asks === "work");
    const ids = asked.map(({ workId }) => workId);
    const seen = (await this.#deployment.look("works:status", { ids })) as {
      works: readonly { state: string }[];
      summary: { running: number; waiting: number };
    };
    const there = new Set<string>(this.#rows("works").map(({ _id }) => _id));
    for (const [index, { state }] of seen.works.entries())
      if (this.#isOver && (state === "finished") === there.has(ids[index]!))
        this.#problems.push(`${asked[index]!.work.label} is shown as ${state}`);
    if (this.#isOver && seen.summary.running + seen.summary.waiting > 0)
      this.#problems.push(`at rest the summary is ${JSON.stringify(seen.summary)}`);
  }

  /** Says whether anything goes wrong but by what is asked for. */
  get #hasFaults(): boolean {
    const { plan, throttle, fullOfTen } = this.scenario;
    const isDeed = (entry: PoolEntry) =>
      entry.on === "event" &&
      !/^(crash|restore|jump|cancel function|delete function)$/.test(entry.does);
    return !plan.every(isDeed) || throttle !== undefined || fullOfTen !== undefined;
  }

  /** A page of a `cancelAll` that callbacks use up fails, and is done again one by one. */
  #mayFail(name: string): boolean {
    const isGreedy = this.#works().some(({ callback }) => callback === "greedy");
    return isGreedy && name === "cancelAll:nextPage";
  }

  async #check(): Promise<void> {
    const happened = this.#happened;
    const failed = this.#rows("failedCallbacks");
    const asked = this.#asked;
    const aside = new Set(this.#rows("setAside").map(({ work }) => work));
    for (const [place, one] of asked.entries()) {
      // An operator has the last word.
      if (one.asks !== "work" || aside.has(one.workId)) continue;
      const wasCanceled = asked.some((each, index) =>
        each.asks === "cancel all"
          ? index > place || isCreatedUpTo(asked.slice(0, index + 1), one)
          : index > place && each.asks === "cancel" && each.label === one.work.label,
      );
      const own = happened.filter(({ label }) => label === one.work.label);
      const told = failed.filter(({ workId }) => workId === one.workId).length;
      this.#checkWork(one, own, told, wasCanceled, this.#waits.waited.get(one.workId));
    }
    if (!this.#hasFaults && this.#mostActing > this.#mostParallel)
      this.#problems.push(`${this.#mostActing} actions ran at once of ${this.#mostParallel}`);
    if (!this.#hasFaults && this.#lost.length > 0)
      this.#problems.push(`nothing was lost but what the watchdog found: ${this.#lost.join()}`);
    const jobs = this.#deployment.rows<Job>("workpool", JOBS);
    for (const { name, state } of jobs)
      if (state.kind === "failed" && !this.#hasFaults && !this.#mayFail(name))
        this.#problems.push(`${name} failed`);
  }

  #checkWork(
    { work, at }: Extract<Asked, { asks: "work" }>,
    own: readonly Happened[],
    failedCallbacks: number,
    wasCanceled: boolean,
    waited: number | undefined,
  ): void {
    const { label, kind, fails, callback, runAfter = 0, waitAtMost, held } = work;
    // What holds a limit does not count as an attempt.
    const maxAttempts = work.maxAttempts + (held?.times ?? 0);
    const wrong = (what: string) =>
      this.#problems.push(`${label}: ${what}: ${JSON.stringify([work, own])}`);
    const results = own.filter(({ what }) => /^(success|failed|canceled)$/.test(what));
    const refuses = callback === "throws" || callback === "greedy";
    if (results.length + failedCallbacks !== 1 || refuses !== failedCallbacks > 0)
      wrong(`it was told ${results.length} times, and failed to be ${failedCallbacks} times`);
    const begins = own.filter(({ what }) => what === "begins");
    if (begins.length > maxAttempts) wrong(`${begins.length} attempts of ${maxAttempts} began`);
    if (!this.#isMoved && own.some((each) => each.what === "begins" && each.at < at + runAfter))
      wrong("it began too soon");
    const [result] = results;
    if (result === undefined) return;
    const place = own.indexOf(result);
    const after = own.slice(place + 1).some(({ what }) => what === "begins" || what === "changes");
    if (after) wrong("it began after its end");
    if (result.what === "canceled" && !wasCanceled && work.cancelsItself !== true)
      wrong("nobody has canceled it");
    const ends = own.filter(({ what }) => what === "ends").length;
    const changes = own.filter(({ what }) => what === "changes").length;
    if (kind === "mutation" && changes !== Number(result.what === "success"))
      wrong(`it took effect ${changes} times`);
    if (kind === "action" && result.what === "success" && ends === 0) wrong("it has not ended");
    const isTooLong = result.error?.startsWith("Timed out waiting") === true;
    if (isTooLong && !this.#isMoved) {
      const problem = PoolWaits.told(waited, waitAtMost ?? Infinity, this.#hasFaults);
      if (problem !== undefined) wrong(problem);
    }
    if (this.#hasFaults) return;
    if (result.what === "failed" && ends > 0) wrong("it was completed");
    if (wasCanceled || isTooLong) return;
    const attempts = Math.min(fails + 1, work.maxAttempts) + (held?.times ?? 0);
    const wanted = fails >= work.maxAttempts ? "failed" : "success";
    if (result.what !== wanted) wrong(`it should be a ${wanted}`);
    if (kind === "action" && begins.length !== attempts) wrong(`it takes ${attempts} attempts`);
    // So long after an attempt has failed the next one begins: 1 s, 2 s, … with some jitter.
    for (const [index, { at: began }] of begins.slice(held?.times ?? 0).entries()) {
      const before = begins[index - 1 + (held?.times ?? 0)];
      if (index > 0 && before !== undefined && began - before.at - work.ms < 450 * 2 ** (index - 1))
        wrong("it was tried again too soon");
    }
  }

  /** A clock that was moved says nothing of how long something took. */
  get #isMoved(): boolean {
    const { plan } = this.scenario;
    return plan.some((entry) => entry.on === "event" && entry.does === "jump");
  }

  async #checkRest(): Promise<void> {
    this.#rates.atRest();
    for (const table of AT_REST) {
      const { length } = this.#rows(table);
      if (length > 0 && this.#rows("setAside").length === 0)
        this.#problems.push(`${length} rows in ${table} at the end`);
    }
    if (!this.#hasFaults && this.#rows("setAside").length > 0)
      this.#problems.push("something was set aside");
    if (this.#rows("slots").some(({ work }) => work !== undefined))
      this.#problems.push("a slot is held at the end");
    const [gate] = this.#rows("gate");
    if (gate?.open !== true) this.#problems.push("the gate is closed, and nothing waits");
    if (this.#rows("drain").some(({ on }) => on)) this.#problems.push("a drain is on");
    if (this.#rows("watch").some(({ watched, forHost }) => watched || forHost))
      this.#problems.push("the watchdog is on");
    if (!this.#hasFaults && this.#rows("executors").some(({ job }) => job !== undefined))
      this.#problems.push("an executor is said to go on");
    await this.#look();
    // What it writes down itself may be refused.
    const maxAttempts = this.scenario.throttle === undefined ? 1 : 3;
    const work = { label: "fresh", kind: "action", fails: 0, maxAttempts, ms: 0 } as const;
    const began = this.#deployment.clock.now();
    await this.#insist("enqueue", { works: [work] });
    await this.#deployment.advance(FRESH_MS);
    if (!this.#happened.some(({ label, what }) => label === "fresh" && what === "success"))
      this.#problems.push(`a fresh work is not done ${this.#deployment.clock.now() - began} ms on`);
  }

  #note(what: string): void {
    this.#history.push(`${this.#events} ${what}`);
  }
  #workOf(id: string): Work | undefined {
    const one = this.#asked.find((each) => each.asks === "work" && each.workId === id);
    return one?.asks === "work" ? one.work : undefined;
  }
  #works(): Work[] {
    return this.#asked.flatMap((one) => (one.asks === "work" ? [one.work] : []));
  }
  #rows<Table extends TableNames>(table: Table): Doc<Table>[] {
    return this.#deployment.rows<Doc<Table>>("workpool", table);
  }
}

/**
 * Of two transactions that overlap, the one that is created first may commit last. And once the
 * clock went back, what is created later may be the older. A work has another time than its start.
 */
function isCreatedUpTo(all: readonly Asked[], one: Asked): boolean {
  return all.some(({ _creationTime }) => _creationTime + 1 >= one._creationTime);
}
