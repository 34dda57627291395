import { convexToJson, jsonToConvex, type Value } from "convex/values";
import { getFunctionName, type FunctionReference } from "convex/server";
import { referenced, type Call, type Input } from "./behaviour.js";
import { World } from "./world.js";

/*
 * What a workflow does, said once more in the plainest way: its definition is gone through in memory, node by node, with the handlers that
 * are written in it. There is no transaction, no record and no token here; what a promise says is done by doing it. Time is virtual.
 */

/** A definition as its author wrote it. What a node holds was written by the generator; which kind it is shows by its members. */
export interface Definition {
  readonly options: {
    readonly input: Schema;
    readonly retry?: Retry;
    readonly timeout?: number;
  };
  readonly nodes: Nodes;
}
/* Whatever a builder takes, of any kind. */
export type Node = any;
export type Nodes = Readonly<Record<string, Node>>;
type Retry = boolean | { readonly maxAttempts: number; readonly maxBackoffMs: number };
interface Schema {
  readonly "~standard": {
    validate(value: unknown): { readonly issues?: unknown; readonly value?: unknown };
  };
}
type Scope = Readonly<Record<string, unknown>>;

/** By name. */
export type Workflows = Readonly<
  Record<
    string,
    {
      readonly definition: Definition;
      /** What each node of the top level reads. */
      readonly nodes?: Readonly<Record<string, readonly string[]>>;
    }
  >
>;

/** An error, as far as the promises say what it is. */
export interface Fault {
  readonly kind: string;
  readonly workflow: string;
  readonly node: string;
  readonly attempt: number;
  /** Of one that a handler threw. */
  readonly message?: string;
  readonly data?: unknown;
  readonly key?: string;
  readonly cause?: Fault;
  readonly compensationErrors?: readonly Fault[];
}

class Failed extends Error {
  constructor(readonly fault: Fault) {
    super(fault.kind);
  }
}

export type End = "completed" | "failed" | "canceled" | "timedOut";

/** Something that was completed and can be undone: a step, or a child with such steps. */
type Undo = { readonly node: string } & (
  | { readonly child: Interpreted }
  /** `at` counts what was completed, in all runs. */
  | { readonly at: number; readonly compensate: Compensation }
);
type Compensation = (cause: Fault) => Promise<Fault | undefined>;

/** Where a node stands. */
interface Place {
  /** What the paths of its sequence begin with. */
  readonly prefix: string;
  readonly isInLoop: boolean;
}

/** How a handler is run. */
interface Handled {
  readonly stage: string;
  readonly handler: Node;
  readonly scope: Scope;
  readonly timeout?: number | undefined;
  /** A compensation goes on though its run does not. */
  readonly isUndoing?: boolean;
}

const KINDS = ["action", "mutation", "query"] as const;
type Kind = (typeof KINDS)[number];
/** [S31] [S33] [S34] */
const RETRIED = ["thrown", "timedOut"];

/** Whether a run in the state has come to its end. */
export function isEnd(state: string): state is End {
  return /^(completed|failed|canceled|timedOut)$/.test(state);
}

/** Where a run comes from, that was not started as most are. */
interface Origin {
  /** Of a child: its key, and the run whose child it is. */
  readonly key?: string;
  readonly above?: Interpreted;
  /** Of a further generation: the one before it, and the node from which that was restarted. */
  readonly before?: Interpreted;
  readonly from?: string | undefined;
}

/** The node of the top level that a stage belongs to. */
function topOf(stage: string): string {
  return stage.split(".")[0] ?? "";
}

