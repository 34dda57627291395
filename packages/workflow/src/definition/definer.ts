import { literalText } from "../rules.js";
import type { AnyDefinition } from "./definition.js";

type Nodes = Record<string, unknown>;
type AnyOptions = AnyDefinition["options"];
type Keyed = Readonly<Record<string, unknown>>;

interface MatchOptions {
  readonly of: string;
  readonly by?: string;
  readonly cases?: Keyed;
  readonly default?: unknown;
}

const isKey = (value: unknown): value is string | number =>
  ["string", "number", "boolean"].includes(typeof value);

/** Returns what is at a path of fields; a field may have a dot in its name. */
function valueAt(value: unknown, path: string): unknown {
  const fields: Keyed = Object(value);
  if (Object.hasOwn(fields, path)) return fields[path];
  const [head = "", ...rest] = path.split(".");
  return rest.length === 0 ? undefined : valueAt(fields[head], rest.join("."));
}

/** The kinds of nodes: each has a method. `finalize` is the workflow's own. */
export type NodeKind = Exclude<keyof Definer, "nodes" | "options">;

/** The value behind a builder: it gathers nodes in their order, and checks what types do not. */
class Sequence {
  readonly nodes: Nodes = {};
  readonly #around: ReadonlySet<string>;
  #hasEnded = false;

  /** @param around the names of the nodes around it. */
  constructor(around: ReadonlySet<string>) {
    this.#around = around;
  }

  step(name: string, node: object): this {
    return this.add("step", name, node);
  }

  parent(name: string, node: object): this {
    return this.add("parent", name, node);
  }

  sleep(name: string, duration: unknown): this {
    return this.add("sleep", name, { duration });
  }

  event(name: string, node: object): this {
    return this.add("event", name, node);
  }

  branch(name: string, node: { on: unknown; cases?: Keyed }): this {
    return this.#withCases("branch", name, node);
  }

  match(name: string, options: MatchOptions): this {
    const { default: rest, ...node } = given(`match "${name}"`, options);
    const { of, by } = node;
    const cases = node.cases ?? {};
    if (rest !== undefined && Object.hasOwn(cases, "default"))
      throw new Error(`Match "${name}" has a case "default" and a default: give it one of them`);
    const all = rest === undefined ? cases : { ...cases, default: rest };
    const on = (scope: Keyed) => {
      const value = by === undefined ? scope[of] : valueAt(scope[of], by);
      const key = isKey(value) ? String(value) : value;
      return rest === undefined || (isKey(key) && Object.hasOwn(cases, key)) ? key : "default";
    };
    return this.#withCases("match", name, { ...node, on, cases: all });
  }

