import { randomOf } from "../../packages/codegen/test/fuzz/mutate.js";
import { type Around, basics, HandlerWriter, siteOf } from "./handler-writer.js";

/*
 * Random workflows that are valid: nodes of all kinds inside each other, with handlers from
 * `behaviour.ts`. What happens in runs that go on side by side must not hang on which comes first.
 * So a workflow that is a child first takes a time of its own, and only then may fail.
 */

/** A definition file, and the workflow in it that is started. */
export interface Generated {
  readonly file: string;
  readonly text: string;
  readonly top: string;
}

/**
 * @param seed the same for the same workflows.
 * @param random where its numbers come from; by default from the seed.
 * @param isWide with many children, long loops and large values.
 * @param isLimited with runs that have a `one`, and actions that take part in {@link LIMITS}.
 */
export function generated(
  seed: number,
  random = randomOf(seed),
  isWide = false,
  isLimited = false,
): Generated {
  return new Generator(seed, random, isWide, isLimited).file();
}

/** Those that scenarios do not change. Rates are slow, as most actions take minutes. */
export const STEADY = {
  api: { rate: { limit: 6, per: 60_000, burst: 2 } },
  calls: { perKey: 2, rate: { limit: 2, per: 300_000, burst: 1, count: "works" as const } },
  tokens: { rate: { limit: 1_000, per: 600_000 }, unit: "tokens" },
  scarce: { total: 1, maxWaiting: 1 },
};
/** The limits that actions may name, as they are at first. */
export const LIMITS = { tenant: { perKey: 1, total: 3 }, exports: { total: 2 }, ...STEADY };

/**
 * How deep nodes stand inside each other, and how many workflows are beside the one that is
 * started.
 */
const DEEPEST = 2;
const MOST_CHILDREN = 40;
const LARGEST = 900 * 1_024;
const LARGEST_OF_KID = 16 * 1_024;
const MOST_KIDS = 2;

class Generator extends HandlerWriter {
  readonly #prefix: string;
  /** Drawn apart, so that the rest of a seed's workflows is the same without it. */
  readonly #order: () => number;
  readonly #tags: () => number;
  /** The workflows that may be children by now. */
  readonly #kids: string[] = [];
  #workflow = "";
  /** How many nodes the present workflow may still have. */
  #left = 0;

  /** How many parents may still have many children: more would be too many runs. */
  #wideLeft = 0;

  constructor(
    seed: number,
    random: () => number,
    readonly isWide: boolean,
    readonly isLimited: boolean,
  ) {
    super(random);
    this.#prefix = `w${seed}`;
    this.#order = randomOf(seed ^ 0x0bde2);
    this.#tags = randomOf(seed ^ 0x07a65);
  }