/** One run of a workflow. */
export class Interpreted {
  state: "pending" | "running" | "compensating" | End = "pending";
  output: unknown = null;
  fault: Fault | undefined;
  readonly key: string;
  readonly #above: Interpreted | undefined;
  /** What was completed, in that order. */
  readonly undos: Undo[];
  /** Of the top level: the outputs of the nodes that are completed, and those of which something was undone. */
  readonly #outputs = new Map<string, unknown>();
  readonly #undone = new Set<string>();
  /** Resolved at its end, when it is undone where it is to be. */
  readonly ended: Promise<void>;
  #end: () => void = () => {};
  #children: Interpreted[] = [];
  /** What is to be called off when it ends. */
  readonly #timers = new Set<() => void>();
  readonly #input: Input | undefined;
  readonly #definition: Definition;
  readonly #inbox: { name: string; value: unknown }[];
  /** The event that it waits for. */
  #waiting: { names: readonly string[]; got: (name: string, value: unknown) => void } | undefined;
  /** [S103] Nothing of it begins, nor of those under it. */
  #isPaused = false;
  #resumed: Promise<void> = Promise.resolve();
  #resume: () => void = () => {};
  readonly #reached = new Set<string>();
  readonly #over = new Set<string>();
  /** Of branches: which case. */
  readonly #chosen = new Map<string, string>();

  constructor(
    readonly world: World,
    readonly workflows: Workflows,
    readonly name: string,
    input: unknown,
    { key = "", above, before, from }: Origin = {},
  ) {
    this.key = key;
    this.#above = above;
    // [S102] Events that no node has taken yet are still there.
    this.#inbox = before === undefined ? [] : before.#inbox;
    const kept = before === undefined || from === undefined ? [] : before.#keptFrom(from);
    this.undos = before?.undos.filter(({ node }) => kept.includes(topOf(node))) ?? [];
    for (const node of kept) {
      if (before !== undefined) this.#outputs.set(node, before.#outputs.get(node));
      this.#reached.add(node);
      this.#over.add(node);
    }
    const workflow = workflows[name];
    if (workflow === undefined) throw new Error(`There is no workflow "${name}"`);
    this.#definition = workflow.definition;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    const parsed = this.#definition.options.input["~standard"].validate(input);
    if (parsed.issues === undefined) this.#input = stored(parsed.value) as unknown as Input;
    // [S17]
    else this.#finish("failed", this.#faultAt("input", "invalidInput"));
  }

  /** [S102] The nodes that keep their result when the run begins anew from one of them. */
  #keptFrom(from: string): string[] {
    const affected = new Set<string>();
    const kept: string[] = [];
    for (const node of Object.keys(this.#definition.nodes)) {
      const reads = this.workflows[this.name]?.nodes?.[node] ?? ["*"];
      const isAffected = reads.some((read) =>
        read === "*" ? affected.size > 0 : affected.has(read),
      );
      const stands = this.#outputs.has(node) && !this.#undone.has(node);
      if (node !== from && stands && !isAffected) kept.push(node);
      else affected.add(node);
    }
    return kept;
  }

  get hasEndedBadly(): boolean {
    return this.state === "failed" || this.state === "canceled" || this.state === "timedOut";
  }

  begin(): void {
    if (this.state !== "pending" || this.#input === undefined) return;
    this.state = "running";
    const { timeout } = this.#definition.options;
    const expired = () => void this.#endBadly("timedOut", this.#faultAt("", "timedOut"));
    if (timeout !== undefined) this.#after("", timeout, expired);
    const place = { prefix: "", isInLoop: false };
    const scope = { input: this.#input };
    // One that is paused before it has begun comes to its first node when it goes on.
    const all = this.#still(this.#turn("")).then(
      async () => await this.#sequence(this.#definition.nodes, place, scope),
    );
    all.then(
      (output) => {
        this.output = output;
        this.#finish("completed");
      },
      (thrown: unknown) => {
        if (!(thrown instanceof Failed)) throw thrown;
        void this.#endBadly("failed", thrown.fault);
      },
    );
  }

  /** [S83] [S87] @returns whether it did. */
  cancel(): boolean {
    if (this.state !== "pending" && this.state !== "running") return false;
    void this.#endBadly("canceled", this.#faultAt("", "canceled"));
    return true;
  }

  /** [S103] @returns whether it did. */
  pause(): boolean {
    if (this.state !== "pending" && this.state !== "running") return false;
    if (this.#isPaused) return true;
    this.#isPaused = true;
    this.#resumed = new Promise((resolve) => {
      this.#resume = resolve;
    });
    return true;
  }