  #withCases(kind: "branch" | "match", name: string, node: { on: unknown; cases?: Keyed }): this {
    const { cases: builds } = given(`${kind} "${name}"`, node);
    const cases = Object.entries(builds ?? {}).map(([key, build]) => [
      key,
      this.#nested(`Case "${key}" of ${kind} "${name}"`, build),
    ]);
    if (cases.length === 0)
      throw new Error(
        `${kind === "match" ? "Match" : "Branch"} "${name}" has no cases: give it at least one, { key: (b) => b.step(…) }`,
      );
    return this.add(kind, name, { ...node, cases: Object.fromEntries(cases) });
  }

  loop(name: string, node: { body: unknown }): this {
    const { body } = given(`loop "${name}"`, node);
    return this.add("loop", name, {
      ...node,
      body: this.#body(`The body of loop "${name}"`, body),
    });
  }

  parallel(name: string, node: { branches?: Readonly<Record<string, unknown>> }): this {
    const { branches } = given(`parallel "${name}"`, node);
    const bodies = this.#bodies(`Parallel "${name}"`, ["Branch", "branches"], branches);
    return this.add("parallel", name, { ...node, branches: bodies });
  }

  race(name: string, node: { cases?: Readonly<Record<string, unknown>> }): this {
    const { cases } = given(`race "${name}"`, node);
    const bodies = this.#bodies(`Race "${name}"`, ["Case", "cases"], cases);
    return this.add("race", name, { ...node, cases: bodies });
  }

  each(name: string, node: { body: unknown }): this {
    const { body } = given(`each "${name}"`, node);
    return this.add("each", name, {
      ...node,
      body: this.#body(`The body of each "${name}"`, body),
    });
  }

  child(name: string, workflow: unknown, args: unknown, options: object = {}): this {
    return this.add("child", name, { workflow, args, ...given(`child "${name}"`, options) });
  }

  end(output: unknown): this {
    this.add("end", "end", { output });
    this.#hasEnded = true;
    return this;
  }

  protected add(kind: NodeKind, name: string, node: object): this {
    if (this.#hasEnded) throw new Error(`Node "${name}" comes after .end, where the run has ended`);
    if (this.#names().has(name)) throw new Error(`The node name "${name}" is already taken`);
    if (!Object.isExtensible(this.nodes))
      throw new Error(`Node "${name}" is added to a workflow that was compiled without it`);
    // A later change would not be compiled, so it throws.
    const value = Object.freeze({ ...fixed(given(`${kind} "${name}"`, node)), kind });
    Object.defineProperty(this.nodes, name, { value, enumerable: true });
    return this;
  }

  #names(): ReadonlySet<string> {
    return new Set([...this.#around, ...Object.keys(this.nodes)]);
  }

  /** The same as {@link #nested}, for a callback that must add nodes. */
  #body(place: string, build: unknown): Nodes {
    const body = this.#nested(place, build);
    if (Object.keys(body).length > 0) return body;
    throw new Error(`${place} is empty: give it at least one node, (b) => b.step(…)`);
  }

  /** Bodies by their keys, of which there must be some. @param words of one, and of several. */
  #bodies(
    of: string,
    [one, several]: readonly [string, string],
    builds: Readonly<Record<string, unknown>> | undefined,
  ): Readonly<Record<string, Nodes>> {
    const place = of.charAt(0).toLowerCase() + of.slice(1);
    const bodies = Object.entries(builds ?? {}).map(([key, build]) => [
      key,
      this.#body(`${one} "${key}" of ${place}`, build),
    ]);
    if (bodies.length === 0)
      throw new Error(`${of} has no ${several}: give it at least one, { key: (b) => b.step(…) }`);
    return Object.fromEntries(bodies);
  }

  /** The nodes that a callback adds to the builder it is given. */
  #nested(place: string, build: unknown): Nodes {
    if (typeof build !== "function")
      throw new TypeError(`${place} must be a function that adds nodes: (b) => b.step(…)`);
    const inside = new Inside(place, this.#names());
    if (build(inside) === inside) return inside.nodes;
    throw new Error(`${place} must return the builder it was given: (b) => b.step(…)`);
  }
}

/** A body of a loop or an each, a case of a branch or a race, or a branch of a parallel. */
class Inside extends Sequence {
  readonly #place: string;

  constructor(place: string, around: ReadonlySet<string>) {
    super(around);
    this.#place = place;
  }

  finalize(): never {
    throw new Error(
      `${this.#place} has a .finalize: only a workflow has one. The output here is that of the last node; make that a .step`,
    );
  }
}

/** A whole workflow. */
export class Definer extends Sequence {
  constructor(readonly options: AnyOptions) {
    super(new Set());
    const { renamed = {} } = given("a workflow", options);
    if (renamed === null)
      throw new TypeError(
        'The renamed of a workflow is null: give { old: "new" }, or leave it out',
      );
    fixed(options);
    Object.freeze(this);
  }

  finalize(node: object): this {
    return this.add("finalize", "finalize", node);
  }

  protected override add(kind: NodeKind, name: string, node: object): this {
    if (Object.hasOwn(this.nodes, "finalize"))
      throw new Error(
        name === "finalize"
          ? "A workflow has one .finalize; here is a second"
          : `Node "${name}" comes after .finalize, which is the last node`,
      );
    return super.add(kind, name, node);
  }
}

/** @throws if options are no object: plain JavaScript lets everything through. */
function given<Options>(what: string, options: Options): Options {
  if (typeof options === "object" && options !== null) return options;
  throw new TypeError(`The options of ${what} are ${literalText(options)}: give an object`);
}

/** Options that hold options themselves … */
const NESTED = "finalize compensate onEnd one fairness collect retry tolerate reduce".split(" ");
/** … and those that hold what the app has named: one of these may be called as an option is. */
const OF_NAMES = "limits anyOf renamed cases branches sensitive".split(" ");

/** Freezes options. A schema, or what a handler closes over, is left as it is. */
function fixed<Options>(options: Options): Options {
  if (typeof options !== "object" || options === null) return options;
  const of = (name: string): unknown => options[name as keyof Options];
  for (const name of NESTED) fixed(of(name));
  for (const name of OF_NAMES) Object.freeze(of(name));
  return Object.freeze(options);
}
