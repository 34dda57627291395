import type { Input } from "./behaviour.js";
import {
  type Definition,
  eventNames,
  Failed,
  type Node,
  type Nodes,
  type Place,
  problemOf,
  type Scope,
  stored,
  topOf,
  type Workflows,
} from "./definition.js";
import { RunChildren } from "./run-children.js";
import { inPath } from "@stepwise/workflow/rules";
import type { World } from "./world.js";

/*
 * What a workflow does, said once more in the plainest way: its definition is gone through in
 * memory, node by node, with the handlers that are written in it. There is no transaction, no
 * record and no token here; what a promise says is done by doing it. Time is virtual.
 */

/** Where a run comes from, that was not started as most are. */
interface Origin {
  /** Of a child: its key, and the run whose child it is. */
  readonly key?: string;
  readonly above?: Interpreted;
  /** Of a further generation: the one before it, and the node from which that was restarted. */
  readonly before?: Interpreted;
  readonly from?: string | undefined;
  readonly part?: Part;
}

/** Of a branch or an item: what it goes through, and in which scope. */
interface Part {
  readonly nodes: Nodes;
  readonly scope: Scope;
  /** What the paths of its nodes begin with. */
  readonly prefix: string;
  /** It is the case of a race. */
  readonly isRival: boolean;
}

interface Sent {
  readonly name: string;
  readonly value: unknown;
}

interface Waiting {
  readonly names: readonly string[];
  readonly got: (name: string, value: unknown) => void;
  /** Says whether it is meant for the node. Default: all are. */
  readonly meant?: (name: string, value: unknown) => boolean;
}

/** [S167] What a run ends with before its last node. */
class EndsWith extends Error {
  constructor(readonly output: unknown) {
    super("The run ends");
  }
}

/** [S166] The case of a match: that of what is at the path, else the default. */
function keyOf({ of, by, cases }: Node, scope: Scope): string {
  let value: unknown = (scope as Readonly<Record<string, unknown>>)[of];
  for (const field of by?.split(".") ?? []) value = (value as Record<string, unknown>)[field];
  return String(value) in cases ? String(value) : "default";
}

/** One run of a workflow. */
export class Interpreted extends RunChildren {
  protected readonly definition: Definition;
  /** Of the nodes of the top level that are completed. */
  readonly #outputs = new Map<string, unknown>();
  readonly #inbox: Sent[];
  /** What nodes have taken, in the order in which the run came to them. */
  readonly #taken: (Sent & { readonly by: string })[];
  /** The event that it waits for. */
  #waiting: Waiting | undefined;
  readonly #reached = new Set<string>();
  readonly #over = new Set<string>();
  readonly #part: Part | undefined;
  /** Of branches: which case. */
  readonly #chosen = new Map<string, string>();

  constructor(
    world: World,
    readonly workflows: Workflows,
    name: string,
    input: unknown,
    { key = "", above, before, from, part }: Origin = {},
  ) {
    super(world, name, key, above, part && `${above?.mark ?? ""}>${part.prefix}${key}`);
    this.#part = part;
    const kept = before === undefined || from === undefined ? [] : before.#keptFrom(from);
    // [S134] Events that no node has taken yet are still there, and the others come before them.
    const taken = before === undefined ? [] : before.#taken;
    const isKept = ({ by }: { by: string }) => kept.includes(topOf(by));
    this.#taken = taken.filter(isKept);
    this.#inbox = [
      ...taken.filter((event) => !isKept(event)),
      ...(before === undefined ? [] : before.#inbox),
    ];
    this.undos = before?.undos.filter(({ node }) => kept.includes(topOf(node))) ?? [];
    for (const node of kept) {
      if (before !== undefined) this.#outputs.set(node, before.#outputs.get(node));
      this.#reached.add(node);
      this.#over.add(node);
    }
    const workflow = workflows[name];
    if (workflow === undefined) throw new Error(`There is no workflow "${name}"`);
    this.definition = workflow.definition;
    const parsed = this.definition.options.input["~standard"].validate(input);
    if (parsed.issues === undefined) this.input = stored(parsed.value) as unknown as Input;
    // [S17]
    else this.finish("failed", this.faultAt("input", "invalidInput"));
  }