  /** [S103] @returns whether it did. */
  resume(): boolean {
    if (!this.#isPaused || (this.state !== "pending" && this.state !== "running")) return false;
    this.#isPaused = false;
    this.#resume();
    return true;
  }

  get #isHeld(): boolean {
    return this.#isPaused || (this.#above !== undefined && this.#above.#isHeld);
  }

  /** The next time that it, or a run above it, is resumed of those that are paused. */
  async #nextResumed(): Promise<void> {
    if (this.#isPaused) await this.#resumed;
    else if (this.#above !== undefined) await this.#above.#nextResumed();
  }

  /** Waits until something may begin. */
  async #turn(what: string): Promise<void> {
    if (!this.#isHeld) return;
    while (this.#isHeld) await this.#nextResumed();
    this.world.released(this.#owner(what));
  }

  /** [S69] [S70] [S71] [S73] [S74] What `sendEvent` answers; "refused" where it throws. */
  send(name: string, value: unknown): "taken" | "kept" | "refused" {
    if (this.state !== "pending" && this.state !== "running") return "refused";
    if (typeof value !== "string") return "refused";
    if (this.#waiting?.names.includes(name)) {
      this.#waiting.got(name, value);
      return this.#isHeld ? "kept" : "taken";
    }
    // How far a run has come that is paused is not promised: only that nothing of it begins.
    if (this.#isHeld) this.world.unsure();
    const ahead = this.#ahead(this.#definition.nodes, name, { prefix: "", isInLoop: false });
    const kept = this.#inbox.filter((event) => event.name === name).length;
    // Outside loops each node takes one.
    if (!ahead.some(({ isInLoop }) => isInLoop) && kept >= ahead.length) return "refused";
    this.#inbox.push({ name, value });
    return "kept";
  }

  /** The nodes that the run may still come to, of those that take an event. */
  #ahead(nodes: Nodes, name: string, { prefix, isInLoop }: Place): Place[] {
    return Object.entries(nodes).flatMap(([at, node]) => {
      const path = prefix + at;
      if (this.#over.has(path)) return [];
      const names = eventNames(node, at);
      if (names !== undefined) {
        const takes = names.includes(name) && (isInLoop || !this.#reached.has(path));
        return takes ? [{ prefix: path, isInLoop }] : [];
      }
      if (node.body !== undefined)
        return this.#ahead(node.body, name, { prefix: `${path}.`, isInLoop: true });
      const chosen = isInLoop ? undefined : this.#chosen.get(path);
      return Object.entries<Nodes>(node.cases ?? {}).flatMap(([key, inside]) =>
        chosen !== undefined && chosen !== key
          ? []
          : this.#ahead(inside, name, { prefix: `${path}.${key}.`, isInLoop }),
      );
    });
  }

  /** [S61] [S63] [S64] @returns the output of the last node that has one. */
  async #sequence(nodes: Nodes, place: Place, around: Scope): Promise<unknown> {
    let scope = around;
    let last: unknown = null;
    for (const [name, node] of Object.entries(nodes)) {
      const path = place.prefix + name;
      this.#reached.add(path);
      const isKept = place.prefix === "" && this.#outputs.has(name);
      const output = isKept ? this.#outputs.get(name) : await this.#node(path, node, scope, place);
      if (!place.isInLoop) this.#over.add(path);
      if (place.prefix === "") this.#outputs.set(name, output);
      if (node.duration !== undefined) continue;
      scope = { ...scope, [name]: output };
      last = output;
    }
    return last;
  }

  async #node(path: string, node: Node, scope: Scope, place: Place): Promise<unknown> {
    if (node.duration !== undefined) return await this.#sleep(path, node, scope);
    if (eventNames(node, path) !== undefined) return await this.#event(path, node);
    if (node.cases !== undefined) return await this.#branch(path, node, scope, place);
    if (node.body !== undefined) return await this.#loop(path, node, scope);
    if (node.workflow !== undefined) return await this.#child(path, node, scope);
    if (node.children !== undefined) return await this.#parent(path, node, scope);
    return await this.#step(path, node, scope);
  }

  /** [S19] [S90] [S92] */
  async #step(stage: string, node: Node, scope: Scope): Promise<unknown> {
    let output: unknown;
    try {
      output = await this.#run({ stage, handler: node, scope, timeout: node.timeout });
    } catch (thrown) {
      if (!(thrown instanceof Failed) || node.recover === undefined) throw thrown;
      const cause = thrown.fault;
      try {
        output = stored(node.recover(cause, scope));
      } catch (error) {
        const { kind, data } = problemOf(error);
        const fault = this.#faultAt(stage, kind, cause.attempt);
        throw new Failed({ ...fault, ...(data === undefined ? {} : { data }), cause });
      }
    }
    const handler = node.compensate;
    if (handler === undefined) return output;
    this.undos.push({
      node: stage,
      at: this.world.completed++,
      compensate: async (error) => {
        const of = { stage: `${stage}.compensate`, handler, timeout: handler.timeout };
        try {
          await this.#run({ ...of, scope: { ...scope, output, error }, isUndoing: true });
        } catch (thrown) {
          if (thrown instanceof Failed) return thrown.fault;
          throw thrown;
        }
        return undefined;
      },
    });
    return output;
  }

  /** [S66] [S67] */
  async #sleep(path: string, { duration }: Node, scope: Scope): Promise<unknown> {
    const given: unknown = typeof duration === "function" ? duration(scope) : duration;
    const ms = given instanceof Date ? given.getTime() - Date.now() : Number(given);
    await this.#still(this.world.wait(this.#owner(path), ms));
    await this.#still(this.#turn(path));
    return null;
  }

  /** [S69] [S70] [S72] [S73] */
  async #event(path: string, node: Node): Promise<unknown> {
    const names = eventNames(node, path.split(".").at(-1) ?? path) ?? [];
    const at = this.#inbox.findIndex(({ name }) => names.includes(name));
    const early = at === -1 ? undefined : this.#inbox.splice(at, 1)[0];
    const event = early ?? (await this.#still(this.#waitFor(path, names, node.timeout)));
    if (early === undefined) await this.#still(this.#turn(path));
    if (event === undefined) return { timedOut: true };
    const value = node.anyOf === undefined ? event.value : event;
    return node.timeout === undefined ? value : { timedOut: false, event: value };
  }

  async #waitFor(
    path: string,
    names: readonly string[],
    timeout: number | undefined,
  ): Promise<{ name: string; value: unknown } | undefined> {
    return await new Promise((resolve) => {
      const done = (event: { name: string; value: unknown } | undefined) => {
        callOff?.();
        this.#waiting = undefined;
        resolve(event);
      };
      const callOff =
        timeout === undefined ? undefined : this.#after(path, timeout, () => done(undefined));
      this.#waiting = { names, got: (name, value) => done({ name, value }) };
    });
  }

