import { CLASSES, type Deployment } from "@stepwise/testing";
import { checkTable, type Doc, type TableNames } from "../../packages/workflow/test/component.js";
import { isEnd, type Workflows } from "../differential/definition.js";
import type { RunRow, Sent, StepRow } from "../differential/rest.js";
import type { Job } from "../edits/deployed.js";
import type { App } from "./app.js";
import { granted } from "./granted.js";
import { Idle } from "./idle.js";
import type { Entry, Scenario } from "./scenario.js";
import type { Watch } from "./watch.js";

/**
 * After so many events all runs are canceled, so that loops of parents of loops do not take a
 * minute. Some wide scenarios are played for longer.
 */
const LONG_EVENTS = 4_000;
const LONGEST_EVENTS = 10_000;
/** How many events later that is tried again, where it was refused … */
const CUT_EVENTS = 500;
/** … and how many later it ends where it is: what runs have done may take as long to be undone. */
const MOST_MORE_EVENTS = 3_000;
/** In so many events nothing has ended that goes on by itself. */
const HELD_EVENTS = 1_000;
/**
 * In so many events an attempt of a step ends, or it does not come to rest. Actions that were
 * canceled may go on for an hour, and their timers are events too.
 */
const IDLE_EVENTS = 3_000;
export const JOBS = "_scheduled_functions";

/** A deployment on which a scenario is played, what is known of it, and how to call it. */
export class Stage {
  readonly history: string[] = [];
  readonly problems: string[] = [];
  readonly sent: Sent[] = [];
  workflows: Workflows;
  deployment!: Deployment;
  watch!: Watch;
  idle!: Idle;
  events = 0;
  /** From then on nothing goes wrong any more. */
  isOver = false;
  needsRepair = false;
  /** The other version of the app is deployed. */
  isDeployed = false;
  /** It was, and the first one has come back since. */
  isBack = false;
  isCrowded = false;
  isCut = false;
  isGivenUp = false;
  #progress = { ended: 0, at: 0 };
  /** How many calls from outside are under way: what holds now, they may change. */
  #calling = 0;

  constructor(
    readonly scenario: Scenario,
    readonly app: App,
    /** What happens at an event. */
    readonly befall: (events: number) => void,
  ) {
    this.workflows = app.workflows;
  }

  async drive(): Promise<void> {
    const { scheduledAtOnce } = CLASSES[this.scenario.class];
    await this.deployment.drive({
      done: () => {
        this.events += 1;
        this.isCrowded ||=
          this.deployment.scheduler.running >= scheduledAtOnce || this.#lacksSlots();
        for (const looks of this.hasFaults ? [] : [this.idle, this.watch.lines]) {
          const isIdle = looks.look(scheduledAtOnce);
          if (isIdle !== undefined) this.watch.problems.add(isIdle);
        }
        if (this.#isHeld()) return true;
        this.#checkProgress();
        if (this.isOver) return false;
        if (this.events >= this.#longest) this.#cut();
        else this.befall(this.events);
        return false;
      },
    });
  }

  get #longest(): number {
    const { seed, profile } = this.scenario;
    return profile === "wide" && seed % 5 === 0 ? LONGEST_EVENTS : LONG_EVENTS;
  }

  #cut(): void {
    this.isCut = true;
    if ((this.events - this.#longest) % CUT_EVENTS !== 0) return;
    for (const { _id: runId, root, state } of this.runs())
      if (root === undefined && !isEnd(state)) void this.call("cancel", { runId });
  }

  /**
   * While the pool is paused, the removal of a run waits for an `onEnd` that waits for a slot: it
   * looks again and again.
   */
  #isHeld(): boolean {
    const { ended } = this.watch;
    if (ended > this.#progress.ended) this.#progress = { ended, at: this.events };
    if (this.#calling > 0 || this.events < this.#progress.at + HELD_EVENTS) return false;
    return this.rows("gate").some(({ maxParallelism }) => maxParallelism === 0);
  }

  #checkProgress(): void {
    if (this.events > this.#progress.at + IDLE_EVENTS) throw new Error("It does not come to rest");
    if (this.events < this.#longest + MOST_MORE_EVENTS) return;
    this.isGivenUp = true;
    throw new Error("It takes too long");
  }

  /** A work that waits though a slot is free goes on soon, or is a fault. */
  #lacksSlots(): boolean {
    const isHeld = ({ work }: Doc<"slots">) => work !== undefined;
    const { documents } = this.deployment.store.table("workflow", "waiting").documents;
    return documents.size > 0 && this.rows("slots").every(isHeld);
  }

  /** Until a call from outside is answered. */
  async done<Result>(call: Promise<Result>): Promise<Result> {
    let isDone = false;
    const end = () => void (isDone = true);
    call.then(end, end);
    await this.deployment.drive({ done: () => isDone });
    return await call;
  }

  /** Says whether anything goes wrong but by what is asked for. */
  get hasFaults(): boolean {
    const isDeed = (entry: Entry) =>
      entry.on === "event" &&
      !/^(crash|restore|jump|bring back|cancel function|delete function)$/.test(entry.does);
    const { plan, throttle, fullOfTen } = this.scenario;
    // What has less room may run out of it.
    return !plan.every(isDeed) || throttle !== undefined || fullOfTen !== undefined;
  }

  /** Calls a mutation until it is not refused. */
  async granted(name: string, args: Record<string, unknown>): Promise<unknown> {
    const call = () => this.done(this.deployment.mutation(name, args));
    return await granted(this.deployment, call);
  }

  async call(name: string, args: Record<string, unknown>): Promise<unknown> {
    this.#calling += 1;
    const answer = await this.deployment.mutation(`manage:${name}`, args).catch((e: unknown) => e);
    this.#calling -= 1;
    const said = answer instanceof Error ? `refused: ${answer.message}` : String(answer);
    // Whatever is refused else may be by right.
    if (said.includes("Could not find")) this.problems.push(`${name} was ${said}`);
    this.note(`${name} ${JSON.stringify(args)}: ${said}`);
    return answer;
  }

  /** Calls again until it is not refused for what others write. */
  async insist(name: string, args: Record<string, unknown>): Promise<void> {
    for (;;) {
      const answer = await this.done(this.call(name, args));
      if (!(answer instanceof Error) || !answer.message.startsWith("TooMany")) return;
      await this.deployment.advance(2_000);
    }
  }

  note(what: string): void {
    this.history.push(`${this.events} ${what}`);
  }
  rows<Table extends TableNames>(table: Table): Doc<Table>[] {
    checkTable(table);
    return this.deployment.rows<Doc<Table>>("workflow", table);
  }
  jobs(): Job[] {
    return this.deployment.rows<Job>("workflow", JOBS);
  }
  runs(): RunRow[] {
    return this.rows("runs");
  }
  steps(): StepRow[] {
    return this.rows("steps");
  }
}
