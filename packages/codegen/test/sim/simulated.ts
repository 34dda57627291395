import { isDeepStrictEqual } from "node:util";
import {
  type Backup,
  CLASSES,
  Deployment,
  type Faults,
  type FunctionPath,
  installTimers,
  textOf,
} from "@stepwise/testing";
import { checkTable, type Doc, type TableNames } from "../../../workflow/test/component.js";
import type { Job } from "../edits/deployed.js";
import { eventsIn } from "../differential/events-in.js";
import { comparable, comparableOutput, effectsOf, expected } from "../differential/expected.js";
import { keyOf } from "../differential/records.js";
import { brokenOf } from "../differential/invariants.js";
import type { RunRow, Sent, StepRow } from "../differential/rest.js";
import { type Fault, isEnd, type Workflows } from "../differential/definition.js";
import { OF_RUNS, UNDER_WAY, isUnwatched } from "../differential/tables.js";
import { type App, compiled } from "./app.js";
import type { Blow, Deed, Entry, Scenario, Start } from "./scenario.js";
import { plantLarge } from "./large.js";
import { isUnread } from "./unread.js";
import { Watch } from "./watch.js";

/** What a simulation has come to. */
export interface Outcome {
  /** What does not hold; nothing, where all is well. */
  readonly problems: readonly string[];
  /** What was done to it, and what that was answered. */
  readonly history: readonly string[];
  readonly events: number;
  /** Whether it was held against what the interpreter makes of the same definition. */
  readonly isCompared: boolean;
  /** Whether it took so long that it was ended before all was over. */
  readonly isGivenUp: boolean;
}

/**
 * What two things may be apart, in ms, and come in either order: transactions take their time, and
 * conflicts more.
 */
const TOLERANCE_MS = 5_000;
/** How long a fresh run of one action takes at most, in ms. */
const FRESH_MS = 10_000;
/**
 * After so many events all runs are canceled, so that loops of parents of loops do not take a
 * minute. Some wide scenarios are played for longer.
 */
const LONG_EVENTS = 4_000;
const LONGEST_EVENTS = 10_000;
/** How many events later that is tried again, where it was refused … */
const CUT_EVENTS = 500;
/** … and how many later it ends where it is: what runs have done may take as long to be undone. */
const MOST_MORE_EVENTS = 6_000;
/** In so many events some step ends, or it does not come to rest. */
const IDLE_EVENTS = 2_000;
const MOST_EFFECTS = 250;
const INPUT = { at: "top", n: 2 };
const JOBS = "_scheduled_functions";

/**
 * Plays a scenario, with an app in which its definition is; without one it is compiled.
 * @returns what does not hold.
 */
export async function simulated(scenario: Scenario, app?: App): Promise<Outcome> {
  return await new Simulation(scenario, app ?? (await compiled([scenario]))).play();
}

class Simulation {
  readonly #history: string[] = [];
  readonly #problems: string[] = [];
  readonly #sent: Sent[] = [];
  readonly #due = new Map<number, Entry[]>();
  readonly #workflows: Workflows;
  #deployment!: Deployment;
  #watch!: Watch;
  #events = 0;
  #count = 0;
  /** From then on nothing goes wrong any more. */
  #isOver = false;
  #needsRepair = false;
  #isCrowded = false;
  #isCut = false;
  #isGivenUp = false;
  #progress = { ended: 0, at: 0 };
  #uses = 0;
  #refusals = 0;
  #backup: Backup | undefined;

  constructor(
    readonly scenario: Scenario,
    readonly app: App,
  ) {
    this.#workflows = app.workflows;
    for (const entry of scenario.plan)
      if (entry.on === "event")
        this.#due.set(entry.nth, [...(this.#due.get(entry.nth) ?? []), entry]);
  }