  /** [S76] [S77] */
  async #branch(path: string, node: Node, scope: Scope, { isInLoop }: Place): Promise<unknown> {
    const key = node.on(scope) as string;
    this.#chosen.set(path, key);
    return await this.#sequence(node.cases[key], { prefix: `${path}.${key}.`, isInLoop }, scope);
  }

  /** [S78] */
  async #loop(path: string, node: Node, scope: Scope): Promise<unknown> {
    let state: unknown = stored(node.initial(scope));
    for (let iteration = 1; ; iteration++) {
      const inside = { ...scope, loop: { state, iteration } };
      state = await this.#sequence(node.body, { prefix: `${path}.`, isInLoop: true }, inside);
      if (node.until({ ...scope, loop: { state, iteration } }) === true) return state;
      if (iteration >= node.maxIterations) throw new Failed(this.#faultAt(path, "thrown"));
    }
  }

  /** [S82] */
  async #child(path: string, node: Node, scope: Scope): Promise<unknown> {
    const child = this.#newChild(node.workflow, node.args(scope), undefined);
    await this.#all(path, [child], { isSingle: true });
    return child.output;
  }

  /** [S43] to [S60] */
  async #parent(path: string, node: Node, scope: Scope): Promise<unknown> {
    const late = () => void this.#endBadly("failed", this.#faultAt(path, "timedOut"));
    const callOff = node.timeout === undefined ? undefined : this.#after(path, node.timeout, late);
    const hasHandler = KINDS.some((kind) => node[kind] !== undefined);
    const output = hasHandler
      ? await this.#run({ stage: `${path}.output`, handler: node, scope })
      : undefined;
    const inside = hasHandler ? { ...scope, output } : scope;
    const given: unknown = node.children(inside);
    const children = Object.entries(given as Record<string, Node>).map(
      ([key, { workflow, input }]) => this.#newChild(workflow, input, key),
    );
    await this.#all(path, children, node);
    const told = children.map((child) =>
      node.tolerate === undefined
        ? child.output
        : child.hasEndedBadly
          ? { ok: false, error: child.fault }
          : { ok: true, output: child.output },
    );
    const isList = Array.isArray(given);
    const key = (index: number) => (isList ? index : (children[index]?.key ?? ""));
    const gathered: unknown =
      node.reduce !== undefined
        ? told.reduce(
            (before, each, index) => node.reduce.step(before, each, key(index)),
            node.reduce.initial,
          )
        : isList
          ? told
          : Object.fromEntries(told.map((each, index) => [key(index), each]));
    const { finalize: handler } = node;
    const result =
      handler === undefined
        ? { ...(hasHandler ? { output } : {}), children: gathered }
        : await this.#run({
            stage: `${path}.finalize`,
            handler,
            scope: { ...inside, children: gathered },
            timeout: handler.timeout,
          });
    callOff?.();
    return result;
  }

  #newChild(workflow: unknown, input: unknown, key: string | undefined): Interpreted {
    const [name = ""] =
      Object.entries(this.workflows).find(
        ([each, { definition }]) => each === workflow || definition === workflow,
      ) ?? [];
    const more = { above: this, ...(key === undefined ? {} : { key }) };
    const child = new Interpreted(this.world, this.workflows, name, input, more);
    this.#children.push(child);
    return child;
  }

  /** Has all children run. @throws {Failed} when more of them have ended badly than may. */
  async #all(
    path: string,
    children: readonly Interpreted[],
    { concurrency = Infinity, tolerate, isSingle = false }: Node,
  ): Promise<void> {
    const isTooMany = (bad: number) =>
      tolerate === undefined
        ? bad > 0
        : tolerate === "all"
          ? false
          : "failures" in tolerate
            ? bad > tolerate.failures
            : bad * 100 > tolerate.percentage * children.length;
    const failed = (child: Interpreted) => {
      const { compensationErrors, ...cause } = child.fault ?? {};
      return new Failed({
        ...this.#faultAt(path, "childFailed"),
        ...(isSingle ? {} : { key: child.key }),
        // [S94] What could not be undone is listed once, at the top.
        ...(compensationErrors === undefined ? {} : { compensationErrors }),
        ...(child.fault === undefined ? {} : { cause: cause as Fault }),
      });
    };
    await this.#still(this.#turn(path));
    const all = new Promise<void>((resolve, reject) => {
      // Those whose input was refused have ended badly before any other begins.
      const waiting = children.filter((child) => !child.hasEndedBadly);
      const refused = children.filter((child) => child.hasEndedBadly);
      let bad = refused.length;
      let running = 0;
      const [first] = refused;
      if (first !== undefined && isTooMany(bad)) return reject(failed(first));
      const fill = async () => {
        if (this.#isHeld) await this.#turn(path);
        if (this.state !== "running") return;
        while (running < concurrency && waiting.length > 0) {
          running++;
          const child = waiting.shift()!;
          child.begin();
          void child.ended.then(() => ended(child));
        }
        if (running === 0) resolve();
      };
      const ended = (child: Interpreted) => {
        running--;
        if (child.hasEndedBadly) bad++;
        // [S93]
        else if (child.undos.length > 0) this.undos.push({ node: path, child });
        if (child.hasEndedBadly && isTooMany(bad)) reject(failed(child));
        else if (this.state === "running") void fill();
      };
      void fill();
    });
    await this.#still(
      all.catch((error: unknown) => {
        // The others are canceled at once, also where the run itself is told later.
        if (this.state === "running") for (const child of children) child.cancel();
        throw error;
      }),
    ).finally(async () => await this.#still(this.#turn(path)));
    this.#children = this.#children.filter((child) => !children.includes(child));
  }

  /** A handler, as often as its settings say. @throws {Failed} when it has failed for good. */
  async #run(handled: Handled): Promise<unknown> {
    const { stage, handler, isUndoing = false } = handled;
    const still = async <T>(what: Promise<T>) => await (isUndoing ? what : this.#still(what));
    const retry: Retry = handler.retry ?? this.#definition.options.retry ?? false;
    const { maxAttempts, maxBackoffMs } =
      typeof retry === "object" ? retry : { maxAttempts: 1, maxBackoffMs: 0 };
    for (let attempt = 1; ; attempt++) {
      if (!isUndoing) await this.#still(this.#turn(stage));
      const result = await still(this.#attempt(handled, attempt));
      if ("output" in result) return result.output;
      const { kind, ...problem } = result.problem;
      const mayTry = handler.action !== undefined && RETRIED.includes(kind);
      if (!mayTry || attempt >= maxAttempts)
        throw new Failed({ ...this.#faultAt(stage, kind, attempt), ...problem });
      // [S32] The generator writes settings that make the wait as long as it may be.
      await still(this.world.wait(this.#owner(`${stage} again`), maxBackoffMs));
    }
  }

  async #attempt(
    { stage, handler, scope, timeout, isUndoing = false }: Handled,
    attempt: number,
  ): Promise<{ output: Value } | { problem: Problem }> {
    const kind = KINDS.find((each) => handler[each] !== undefined) ?? "query";
    const abort = new AbortController();
    const written: string[] = [];
    const began = Date.now();
    // [S84]
    const isCanceled = async () => !isUndoing && this.state !== "running";
    const call = async () => {
      const ctx = contextOf(kind, this.world, written);
      const info = { attempt, signal: abort.signal, isCanceled, idempotencyKey: "" };
      if (handler.args === undefined) return await handler[kind](ctx, scope, info);
      const name = getFunctionName(handler[kind] as FunctionReference<Kind>);
      const args = stored(handler.args(scope, info)) as unknown as Call;
      return await referenced[name as keyof typeof referenced](ctx as never, args);
    };
    let callOff: (() => void) | undefined;
    try {
      // [S38] An attempt that goes on after its run was canceled has its timeout all the same.
      const expired = new Promise<never>((_resolve, reject) => {
        if (timeout === undefined || kind !== "action") return;
        callOff = this.world.after(this.#owner(`${stage} late`), timeout, () => {
          abort.abort();
          reject(new TimedOut());
        });
      });
      const given = call().finally(() => {
        if (Date.now() > began) this.world.moved(this.#owner(stage));
      });
      const result = await Promise.race([given, expired]);
      // What a compensation gives is dropped, whatever it is.
      const output = isUndoing ? null : stored(result);
      this.world.log.push(...written);
      return { output };
    } catch (error) {
      // [S25] What a mutation wrote that fails is gone.
      return { problem: problemOf(error) };
    } finally {
      callOff?.();
    }
  }

  /** [S41] [S55] [S92] [S95] */
  async #endBadly(state: Exclude<End, "completed">, fault: Fault): Promise<void> {
    if (this.state !== "pending" && this.state !== "running") return;
    const begun = this.state === "running";
    this.state = "compensating";
    for (const callOff of this.#timers) callOff();
    this.fault = fault;
    const going = this.#children.filter(({ state: of }) => !isEnd(of));
    const listed = going.map(async (child) => {
      await child.ended;
      for (const error of child.fault?.compensationErrors ?? []) this.#list(error);
    });
    for (const child of going) child.cancel();
    if (begun) {
      await Promise.all(listed);
      await this.#undo();
    }
    this.#finish(state, this.fault);
  }

  /** Undoes what was completed by it and those under it, the last first. */
  async #undo(): Promise<void> {
    for (let last = this.#lastUndo(); last !== undefined; last = this.#lastUndo())
      this.#list(await last.take()(this.fault!));
  }

  /** What was completed last of all that is not undone yet, and how it is taken to be undone. */
  #lastUndo(): { at: number; take: () => Compensation } | undefined {
    const all = this.undos.flatMap((undo) => {
      const take = (compensation: () => Compensation) => () => {
        this.#undone.add(topOf(undo.node));
        return compensation();
      };
      if ("child" in undo) {
        const last = undo.child.#lastUndo();
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
  #list(fault: Fault | undefined): void {
    if (fault === undefined || this.fault === undefined) return;
    const { cause: _, compensationErrors: _errors, ...listed } = fault;
    const compensationErrors = [...(this.fault.compensationErrors ?? []), listed].slice(0, 20);
    this.fault = { ...this.fault, compensationErrors };
  }

  #finish(state: End, fault?: Fault): void {
    this.state = state;
    this.fault = fault;
    for (const callOff of this.#timers) callOff();
    this.#end();
  }

  /** What comes after happens only while the run goes on. */
  async #still<T>(what: Promise<T>): Promise<T> {
    const settled = await what.then(
      (value) => () => value,
      (error: unknown) => () => {
        throw error;
      },
    );
    if (this.state !== "running") return await new Promise<never>(() => {});
    return settled();
  }

  /** Calls a function after a time, unless the run has ended. @returns what calls that off. */
  #after(what: string, ms: number, call: () => void): () => void {
    const callOff = this.world.after(this.#owner(what), ms, call);
    this.#timers.add(callOff);
    return () => {
      callOff();
      this.#timers.delete(callOff);
    };
  }

  #owner(what: string): string {
    return `${this.#input?.at} ${what}`;
  }

  #faultAt(node: string, kind: string, attempt = 1): Fault {
    return { kind, workflow: this.name, node, attempt };
  }
}

/** The events that a node waits for; undefined of one that waits for none. */
function eventNames(node: Node, name: string): string[] | undefined {
  if (node.anyOf !== undefined) return Object.keys(node.anyOf);
  return node.schema !== undefined && node.initial === undefined ? [name] : undefined;
}

class TimedOut extends Error {}
type Problem = Pick<Fault, "kind" | "message" | "data">;

/** A value as it is kept: [S16] [S20] [S22]. */
function stored(value: unknown): Value {
  try {
    return jsonToConvex(convexToJson((value ?? null) as Value));
  } catch {
    throw new Unfit();
  }
}
class Unfit extends Error {}

/** [S22] [S33] [S34] [S37] */
function problemOf(error: unknown): Problem {
  if (error instanceof TimedOut) return { kind: "timedOut" };
  if (error instanceof Unfit) return { kind: "invalidOutput" };
  const { name, message, data } = error as Error & { data?: unknown };
  if (name === "NonRetryableError") {
    const given = data as { message: string; data: unknown };
    return { kind: "nonRetryable", message: given.message, data: given.data };
  }
  return data === undefined ? { kind: "thrown", message } : { kind: "thrown", data };
}

/** What a handler does besides giving something. */
function contextOf(kind: Kind, { log }: World, written: string[]) {
  const insert = async (_table: string, { text }: { text: string }) => void written.push(text);
  const runMutation = async (_reference: unknown, { text }: { text: string }) =>
    void log.push(text);
  return kind === "action" ? { runMutation } : kind === "mutation" ? { db: { insert } } : {};
}
