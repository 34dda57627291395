import type { Input } from "./behaviour.js";
import {
  type Compensation,
  type End,
  type Fault,
  isEnd,
  type Limit,
  topOf,
  type Undo,
} from "./definition.js";
import type { World } from "./world.js";

/** What an `onEnd` sees of its run. */
export interface EndedRun {
  readonly state: End;
  readonly output?: unknown;
  readonly error?: Fault | undefined;
}

/** How a run goes on, is paused and ends: what is promised of it, whatever its nodes are. */
export abstract class RunLife {
  state: "pending" | "running" | "compensating" | End = "pending";
  output: unknown = null;
  fault: Fault | undefined;
  /** What was completed, in that order. */
  undos: Undo[] = [];
  /** The nodes of the top level of which something was undone. */
  protected readonly undone = new Set<string>();
  /** Resolved at its end, when it is undone where it is to be. */
  readonly ended: Promise<void>;
  protected end: () => void = () => {};
  protected children: RunLife[] = [];
  /** What is to be called off when it ends. */
  protected readonly timers = new Set<() => void>();
  protected input: Input | undefined;
  /** [S103] Nothing of it begins, nor of those under it. */
  protected isPaused = false;
  protected resumed: Promise<void> = Promise.resolve();
  protected goOn: () => void = () => {};

  constructor(
    readonly world: World,
    readonly name: string,
    readonly key: string,
    protected readonly above: RunLife | undefined,
    /** Of a branch or an item: which, in its workflow. */
    protected readonly mark = "",
  ) {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }

  abstract begin(): void;

  get hasEndedBadly(): boolean {
    return this.state === "failed" || this.state === "canceled" || this.state === "timedOut";
  }

  /** [S83] [S87] @param keeps what it has done is not undone. @returns whether it did. */
  cancel(keeps = false): boolean {
    if (this.state !== "pending" && this.state !== "running") return false;
    void this.endBadly("canceled", this.faultAt("", "canceled"), keeps);
    return true;
  }

  /** [S103] @returns whether it did. */
  pause(): boolean {
    if (this.state !== "pending" && this.state !== "running") return false;
    if (this.isPaused) return true;
    this.isPaused = true;
    this.resumed = new Promise((resolve) => {
      this.goOn = resolve;
    });
    return true;
  }

  /** [S103] @returns whether it did. */
  resume(): boolean {
    if (!this.isPaused || (this.state !== "pending" && this.state !== "running")) return false;
    this.isPaused = false;
    this.goOn();
    return true;
  }

  protected get isHeld(): boolean {
    return this.isPaused || (this.above !== undefined && this.above.isHeld);
  }

  /** The next time that it, or a run above it, is resumed of those that are paused. */
  protected async nextResumed(): Promise<void> {
    if (this.isPaused) await this.resumed;
    else if (this.above !== undefined) await this.above.nextResumed();
  }

  /** Waits until something may begin. */
  protected async turn(what: string): Promise<void> {
    if (!this.isHeld) return;
    while (this.isHeld) await this.nextResumed();
    this.world.released(this.owner(what));
  }

  /** [S41] [S55] [S92] [S95] */
  protected async endBadly(
    state: Exclude<End, "completed">,
    fault: Fault,
    keeps = false,
  ): Promise<void> {
    if (this.state !== "pending" && this.state !== "running") return;
    const begun = this.state === "running";
    this.state = "compensating";
    for (const callOff of this.timers) callOff();
    this.fault = fault;
    // The siblings of one that failed are canceled before, and may have ended already.
    const going = this.children.filter(({ state: of }) => !isEnd(of) || of === "canceled");
    const listed = going.map(async (child) => {
      await child.ended;
      for (const error of child.fault?.compensationErrors ?? []) this.list(error);
    });
    for (const child of going) child.cancel(keeps);
    // [S169] What it has done can be undone of the runs above it.
    if (keeps) this.undos.push(...going.map((child) => ({ node: "", child })));
    else if (begun) {
      await Promise.all(listed);
      await this.undo();
    }
    this.finish(state, this.fault);
  }

  /** Undoes what was completed by it and those under it, the last first. */
  protected async undo(): Promise<void> {
    for (let last = this.lastUndo(); last !== undefined; last = this.lastUndo())
      this.list(await last.take()(this.fault!));
  }

  /** What was completed last of all that is not undone yet, and how it is taken to be undone. */
  protected lastUndo(): { at: number; take: () => Compensation } | undefined {
    const all = this.undos.flatMap((undo) => {
      const take = (compensation: () => Compensation) => () => {
        this.undone.add(topOf(undo.node));
        return compensation();
      };
      if ("child" in undo) {
        const last = undo.child.lastUndo();
        return last === undefined ? [] : [{ at: last.at, take: take(last.take) }];
      }
      const { at, compensate } = undo;
      const taken = () => {
        this.undos.splice(this.undos.indexOf(undo), 1);
        return compensate;
      };
      return [{ at, take: take(taken) }];
    });
    return all.toSorted((one, other) => one.at - other.at).at(-1);
  }

  /** [S94] */
  protected list(fault: Fault | undefined): void {
    if (fault === undefined || this.fault === undefined) return;
    const { cause: _, compensationErrors: _errors, ...listed } = fault;
    const compensationErrors = [...(this.fault.compensationErrors ?? []), listed].slice(0, 20);
    this.fault = { ...this.fault, compensationErrors };
  }

  protected finish(state: End, fault?: Fault): void {
    this.state = state;
    this.fault = fault;
    for (const callOff of this.timers) callOff();
    const how = state === "completed" ? { output: this.output } : { error: fault };
    if (this.input !== undefined) this.ends({ state, ...how });
    this.end();
  }

  /** [S170] It has its final state. */
  protected ends(_run: EndedRun): void {}

  /** What comes after happens only while the run goes on, and a node within its time. */
  protected async still<T>(what: Promise<T>, limit?: Limit): Promise<T> {
    const settled = await what.then(
      (value) => () => value,
      (error: unknown) => () => {
        throw error;
      },
    );
    if (this.state !== "running" || limit?.isOver === true)
      return await new Promise<never>(() => {});
    return settled();
  }

  /** Calls a function after a time, unless the run has ended. @returns what calls that off. */
  protected after(what: string, ms: number, call: () => void): () => void {
    const callOff = this.world.after(this.owner(what), ms, call);
    this.timers.add(callOff);
    return () => {
      callOff();
      this.timers.delete(callOff);
    };
  }

  protected owner(what: string): string {
    return `${this.input?.at}${this.mark} ${what}`;
  }

  protected faultAt(node: string, kind: string, attempt = 1): Fault {
    return { kind, workflow: this.name, node, attempt };
  }
}