  async play(): Promise<Outcome> {
    const { scenario } = this;
    const of = {
      ...CLASSES[scenario.class],
      ...scenario.throttle,
      actionLimitMs: 4 * 3_600_000,
    };
    const options = { class: of, seed: scenario.seed, faults: this.#faults() };
    const deployment = (this.#deployment = await Deployment.of(this.app.parts, options));
    plantLarge(deployment, scenario.seed);
    this.#watch = new Watch(deployment);
    const began = deployment.clock.now();
    try {
      if (scenario.maxParallelism !== undefined)
        await this.#done(this.#limit(scenario.maxParallelism));
      void this.#start({});
      await this.#drive();
      await this.#settle();
      await this.#check();
      if (this.#problems.length === 0) await this.#checkRest();
      if (this.#problems.length === 0) await this.#remove();
    } catch (error) {
      // What must hold after each commit has been looked at, and the rest cannot be.
      if (!this.#isGivenUp) this.#problems.push(`threw ${(error as Error).stack ?? String(error)}`);
    }
    const isCompared = this.#problems.length === 0 && (await this.#compare(began));
    const problems = [...this.#watch.problems, ...this.#problems];
    const isGivenUp = this.#isGivenUp;
    return { problems, history: this.#history, events: this.#events, isCompared, isGivenUp };
  }

  #faults(): Faults {
    const { plan, staleLag = 0, fullOfTen = 0 } = this.scenario;
    const nth = { action: 0, call: 0, mutation: 0 };
    const of = <On extends keyof typeof nth>(
      on: On,
      path: FunctionPath,
    ): Extract<Entry, { on: On }> | undefined => {
      if (this.#isOver) return undefined;
      nth[on] += 1;
      const entry = plan.find((each) => each.on === on && each.nth === nth[on]);
      if (entry !== undefined) this.#note(`${textOf(path)}: ${JSON.stringify(entry)}`);
      return entry as Extract<Entry, { on: On }> | undefined;
    };
    return {
      action: (path) => of("action", path)?.fault,
      // What a handler writes down itself is its own affair.
      call: (path) => (path.name === "runs:log" ? undefined : of("call", path)?.fault),
      timesOut: (path) => {
        if (path.name.startsWith("manage:") || of("mutation", path) === undefined) return false;
        // One that is gone for good, and looked after by nobody.
        this.#needsRepair ||= isUnwatched(path);
        return true;
      },
      refuses: () => {
        const isThrottled = this.scenario.throttle !== undefined && !this.#isOver;
        return isThrottled && ++this.#refusals % 23 === 0 ? "TooManyConcurrentRequests" : undefined;
      },
      forgets: isUnread,
      used: () => (this.#isOver || (this.#uses = (this.#uses + 7) % 10) >= fullOfTen ? 0 : 0.55),
      staleLag: () => (staleLag === 0 ? 0 : (this.#events * 7) % (staleLag + 1)),
    };
  }

  async #drive(): Promise<void> {
    const { scheduledAtOnce } = CLASSES[this.scenario.class];
    await this.#deployment.drive({
      done: () => {
        this.#events += 1;
        this.#isCrowded ||=
          this.#deployment.scheduler.running >= scheduledAtOnce || this.#lacksSlots();
        this.#checkProgress();
        if (this.#isOver) return false;
        if (this.#events >= this.#longest) this.#cut();
        else
          for (const entry of this.#due.get(this.#events) ?? [])
            if (entry.on === "event") this.#befall(entry);
        return false;
      },
    });
  }

  get #longest(): number {
    const { seed, profile } = this.scenario;
    return profile === "wide" && seed % 5 === 0 ? LONGEST_EVENTS : LONG_EVENTS;
  }

  #cut(): void {
    this.#isCut = true;
    if ((this.#events - this.#longest) % CUT_EVENTS !== 0) return;
    for (const { _id: runId, root, state } of this.#runs())
      if (root === undefined && !isEnd(state)) void this.#call("cancel", { runId });
  }

  #checkProgress(): void {
    const { ended } = this.#watch;
    if (ended > this.#progress.ended) this.#progress = { ended, at: this.#events };
    if (this.#events > this.#progress.at + IDLE_EVENTS) throw new Error("It does not come to rest");
    if (this.#events < this.#longest + MOST_MORE_EVENTS) return;
    this.#isGivenUp = true;
    throw new Error("It takes too long");
  }

  /** A work that waits though a slot is free goes on soon, or is a fault. */
  #lacksSlots(): boolean {
    const isHeld = ({ work }: Doc<"slots">) => work !== undefined;
    return this.#rows("waiting").length > 0 && this.#rows("slots").every(isHeld);
  }

  /** Until a call from outside is answered. */
  async #done<Result>(call: Promise<Result>): Promise<Result> {
    let isDone = false;
    const end = () => void (isDone = true);
    call.then(end, end);
    await this.#deployment.drive({ done: () => isDone });
    return await call;
  }

  #befall(what: (Deed | Blow) & { readonly nth: number }): void {
    const deployment = this.#deployment;
    switch (what.does) {
      case "crash":
        this.#note("crash");
        return deployment.crash(() => what.survives);
      case "restore":
        this.#note("restore");
        this.#needsRepair = true;
        return deployment.restore();
      case "backup":
        this.#note("backup");
        this.#backup = deployment.backup();
        return;
      case "bring back":
        if (this.#backup === undefined) return;
        this.#note(`${what.older} of the backup come back`);
        this.#needsRepair = true;
        this.#sent.length = 0;
        deployment.bringBack(this.#backup, what.older);
        return this.#watch.forget();
      case "jump":
        this.#note(`the clock jumps by ${what.ms} ms`);
        return deployment.jump(what.ms);
      case "cancel function":
      case "delete function":
        return this.#lose(what.does, what.which);
      default:
        void this.#do(what).catch(() => {});
    }
  }

  #lose(does: string, which: number): void {
    const jobs = this.#jobs().filter(({ state }) => state.kind === "pending");
    const job = jobs[Math.floor(which * jobs.length)];
    if (job === undefined) return;
    this.#note(`${does} ${job.name}`);
    this.#needsRepair ||= isUnwatched(job);
    const table = { component: "workflow", name: JOBS };
    // A row of the scheduler's, as it was.
    const next = { ...job, state: { kind: "canceled" } } as never;
    this.#deployment.edit(table, job._id, does === "delete function" ? undefined : next);
  }

  async #do(deed: Deed): Promise<void> {
    if (deed.does === "start") return await this.#start(deed);
    if (deed.does === "look") return await this.#look();
    if (deed.does === "storm")
      return void (await Promise.all(deed.deeds.map((each) => this.#do(each))));
    if (deed.does === "limit") return await this.#limit(deed.maxParallelism);
    if (deed.does === "repair") return void (await this.#call("repair", {}));
    const ofChildren = "child" in deed && deed.child === true;
    const tops = this.#runs().filter(({ root }) => (root === undefined) !== ofChildren);
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
      const awaited = this.#steps().flatMap((step) =>
        step.run === runId && step.endedAt === undefined ? (step.names ?? []) : [],
      );
      const events = [...awaited, ...eventsIn(this.#workflows[name]?.definition.nodes ?? {})];
      const event = events[Math.floor(deed.event * events.length)];
      if (event === undefined) return;
      const value = `event ${++this.#count}`;
      const answer = await this.#call("send", { name, runId, event, value });
      if (answer === "taken" || answer === "kept")
        this.#sent.push({ run: runId, generation, value, answer });
      return;
    }
    const nodes = Object.keys(this.#workflows[name]?.definition.nodes ?? {});
    const from =
      deed.does === "restart" && deed.from !== undefined
        ? { from: nodes[Math.floor(deed.from * nodes.length)] }
        : {};
    const input =
      "input" in deed && deed.input === true
        ? { input: { ...INPUT, at: `other${++this.#count}`, more: "x".repeat(2_000) } }
        : {};
    await this.#call(deed.does, { name, runId, ...from, ...input });
  }

  async #start({ refuses = false, ...options }: Start): Promise<void> {
    const input = this.#count === 0 ? INPUT : { ...INPUT, at: `top${this.#count}` };
    this.#count += 1;
    const { key, reuse, runAfter, expires } = options;
    const given = { key, reuse, runAfter, expires };
    const named = Object.entries(given).filter(([, value]) => value !== undefined);
    const args = { name: this.scenario.top, input, refuses, ...Object.fromEntries(named) };
    await this.#call("start", args);
  }

  /** What is shown of runs is what they are, and nothing stands still that nobody has harmed. */
  async #look(): Promise<void> {
    for (const { _id: runId, workflow: name, state } of this.#runs()) {
      const ask = { name, runId };
      const seen = (await this.#deployment.look("manage:look", ask)) as {
        state: string;
        stalled: boolean;
      } | null;
      const now = this.#runs().find(({ _id }) => _id === runId)?.state;
      if (seen?.state !== state && now === state)
        this.#problems.push(`${runId} is ${state}, seen as ${seen?.state}`);
      if (seen?.stalled === true && (this.#isOver || !this.#hasFaults))
        this.#problems.push(`${runId} is ${state}, and shown as stalled`);
    }
    const name = this.scenario.top;
    const before = this.#runs();
    const listed = (await this.#deployment.look("manage:all", { name })) as [string, string][];
    // The clock stands still while it looks, but others may have been about to commit.
    const areSame = String(this.#runs().map(stateOf)) === String(before.map(stateOf));
    const tops = before.filter((run) => run.workflow === name && run.root === undefined);
    const told = new Map(listed);
    for (const { _id, state } of tops)
      if (areSame && tops.length <= 100 && told.get(_id) !== state)
        this.#problems.push(`${_id} is ${state}, and listed as ${told.get(_id)}`);
  }

  /** Whether anything goes wrong but by what is asked for. */
  get #hasFaults(): boolean {
    const isDeed = (entry: Entry) =>
      entry.on === "event" &&
      !/^(crash|restore|jump|bring back|cancel function|delete function)$/.test(entry.does);
    const { plan, throttle, fullOfTen } = this.scenario;
    // What has less room may run out of it.
    return !plan.every(isDeed) || throttle !== undefined || fullOfTen !== undefined;
  }

  /** When all is over, nothing holds on: a fresh run finds a pool at rest, and is soon done. */
  async #checkRest(): Promise<void> {
    await this.#look();
    const [gate] = this.#rows("gate");
    if (gate !== undefined && !gate.open && gate.maxParallelism > 0)
      this.#problems.push("the gate is closed, and nothing waits");
    if (this.#rows("drain").some(({ on }) => on)) this.#problems.push("a drain is on");
    if (this.#rows("watch").some(({ watched, forHost }) => watched || forHost))
      this.#problems.push("the watchdog is on");
    const runs = new Set<string>(this.#runs().map(({ _id }) => _id));
    for (const table of ["steps", "undos", "inbox", "contexts", "deadlines"] as const)
      for (const { run } of this.#rows(table))
        if (!runs.has(run)) this.#problems.push(`a row in ${table} is of ${run}, which is gone`);
    const began = this.#deployment.clock.now();
    const args = { name: "probe", input: {}, refuses: false };
    const runId = await this.#granted("manage:start", args);
    await this.#drive();
    const probe = this.#runs().find(({ _id }) => _id === runId);
    const tookMs = (probe?.endedAt ?? Infinity) - (probe?.startedAt ?? began);
    if (probe?.state !== "completed" || tookMs > FRESH_MS)
      this.#problems.push(`a fresh run is ${probe?.state} after ${tookMs} ms`);
    await this.#granted("manage:cleanup", { runId: String(runId) });
  }

  /** Calls a mutation until the deployment, which may still be throttled, does not refuse it. */
  async #granted(name: string, args: Record<string, unknown>): Promise<unknown> {
    for (;;)
      try {
        return await this.#done(this.#deployment.mutation(name, args));
      } catch (error) {
        if (!/TooManyWrites|TooManyConcurrentRequests/.test(String(error))) throw error;
        await this.#deployment.advance(1_000);
      }
  }

  async #limit(maxParallelism: number): Promise<void> {
    this.#watch.mostParallel = Math.max(this.#watch.mostParallel, maxParallelism);
    await this.#call("limit", { maxParallelism });
  }

  async #call(name: string, args: Record<string, unknown>): Promise<unknown> {
    const answer = await this.#deployment.mutation(`manage:${name}`, args).catch((e: unknown) => e);
    const said = answer instanceof Error ? `refused: ${answer.message}` : String(answer);
    // Whatever is refused else may be by right.
    if (said.includes("Could not find")) this.#problems.push(`${name} was ${said}`);
    this.#note(`${name} ${JSON.stringify(args)}: ${said}`);
    return answer;
  }

  /** Calls again until it is not refused for what others write. */
  async #insist(name: string, args: Record<string, unknown>): Promise<void> {
    for (;;) {
      const answer = await this.#done(this.#call(name, args));
      if (!(answer instanceof Error) || !answer.message.startsWith("TooMany")) return;
      await this.#deployment.advance(2_000);
    }
  }

  /** Nothing goes wrong any more, and what was held goes on. */
  async #settle(): Promise<void> {
    this.#isOver = true;
    if (this.#needsRepair) await this.#insist("repair", {});
    await this.#drive();
    // Only now, as a call that pauses may have been under way.
    if (this.scenario.maxParallelism !== undefined) await this.#done(this.#limit(3));
    for (const { _id, paused } of this.#runs())
      if (paused === true) await this.#insist("resume", { runId: _id });
    await this.#drive();
  }

  async #check(): Promise<void> {
    const { plan } = this.scenario;
    const underWay = UNDER_WAY.map((table) => [table, this.#rows(table).length] as const);
    const slots = this.#rows("slots").filter(({ work }) => work !== undefined);
    const broken = brokenOf({
      workflows: this.#workflows,
      runs: this.#runs(),
      steps: this.#steps(),
      undos: this.#rows("undos"),
      inbox: this.#rows("inbox"),
      underWay: { ...Object.fromEntries(underWay), slots: slots.length },
      jobs: this.#jobs(),
      hasFaults: this.#hasFaults,
      violations: [],
      log: this.#watch.log,
      completions: this.#deployment.rows("", "ends"),
      steered: this.#watch.steered,
      stills: this.#watch.stills,
      sent: this.#sent,
    });
    const { mostActing, mostParallel } = this.#watch;
    if (!this.#hasFaults && mostParallel > 0 && mostActing > mostParallel)
      this.#problems.push(`${mostActing} actions ran at once of ${mostParallel}`);
    for (const step of this.#hasFaults ? [] : this.#steps())
      for (const { kind } of step.errors ?? [])
        if (kind === "lost") this.#problems.push(`${step.stage} of ${step.run} was lost`);
    const jumps = plan.some((entry) => entry.on === "event" && entry.does === "jump");
    const begun = new Map(
      this.#watch.log
        .filter(({ what }) => what === "begins")
        .map(({ key, attempt, text }) => [`${key} ${attempt}`, Number.parseInt(text, 10)]),
    );
    for (const step of jumps ? [] : this.#steps())
      for (const { attempt, nextAt } of step.retries ?? [])
        if ((begun.get(`${keyOf(step)} ${attempt + 1}`) ?? Infinity) < nextAt)
          this.#problems.push(`${keyOf(step)} was tried again too soon after attempt ${attempt}`);
    for (const [says, all] of Object.entries(broken)) {
      // What is told by the times of rows.
      if (jumps && /began each after|was undone first/.test(says)) continue;
      // An action that is under way may still say so; a mutation would have conflicted.
      const about = /nothing began after/.test(says)
        ? all.filter((each) => each.includes(" changes while "))
        : all;
      const isSeen = (each: string) => ![...this.#watch.unseen].some((id) => each.includes(id));
      const what = about.filter(isSeen);
      if (what.length > 0) this.#problems.push(`${says}: ${what.join(" | ")}`);
    }
  }

  async #remove(): Promise<void> {
    for (const { _id, root } of this.#runs())
      if (root === undefined && this.scenario.plan.length > 0)
        await this.#insist("cleanup", { runId: _id });
    if (this.scenario.plan.length === 0) return;
    await this.#drive();
    for (const table of OF_RUNS) {
      const { length } = this.#rows(table);
      if (length > 0) this.#problems.push(`${length} rows in ${table} when all runs are removed`);
    }
  }

  /**
   * A run to which nothing was done comes to what the interpreter comes to.
   * @returns whether that says something.
   */
  async #compare(began: number): Promise<boolean> {
    const { plan, top, maxParallelism, profile } = this.scenario;
    const [run] = this.#runs();
    // Of many children that begin together either may come first.
    const isLimited =
      this.#isCut ||
      this.#isGivenUp ||
      profile === "wide" ||
      this.#isCrowded ||
      maxParallelism !== undefined;
    if (plan.length > 0 || isLimited || run === undefined) return false;
    const timers = installTimers({ now: began });
    let told: Awaited<ReturnType<typeof expected>>;
    try {
      told = await expected(this.#workflows, top, [], timers, TOLERANCE_MS);
    } finally {
      timers.uninstall();
    }
    if (told.isAmbiguous || isTie(told.error) || told.effects.length > MOST_EFFECTS) return false;
    const log = this.#watch.log.map(({ text }) => text);
    const end = this.#steps().find(({ _id }) => _id === run.outputStep);
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
      this.#problems.push(`the run came to ${show(seen)}\n  the interpreter to ${show(wanted)}`);
    return true;
  }

  #note(what: string): void {
    this.#history.push(`${this.#events} ${what}`);
  }
  #rows<Table extends TableNames>(table: Table): Doc<Table>[] {
    checkTable(table);
    return this.#deployment.rows<Doc<Table>>("workflow", table);
  }
  #jobs(): Job[] {
    return this.#deployment.rows<Job>("workflow", JOBS);
  }
  #runs(): RunRow[] {
    return this.#rows("runs");
  }
  #steps(): StepRow[] {
    return this.#rows("steps");
  }
}

const stateOf = ({ _id, state }: RunRow): string => `${_id} ${state}`;

/**
 * Children that begin together time out together, however deep below, and any of them may be the
 * first.
 */
function isTie(error: Fault | undefined): boolean {
  if (error?.cause === undefined) return false;
  return (error.key !== undefined && error.cause.kind === "timedOut") || isTie(error.cause);
}

function show(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint" ? `${inner}n` : inner,
  );
}