  /** [S102] The nodes that keep their result when the run begins anew from one of them. */
  #keptFrom(from: string): string[] {
    const affected = new Set<string>();
    const kept: string[] = [];
    for (const node of Object.keys(this.definition.nodes)) {
      const reads = this.workflows[this.name]?.nodeReads?.(node) ?? ["*"];
      const isAffected = reads.some((read) =>
        read === "*" ? affected.size > 0 : affected.has(read),
      );
      const stands = this.#outputs.has(node) && !this.undone.has(node);
      if (node !== from && stands && !isAffected) kept.push(node);
      else affected.add(node);
    }
    return kept;
  }

  begin(): void {
    if (this.state !== "pending" || this.input === undefined) return;
    this.state = "running";
    const { timeout } = this.#part === undefined ? this.definition.options : {};
    const expired = () => void this.endBadly("timedOut", this.faultAt("", "timedOut"));
    if (timeout !== undefined) this.after("", timeout, expired);
    const whole = { nodes: this.definition.nodes, prefix: "", scope: { input: this.input } };
    const { nodes, prefix, scope } = this.#part ?? whole;
    // One that is paused before it has begun comes to its first node when it goes on.
    const all = this.still(this.turn("")).then(
      async () => await this.#sequence(nodes, { prefix, isInLoop: false }, scope),
    );
    const complete = (output: unknown) => {
      this.output = output;
      this.finish("completed");
    };
    all.then(complete, (thrown: unknown) => {
      if (thrown instanceof EndsWith) return complete(thrown.output);
      if (!(thrown instanceof Failed)) throw thrown;
      void this.endBadly("failed", thrown.fault);
    });
  }

  /** [S69] [S70] [S71] [S73] [S74] [S155] What `sendEvent` answers; "refused" where it throws. */
  send(name: string, value: unknown): "taken" | "kept" | "refused" {
    if (this.state !== "pending" && this.state !== "running") return "refused";
    if (typeof value !== "string") return "refused";
    const offered = this.#offer(name, value);
    if (offered !== undefined) return offered;
    // How far a run has come that is paused is not promised: only that nothing of it begins.
    if (this.isHeld) this.world.unsure();
    const ahead = this.#ahead(this.definition.nodes, name, { prefix: "", isInLoop: false });
    const kept = this.#inbox.filter((event) => event.name === name).length;
    // Outside loops each node takes one.
    if (!ahead.some(({ isInLoop }) => isInLoop) && kept >= ahead.length) return "refused";
    this.#inbox.push({ name, value });
    return "kept";
  }

  /** What becomes of an event if it waits for it, or a case of the race that it is in. */
  #offer(name: string, value: string): "taken" | "kept" | "refused" | undefined {
    const waiting = this.#waiting;
    if (waiting?.names.includes(name)) {
      // Whether it takes this is asked when it is resumed, and of cases, which takes it.
      if ((waiting.meant !== undefined || this.#part?.isRival) && this.isHeld) this.world.unsure();
      try {
        if (waiting.meant?.(name, value) ?? true) {
          waiting.got(name, value);
          return this.isHeld ? "kept" : "taken";
        }
      } catch {
        return "refused";
      }
    }
    for (const one of this.#rivals()) {
      const offered = one.#offer(name, value);
      if (offered !== undefined) return offered;
    }
    return undefined;
  }

  /** [S168] The cases of the race that it is in which go on. */
  #rivals(): Interpreted[] {
    const all = this.rivals as readonly Interpreted[];
    return all.filter(({ state }) => state === "pending" || state === "running");
  }

  /** The run to which the events of its nodes are sent. */
  get #host(): Interpreted {
    return this.#part?.isRival ? (this.above as Interpreted).#host : this;
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
      // [S163] Those of branches and items are sent to them.
      if (typeof node.of === "function") return [];
      if (node.kind === "race" && !isInLoop && this.#reached.has(path))
        return this.#rivals().flatMap((one) =>
          one.#ahead(one.#part!.nodes, name, { prefix: one.#part!.prefix, isInLoop: false }),
        );
      if (node.body !== undefined)
        return this.#ahead(node.body, name, { prefix: `${path}.`, isInLoop: true });
      const chosen = isInLoop ? undefined : this.#chosen.get(path);
      return Object.entries<Nodes>(node.cases ?? {}).flatMap(([key, inside]) =>
        chosen !== undefined && chosen !== key
          ? []
          : this.#ahead(inside, name, { prefix: `${path}.${inPath(key)}.`, isInLoop }),
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
      if (node.kind === "end") throw new EndsWith(output);
      if (node.duration !== undefined) continue;
      scope = { ...scope, [name]: output };
      last = output;
    }
    return last;
  }

  async #node(path: string, node: Node, scope: Scope, place: Place): Promise<unknown> {
    if (node.kind === "end") return stored(node.output(scope));
    if (node.duration !== undefined) return await this.#sleep(path, node, scope);
    if (eventNames(node, path) !== undefined) return await this.#event(path, node, scope);
    if (node.kind === "race") return await this.race(path, node, scope);
    if (node.cases !== undefined) return await this.#branch(path, node, scope, place);
    if (node.branches !== undefined) return await this.parallel(path, node, scope);
    if (node.of !== undefined) return await this.each(path, node, scope);
    if (node.body !== undefined) return await this.#loop(path, node, scope);
    if (node.workflow !== undefined) return await this.child(path, node, scope);
    if (node.children !== undefined) return await this.parent(path, node, scope);
    return await this.#step(path, node, scope);
  }

  /** [S19] [S90] [S92] */
  async #step(stage: string, node: Node, scope: Scope): Promise<unknown> {
    const does = async () => await this.run({ stage, handler: node, scope, timeout: node.timeout });
    const output = await this.recovering(stage, node, scope, does);
    const handler = node.compensate;
    if (handler === undefined) return output;
    this.undos.push({
      node: stage,
      at: this.world.completed++,
      compensate: async (error) => {
        const of = { stage: `${stage}.compensate`, handler, timeout: handler.timeout };
        try {
          await this.run({ ...of, scope: { ...scope, output, error }, isUndoing: true });
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
    await this.still(this.world.wait(this.owner(path), ms));
    await this.still(this.turn(path));
    return null;
  }

  /** [S69] [S70] [S72] [S73] [S155] */
  async #event(path: string, node: Node, scope: Scope): Promise<unknown> {
    const names = eventNames(node, path.split(".").at(-1) ?? path) ?? [];
    const { match } = node;
    const meant = (name: string, value: unknown): boolean =>
      (typeof match === "function" ? match : match?.[name])?.(value, scope) ?? true;
    let at: number;
    const inbox = this.#host.#inbox;
    try {
      at = inbox.findIndex(({ name, value }) => names.includes(name) && meant(name, value));
    } catch (error) {
      throw new Failed({ ...this.faultAt(path, "thrown"), ...problemOf(error) });
    }
    const early = at === -1 ? undefined : inbox.splice(at, 1)[0];
    const waiting = { names, ...(match === undefined ? {} : { meant }) };
    const event = early ?? (await this.still(this.#waitFor(path, waiting, node.timeout)));
    if (early === undefined) await this.still(this.turn(path));
    if (event === undefined) return { timedOut: true };
    this.#host.#taken.push({ ...event, by: path });
    const value = node.anyOf === undefined ? event.value : { name: event.name, value: event.value };
    return node.timeout === undefined ? value : { timedOut: false, event: value };
  }

  async #waitFor(
    path: string,
    waiting: Omit<Waiting, "got">,
    timeout: number | undefined,
  ): Promise<{ name: string; value: unknown } | undefined> {
    return await new Promise((resolve) => {
      const done = (event: { name: string; value: unknown } | undefined) => {
        callOff?.();
        this.#waiting = undefined;
        resolve(event);
      };
      const callOff =
        timeout === undefined ? undefined : this.after(path, timeout, () => done(undefined));
      this.#waiting = { ...waiting, got: (name, value) => done({ name, value }) };
    });
  }

  /** [S76] [S77] [S166] */
  async #branch(path: string, node: Node, scope: Scope, { isInLoop }: Place): Promise<unknown> {
    const key = node.kind === "match" ? keyOf(node, scope) : String(node.on(scope));
    this.#chosen.set(path, key);
    return await this.#sequence(
      node.cases[key],
      { prefix: `${path}.${inPath(key)}.`, isInLoop },
      scope,
    );
  }

  /** [S78] */
  async #loop(path: string, node: Node, scope: Scope): Promise<unknown> {
    let state: unknown = stored(node.initial(scope));
    for (let iteration = 1; ; iteration++) {
      const inside = { ...scope, loop: { state, iteration } };
      state = await this.#sequence(node.body, { prefix: `${path}.`, isInLoop: true }, inside);
      if (node.until({ ...scope, loop: { state, iteration } }) === true) return state;
      if (iteration >= node.maxIterations) throw new Failed(this.faultAt(path, "thrown"));
    }
  }

  protected newChild(workflow: unknown, input: unknown, key: string | undefined): Interpreted {
    const [name = ""] =
      Object.entries(this.workflows).find(
        ([each, { definition }]) => each === workflow || definition === workflow,
      ) ?? [];
    const more = { above: this, ...(key === undefined ? {} : { key }) };
    const child = new Interpreted(this.world, this.workflows, name, input, more);
    this.children.push(child);
    return child;
  }

  protected newPart(
    nodes: Nodes,
    scope: Scope,
    prefix: string,
    key: string,
    isRival = false,
  ): Interpreted {
    const part = { nodes, scope, prefix, isRival };
    const more = { above: this, key, part };
    const child = new Interpreted(this.world, this.workflows, this.name, this.input, more);
    this.children.push(child);
    return child;
  }
}