  file(): Generated {
    const top = `${this.#prefix}top`;
    const kidCount = Math.max(this.upTo(MOST_KIDS + 1), Number(this.isWide));
    const kids = Array.from({ length: kidCount }, (_, index) => {
      const name = `${this.#prefix}kid${index}`;
      const text = this.#define(name, this.isWide ? 1 + this.upTo(2) : 2 + this.upTo(4));
      this.#kids.push(name);
      return text;
    });
    const text = [IMPORTS, ...kids, this.#define(top, 3 + this.upTo(8))].join("\n");
    return { file: `${this.#prefix}.workflow.ts`, text, top };
  }

  #define(name: string, size: number): string {
    const isKid = name !== `${this.#prefix}top`;
    this.#workflow = name;
    this.names = 0;
    this.#left = size;
    this.failing = this.oneOf([0, 0, 0.04, 0.1, 0.2]);
    // All outputs of a run's children are in one document.
    if (this.isWide) this.largest = this.oneOf([0, isKid ? LARGEST_OF_KID : LARGEST]);
    this.#wideLeft = this.isWide && !isKid ? 1 + this.upTo(2) : 0;
    const options = [
      `input: z.object({ at: z.string(), n: z.number().min(0), more: z.string().default("more") })`,
      ...(this.chance(0.2) ? [`retry: ${this.retry()}`] : []),
      ...(this.chance(isKid ? 0.04 : 0.15) ? [`timeout: ${this.long()}`] : []),
      ...(this.chance(0.25) ? [this.onEnd()] : []),
      ...(this.isLimited ? this.#shared(isKid) : []),
      ...(this.isLimited && !isKid && this.chance(0.35) ? [this.#collect()] : []),
      ...(this.isLimited && this.#order() < 0.4
        ? [`fairness: { key: ({ input }) => pick("fair", { input }, ["a", "b"]), weight: 2 }`]
        : []),
      ...(this.isLimited && this.#order() < 0.4
        ? [`priority: ({ input }) => pick("priority", { input }, ["0s", "5s", "1m"]) as "5s"`]
        : []),
      ...(this.isLimited && this.#tags() < 0.4
        ? [`tags: ({ input }) => ({ at: input.at, kind: pick("kind", { input }, ["a", "b"]) })`]
        : []),
    ];
    const names: string[] = [];
    const around = () => ({ names, isInLoop: false, depth: 0 });
    const nodes: string[] = [];
    const add = ([name, text]: [string | undefined, string]) => {
      nodes.push(text);
      if (name !== undefined) names.push(name);
    };
    if (isKid) {
      const failing = this.failing;
      this.failing = 0;
      if (this.chance(0.4)) add(this.#plain(around()));
      add(this.chance(0.6) ? this.#taking(around()) : this.#ownSleep(around()));
      this.failing = failing;
      if (this.chance(0.4)) add(this.#failingAtTimes(around()));
    }
    if (this.isLimited && !isKid && this.chance(0.25)) add(this.#scarce(around()));
    if (this.#wideLeft > 0) add(this.chance(0.6) ? this.#parent(around()) : this.#each(around()));
    while (this.#left > 0) add(this.#node(around()));
    if (this.chance(0.6))
      nodes.push(`.finalize({ ${this.handler("finalize", around())}${this.policy()} })`);
    else if (this.chance(0.3)) nodes.push(this.#end(around()));
    return `export const ${name} = defineWorkflow({ ${options.join(", ")} })\n${nodes.join("\n")};\n`;
  }

  /**
   * What a workflow shares with others. All runs of a child have one key: with several, two might
   * wait for each other's children.
   */
  #shared(isKid: boolean): string[] {
    const otherwise = this.oneOf(["wait", "wait", "skip", "cancelOld", "newestWaits"]);
    const keys = isKid ? '["a"]' : this.oneOf(['["a"]', '["a", "b"]']);
    const key = `({ input }) => pick("one", { input }, ${keys})`;
    return [
      ...(this.chance(isKid ? 0.35 : 0.7)
        ? [`one: { key: ${key}, otherwise: "${otherwise}" }`]
        : []),
      ...(this.chance(0.4) ? [`limits: [${this.#limits(["input"]).join(", ")}]`] : []),
    ];
  }

  /** How starts are collected: each with a key, or some of them. */
  #collect(): string {
    const keys = this.oneOf(['["a"]', '["a", "b"]', '["a", "b", ""]']);
    const keep = this.oneOf(["all", "all", "last", "first"]);
    const parts = [
      `key: ({ input }) => pick("collect", { input }, ${keys}) || undefined`,
      `quiet: ${1_000 + this.upTo(300_000)}`,
      `keep: "${keep}"`,
      ...(this.chance(0.5) ? [`atMost: ${301_000 + this.upTo(900_000)}`] : []),
      ...(this.chance(0.5) ? [`size: ${1 + this.upTo(5)}`] : []),
    ];
    return `collect: { ${parts.join(", ")} }`;
  }

  /** @param given what a key may be made of. */
  #limits(given: readonly string[]): string[] {
    const of = `{ ${given.join(", ")} }`;
    const keyed = (name: string) => `{ ${name}: (${of}) => pick("${name}", ${of}, ["a", "b"]) }`;
    const some = [
      ...(this.chance(0.45) ? ['"exports"'] : []),
      ...(this.chance(0.45) ? [keyed("tenant")] : []),
      ...(this.chance(0.25) ? ['"api"'] : []),
      ...(this.chance(0.2) ? [keyed("calls")] : []),
    ];
    return some.length === 0 ? ['"scarce"'] : some;
  }

  /** What a step says of limits, and how long it waits for them; and the names of those. */
  #limiting(around: Around): { options: string; names: string[] } {
    const limits = this.#limits(basics(around));
    if (this.chance(0.25)) {
      const spend = this.chance(0.7) ? ", spend: ({ output }) => spent(output)" : "";
      limits.push(`{ tokens: { estimate: ${50 + this.upTo(500)}${spend} } }`);
    }
    const waits = this.chance(0.25) ? `, waitAtMost: ${1_000 + this.upTo(1_200_000)}` : "";
    const names = limits.map((limit) => /\w+/.exec(limit)?.[0] ?? "");
    return { options: `, limits: [${limits.join(", ")}]${waits}`, names };
  }

  /** @returns the name under which its output is read, if it has one, and its text. */
  #node(around: Around): [string | undefined, string] {
    this.#left--;
    const kinds: ((around: Around) => [string | undefined, string])[] = [
      (at) => this.#step(at),
      (at) => this.#step(at),
      (at) => this.#step(at),
      (at) => this.#step(at),
      (at) => this.#sleep(at),
      (at) => this.#event(at),
    ];
    if (around.depth < DEEPEST)
      kinds.push(
        (at) => this.#branch(at),
        (at) => this.#match(at),
        (at) => this.#loop(at),
        (at) => this.#parallel(at),
        (at) => this.#race(at),
        (at) => this.#each(at),
      );
    if (this.#kids.length > 0)
      kinds.push(
        (at) => this.#parent(at),
        (at) => this.#parent(at),
        (at) => this.#child(at),
      );
    return this.oneOf(kinds)(around);
  }

  #step(around: Around): [string, string] {
    const name = this.name();
    const isReference = this.chance(0.15);
    const kind = this.oneOf(["action", "action", "mutation", "query"] as const);
    const isLimited = this.isLimited && kind === "action" && this.chance(0.6);
    const limits = isLimited ? this.#limiting(around) : { options: "", names: [] };
    this.holding = limits.names.length > 0 && this.chance(0.25) ? this.oneOf(limits.names) : "";
    const handler = isReference
      ? this.reference(name, kind, around)
      : this.handler(name, around, kind);
    this.holding = "";
    const recover = this.recover(name, around, 0.2);
    const compensate = this.chance(0.35)
      ? `, compensate: { ${this.compensation(`${name}.compensate`, around)} }`
      : "";
    const options = `${handler}${this.policy(kind)}${recover}${compensate}${limits.options}`;
    return [name, `.step("${name}", { ${options} })`];
  }

  /** An action for which few starts wait: others are refused. */
  #scarce(around: Around): [string, string] {
    const [name, text] = this.#taking(around);
    return [name, text.replace(/ \}\)$/, `, limits: ["scarce"] })`)];
  }

  /** A step that neither fails nor takes time. */
  #plain(around: Around): [string, string] {
    const name = this.name();
    const kind = this.oneOf(["mutation", "query"] as const);
    return [name, `.step("${name}", { ${this.handler(name, around, kind)} })`];
  }

  /** A step that takes a time of its own. */
  #taking(around: Around): [string, string] {
    const name = this.name();
    const param = this.param(around);
    return [
      name,
      `.step("${name}", { action: (ctx, ${param}, info) => act(ctx, info, "${siteOf(name, around)}", ${this.seen()}) })`,
    ];
  }

  /** A step that fails in a third of the runs: a parent may tolerate some of them. */
  #failingAtTimes(around: Around): [string, string] {
    const name = this.name();
    const param = this.param(around);
    return [
      name,
      `.step("${name}", { query: (_ctx, ${param}) => look("${siteOf(name, around)}", ${this.seen()}, { fails: "some" }) })`,
    ];
  }

  #sleep(around: Around): [undefined, string] {
    const name = this.name();
    const own = `(${this.param(around)}) => lasts("${name}", ${this.seen()})`;
    const duration = this.oneOf([own, own, `${this.long()}`, "0", "() => new Date(0)"]);
    return [undefined, `.sleep("${name}", ${duration})`];
  }

  #ownSleep(around: Around): [undefined, string] {
    const name = this.name();
    const param = this.param(around);
    return [undefined, `.sleep("${name}", (${param}) => lasts("${name}", ${this.seen()}))`];
  }

  /** It always has a timeout: nobody may send anything. */
  #event(around: Around): [string, string] {
    const name = this.name();
    const names = this.oneOf([[], ["ping"], ["ping", "pong"]]);
    const what =
      names.length === 0
        ? "schema: z.string()"
        : `anyOf: { ${names.map((event) => `${event}: z.string()`).join(", ")} }`;
    const match = () => {
      const isStrict = this.chance(this.failing);
      const own = `(payload, ${this.param(around)}) => meant("${name}", payload, ${this.seen()}, ${isStrict})`;
      return this.unseen(own);
    };
    const some = names.filter(() => this.chance(0.7)).map((event) => `${event}: ${match()}`);
    const matches = names.length === 0 ? match() : `{ ${some.join(", ")} }`;
    const given = this.chance(0.4) ? `, match: ${matches}` : "";
    return [name, `.event("${name}", { ${what}${given}, timeout: ${this.long()} })`];
  }

  /** Nodes inside another. */
  #inside(around: Around, least: number): { text: string; names: string[] } {
    const names = [...around.names];
    const size = least + this.upTo(3);
    let text = "";
    for (let made = 0; made < size; made++) {
      const [name, node] = this.#node({ ...around, names, depth: around.depth + 1 });
      text += node;
      if (name !== undefined) names.push(name);
    }
    return { text, names };
  }

  /** Nodes for many iterations: steps that take no time. */
  #brief(around: Around): { text: string } {
    const names = [...around.names];
    let text = "";
    for (let made = 1 + this.upTo(2); made > 0; made--) {
      const name = this.name();
      const at = { ...around, names };
      const undo = this.chance(0.5)
        ? `, compensate: { ${this.compensation(`${name}.compensate`, at)} }`
        : "";
      text += `.step("${name}", { ${this.handler(name, at, this.oneOf(["mutation", "query"]))}${undo} })`;
      names.push(name);
    }
    return { text };
  }

  #branch(around: Around): [string, string] {
    const name = this.name();
    const some = this.oneOf([
      ["left", "right", "none"],
      ["turn.left", "200", "?"],
    ]);
    const keys = some.slice(0, 1 + this.upTo(3));
    const on = `(${this.param(around)}) => pick("${name}", ${this.seen()}, ${JSON.stringify(keys)})`;
    const goesOn = this.upTo(keys.length);
    const cases = keys.map((key, index) => {
      const { text: nodes, names } = this.#inside(around, key === some[2] ? 0 : 1);
      // Nodes after the branch may not be out of reach.
      const isEnded = index !== goesOn && this.chance(0.25);
      const text = isEnded ? nodes + this.#end({ ...around, names }) : nodes;
      const written = this.oneOf([JSON.stringify(key), `[Keys.${KEYS[some.indexOf(key)]}]`]);
      return `${some[0] === "left" ? key : written}: (b) => b${text}`;
    });
    return [name, `.branch("${name}", { on: ${this.unseen(on)}, cases: { ${cases.join(", ")} } })`];
  }

  /** A match, of a step of its own that gives what it tells apart. */
  #match(around: Around): [string, string] {
    const of = this.name();
    const name = this.name();
    const keys = this.oneOf([
      ["left", "right", "default"],
      ["200", "?", "x y"],
    ]);
    const [made, by] = this.oneOf([
      ["", ""],
      ["kind", "kind"],
      ["at: { kind", "at.kind"],
    ] as const);
    const value = () => {
      const given = `pick("${of}", ${this.seen()}, ${JSON.stringify(keys)})`;
      return made === "" ? given : `({ ${made}: ${given}${"}".repeat(by.split(".").length)})`;
    };
    const within = { ...around, names: [...around.names, of] };
    const written = keys.slice(0, 1 + this.upTo(3)).filter((key) => key !== "default");
    const oneCase = (key: string) => `(b) => b${this.#inside(within, key === "?" ? 0 : 1).text}`;
    const cases = written.map((key) => `${JSON.stringify(key)}: ${oneCase(key)}`);
    const rest = written.length < keys.length ? `, default: ${oneCase("default")}` : "";
    const path = by === "" ? "" : `by: "${by}", `;
    return [
      name,
      `.step("${of}", { query: (_ctx, ${this.param(around)}) => ${value()} })` +
        `.match("${name}", { of: "${of}", ${path}cases: { ${cases.join(", ")} }${rest} })`,
    ];
  }

  #end(around: Around): string {
    return `.end(${this.unseen(`(${this.param(around)}) => digest(${this.seen()})`)})`;
  }

  #loop(around: Around): [string, string] {
    const name = this.name();
    const initial = `(${this.param(around)}) => digest(${this.seen()})`;
    const inLoop = { ...around, isInLoop: true };
    const isLong = this.chance(0.1);
    const { text } = isLong ? this.#brief(inLoop) : this.#inside(inLoop, 1);
    // So many that the first ones are forgotten, or that they do not fit into one transaction.
    const most = isLong ? 20 + this.upTo(this.#longest(around)) : 1 + this.upTo(3);
    const never = this.chance(this.failing / 2);
    const until = never
      ? "() => false"
      : this.oneOf([
          `({ loop }) => loop.iteration >= ${most}`,
          `({ input, loop }) => loop.iteration >= ${most} || pick("${name}", { input, loop }, ["a", "b"]) === "a"`,
        ]);
    return [
      name,
      `.loop("${name}", { initial: ${initial}, body: (b) => b${text}, until: ${until}, maxIterations: ${most} })`,
    ];
  }

  /** A child or an item may be one of hundreds: then a long loop would take minutes. */
  #longest({ isInEach }: Around): number {
    if (this.#workflow !== `${this.#prefix}top` || isInEach === true) return 12;
    return this.isWide ? 281 : 110;
  }

  /**
   * Children of some workflows in turn. Of itself a workflow has one for as long as `input.n`
   * lasts.
   */
  #parent(around: Around): [string, string] {
    const name = this.name();
    const parts: string[] = [];
    const hasHandler = this.chance(0.4);
    if (hasHandler) parts.push(this.handler(`${name}.output`, around));
    if (hasHandler) parts.push(...(this.chance(0.3) ? [`retry: ${this.retry()}`] : []));
    const inside = hasHandler ? ["output"] : [];
    const given = [...basics(around), ...inside.filter(() => this.chance(0.5))];
    const isWide = this.#wideLeft > 0 && !around.isInLoop;
    if (isWide) this.#wideLeft -= 1;
    const count = isWide ? 4 + this.upTo(MOST_CHILDREN - 3) : this.upTo(4);
    const fits = () => this.failing === 0 || !this.chance(this.failing / 2);
    const one = (key: string | number) => {
      const isOwn = this.chance(0.1) && this.#workflow !== `${this.#prefix}top`;
      const more = this.largest > 0 && this.chance(0.3) ? `, ${this.size()}` : "";
      const input = `below({ ${given.join(", ")} }, "${name}", ${JSON.stringify(key)}, ${fits()}${more})`;
      return isOwn
        ? `...(input.n > 0 ? [childNamed("${this.#workflow}", ${input})] : [])`
        : `child(${this.oneOf(this.#kids)}, ${input})`;
    };
    const isList = this.chance(0.6) || isWide;
    const list = () => `[${Array.from({ length: count }, (_, index) => one(index)).join(", ")}]`;
    const record = () => {
      const fields = ["left", "right", "third"].slice(0, count).map((key) => {
        const input = `below({ ${given.join(", ")} }, "${name}", "${key}", ${fits()})`;
        return `${key}: child(${this.oneOf(this.#kids)}, ${input})`;
      });
      return `({ ${fields.join(", ")} })`;
    };
    const children = `({ ${given.join(", ")} }) => ${isList ? list() : record()}`;
    parts.push(`children: ${this.unseen(children)}`);
    parts.push(...this.gathering(name, given, isWide ? count : 0));
    if (this.chance(0.5)) {
      const handler = this.handler(`${name}.finalize`, around, undefined, [...inside, "children"]);
      parts.push(`finalize: { ${handler}${this.policy()} }`);
    }
    const recover = this.recover(name, around, 0.2);
    return [name, `.parent("${name}", { ${parts.join(", ")}${recover} })`];
  }

  #parallel(around: Around): [string, string] {
    const name = this.name();
    const keys = this.oneOf([
      ["left", "right", "third"],
      ["turn.left", "200", "?"],
    ]).slice(0, 1 + this.upTo(3));
    const parts = this.gathering(name, basics(around), 0);
    const branches = keys.map((key, index) => {
      const branch = `${around.branch ?? ""}${name}.${index}>`;
      return `${JSON.stringify(key)}: (b) => b${this.#apart({ ...around, branch }, parts)}`;
    });
    const options = afterSpreads([`branches: { ${branches.join(", ")} }`, ...parts]);
    return [name, `.parallel("${name}", { ${options}${this.recover(name, around, 0.2)} })`];
  }

  #race(around: Around): [string, string] {
    const name = this.name();
    const keys = this.oneOf([
      ["left", "right", "third"],
      ["turn.left", "200", "?"],
    ]).slice(0, 1 + this.upTo(3));
    const cases = keys.map((key, index) => {
      const branch = `${around.branch ?? ""}${name}.${index}>`;
      // That a case fails is let pass, too.
      return `${JSON.stringify(key)}: (b) => b${this.#apart({ ...around, branch }, ["tolerate"])}`;
    });
    const parts = [`cases: { ${cases.join(", ")} }`];
    if (this.chance(0.25)) parts.push('first: "any"');
    if (this.chance(0.3)) parts.push("compensateLosers: false");
    if (this.chance(0.15)) parts.push(`timeout: ${this.long()}`);
    return [name, `.race("${name}", { ${parts.join(", ")}${this.recover(name, around, 0.2)} })`];
  }

  #each(around: Around): [string, string] {
    const name = this.name();
    const isWide = this.#wideLeft > 0 && !around.isInLoop;
    if (isWide) this.#wideLeft -= 1;
    const count = isWide ? 4 + this.upTo(MOST_CHILDREN - 3) : this.upTo(4);
    const made = this.chance(0.7) ? "items" : "keyed";
    const of = `(${this.param(around)}) => ${made}("${name}", ${this.seen()}, ${count})`;
    const parts = this.gathering(name, basics(around), isWide ? count : 0);
    const body = this.#apart({ ...around, isInEach: true }, parts);
    const options = afterSpreads([`of: ${this.unseen(of)}`, `body: (b) => b${body}`, ...parts]);
    return [name, `.each("${name}", { ${options}${this.recover(name, around, 0.2)} })`];
  }

  /** Nodes that others go on beside: first one that takes a time of its own, and does not fail. */
  #apart(around: Around, options: readonly string[]): string {
    const [first, text] = this.chance(0.6) ? this.#taking(around) : this.#ownSleep(around);
    const names = first === undefined ? around.names : [...around.names, first];
    const mayFail = options.some((part) => part.startsWith("tolerate")) && this.chance(0.6);
    const failing = mayFail ? this.#failingAtTimes({ ...around, names })[1] : "";
    const inside = this.#inside({ ...around, names }, 0);
    const end = this.chance(0.2) ? this.#end({ ...around, names: inside.names }) : "";
    return text + failing + inside.text + end;
  }

  #child(around: Around): [string, string] {
    const name = this.name();
    const given = basics(around).join(", ");
    const args = `({ ${given} }) => below({ ${given} }, "${name}", "child")`;
    const recover = this.recover(name, around, 0.2).replace(/^, (.+)$/, ", { $1 }");
    return [name, `.child("${name}", ${this.oneOf(this.#kids)}, ${args}${recover})`];
  }
}

/** The compiler sees what follows a spread, whatever that holds. */
const afterSpreads = (parts: readonly string[]): string =>
  parts.toSorted((one, other) => Number(isSpread(other)) - Number(isSpread(one))).join(", ");
const isSpread = (part: string): boolean => part.startsWith("...");

/** The names of keys in `Keys`. */
const KEYS = ["left", "number", "none"];

const IMPORTS = `
import { child, childNamed, defineWorkflow } from "@stepwise/workflow";
import { z } from "zod";
import { internal } from "./_generated/api";
import { act, again, atOnce, below, change, digest, fold, items, keyed, Keys, lasts, look, meant, mend, pick, spent, through } from "./behaviour";

const { acting, changing, reading } = internal.behaviour;
`;
