/** What a handler can read, and where it stands. */
export interface Around {
  readonly names: readonly string[];
  readonly isInLoop: boolean;
  readonly depth: number;
  /** In an `.each`, each handler takes the item: what it does is then its own. */
  readonly isInEach?: boolean;
  /** What the sites in a branch begin with, with a `>` at its end. */
  readonly branch?: string;
}

/** How handlers fail, and how a `retry.when` says what is tried again: some oftener than others. */
const FAILURES = "throws throws convex final unfit some some some later later past".split(" ");
const WHENS = "always first thrown first thrown throws convex final odd".split(" ");

/** Where a handler stands, as it says in the log. */
export const siteOf = (name: string, { branch = "" }: Around): string => `${branch}${name}`;

/** What tells the children of a node from those of the same node elsewhere. */
export const basics = ({ isInLoop, isInEach }: Around): string[] => [
  "input",
  ...(isInLoop ? ["loop"] : []),
  ...(isInEach === true ? ["each"] : []),
];

/** Writes handlers, with what stands around them, by random numbers. */
export class HandlerWriter {
  readonly #random: () => number;
  protected names = 0;
  /** How likely a handler of the present workflow is to fail. */
  protected failing = 0;
  /** The limit that the present handler may ask to be held. */
  protected holding = "";
  /** How large outputs and inputs may be, in characters; 0: all are small. */
  protected largest = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  protected handler(
    name: string,
    around: Around,
    kind: "action" | "mutation" | "query" = this.oneOf(["action", "mutation", "query"]),
    more: readonly string[] = [],
  ): string {
    const site = siteOf(name, around);
    const param = this.param(around, more);
    const seen = this.seen();
    const plan = this.plan(kind);
    const handler = {
      action: `(ctx, ${param}, info) => act(ctx, info, "${site}", ${seen}, ${plan})`,
      mutation: `async (ctx, ${param}, info) => change(ctx, info, "${site}", ${seen}, ${plan})`,
      query: `(_ctx, ${param}) => look("${site}", ${seen}, ${plan})`,
    }[kind];
    return `${kind}: ${this.unseen(handler)}`;
  }

  /** The same value, sometimes in a way that the compiler does not see through. */
  protected unseen(value: string): string {
    return this.chance(0.15) ? `through(${value})` : value;
  }

  /** The same options, sometimes spread from what is not seen. */
  protected spread(options: string): string {
    return this.chance(0.2) ? `...through({ ${options} })` : options;
  }

  protected reference(
    of: string,
    kind: "action" | "mutation" | "query",
    around: Around,
    more: readonly string[] = [],
  ): string {
    const site = siteOf(of, around);
    const name = { action: "acting", mutation: "changing", query: "reading" }[kind];
    const param = this.param(around, more);
    const plan = this.plan(kind).replace('"unfit"', '"throws"');
    const told = "key: info.idempotencyKey, attempt: info.attempt";
    const args = `({ site: "${site}", seen: ${this.seen()}, plan: ${plan}, ${told} })`;
    const reference = this.oneOf([
      `internal.behaviour.${name}`,
      name,
      `internal.behaviour["${name}"]`,
    ]);
    const given = this.unseen(`(${param}, info) => ${args}`);
    return `${kind}: ${reference}, ${this.spread(`args: ${given}`)}`;
  }

  protected compensation(site: string, around: Around): string {
    const kind = this.oneOf(["action", "mutation"] as const);
    const given = ["output", "error"];
    const handler = this.chance(0.2)
      ? this.reference(site, kind, around, given)
      : this.handler(site, around, kind, given);
    return `${handler}${this.chance(0.4) && kind === "action" ? `, retry: ${this.retry()}` : ""}`;
  }

  /** What a handler takes of its scope; what it was given is then {@link seen}. */
  protected param(around: Around, more: readonly string[] = []): string {
    if (this.chance(0.1)) {
      this.#given = undefined;
      return "scope";
    }
    const some = around.names.filter(() => this.chance(0.4));
    const given = ["input", ...some, ...more.filter(() => this.chance(0.8))];
    if (around.isInLoop && this.chance(0.7)) given.push("loop");
    if (around.isInEach === true) given.push("each");
    this.#given = given;
    return `{ ${given.join(", ")} }`;
  }
  #given: readonly string[] | undefined;

  protected seen(...more: string[]): string {
    if (this.#given === undefined)
      return more.length === 0 ? "scope" : `{ ...scope, ${more.join(", ")} }`;
    return `{ ${[...this.#given, ...more].join(", ")} }`;
  }

  protected plan(kind: "action" | "mutation" | "query", failing = this.failing): string {
    const plan: string[] = [];
    if (this.failing > 0 && this.chance(failing)) {
      const fails = this.oneOf(FAILURES);
      plan.push(`fails: "${fails}"`);
      if (kind === "action" && this.chance(0.6)) plan.push(`until: ${1 + this.upTo(2)}`);
    }
    if (kind === "action" && this.chance(0.3)) plan.push("ms: 0");
    if (this.holding !== "")
      plan.push(
        `holds: { limit: "${this.holding}", times: ${1 + this.upTo(2)}, ms: ${this.upTo(1_000_000)} }`,
      );
    if (this.chance(0.3)) plan.push(`gives: "${this.oneOf(["nothing", "object", "number"])}"`);
    if (this.largest > 0 && this.chance(0.3)) plan.push(`more: ${this.size()}`);
    return `{ ${plan.join(", ")} }`;
  }

  /** From 4 KiB up, small ones as often as large ones. */
  protected size(): number {
    return Math.floor(4_096 * (this.largest / 4_096) ** this.#random());
  }

  protected recover(name: string, around: Around, share: number): string {
    if (!this.chance(share)) return "";
    const param = this.param(around);
    return `, recover: (error, ${param}) => mend("${name}", ${this.seen("error")}, ${this.plan("mutation", 0.2)})`;
  }

  /** It may fail, and changes nothing by that. */
  protected onEnd(): string {
    const kind = this.oneOf(["mutation", "action"] as const);
    const around = { names: [], isInLoop: false, depth: 0 };
    const handler = this.chance(0.15)
      ? this.reference("onEnd", kind, around, ["run"])
      : this.handler("onEnd", around, kind, ["run"]);
    const retry = kind === "action" && this.chance(0.5) ? `, retry: ${this.retry()}` : "";
    return `onEnd: { ${handler}${retry} }`;
  }

  /** What all nodes with children may say of them. @param wide how many there are, if many. */
  protected gathering(name: string, given: readonly string[], wide: number): string[] {
    const parts: string[] = [];
    if (this.chance(0.4)) {
      const most = 1 + this.upTo(wide > 0 ? 12 : 2);
      const computed = `({ ${given.join(", ")} }) => atOnce("${name}", { ${given.join(", ")} }, ${most})`;
      const isComputed = this.chance(0.4);
      parts.push(this.spread(`concurrency: ${isComputed ? this.unseen(computed) : most}`));
    }
    if (this.chance(0.5))
      parts.push(
        `tolerate: ${this.oneOf(['"all"', `{ failures: ${this.upTo(wide > 0 ? wide : 3)} }`, "{ percentage: 50 }", "{ percentage: 0 }"])}`,
      );
    if (this.chance(0.25))
      parts.push(
        `reduce: { initial: "none", step: (before, child, key) => fold("${name}", before, child, key) }`,
      );
    if (this.chance(0.15)) parts.push(`timeout: ${this.long()}`);
    return parts;
  }

  /** How a handler is run, after its other options. */
  protected policy(kind?: "action" | "mutation" | "query"): string {
    if (kind === undefined || kind === "action")
      return [
        this.chance(0.4) ? `, ${this.spread(`retry: ${this.retry()}`)}` : "",
        kind === "action" && this.chance(0.15) ? `, ${this.spread(`timeout: ${this.long()}`)}` : "",
      ].join("");
    return this.chance(0.15) ? `, ${this.spread("isolate: true")}` : "";
  }

  /** Mostly so that the wait is as long as it may be, whatever it is multiplied by. */
  protected retry(): string {
    const kind = this.upTo(20);
    if (kind === 0) return "true";
    const most = 1_000 + this.upTo(3_000_000);
    const parts = [`maxAttempts: ${1 + this.upTo(3)}`];
    // Of the usual waits even the shortest is longer.
    if (kind < 4) parts.push(`maxBackoffMs: ${this.upTo(125)}`);
    else if (kind > 5)
      parts.push(
        `initialBackoffMs: ${2 * most + 1}, base: ${1 + this.upTo(2)}, maxBackoffMs: ${most}`,
      );
    if (this.chance(0.25)) {
      const how = this.oneOf(WHENS);
      parts.push(`when: ${this.unseen(`(error) => again(error, "${how}")`)}`);
    }
    return `{ ${parts.join(", ")} }`;
  }

  /** A time in ms that much may fit into, or not. */
  protected long(): number {
    return 200_000 + this.upTo(6_000_000);
  }

  protected name(): string {
    return `n${++this.names}`;
  }

  protected upTo(count: number): number {
    return Math.floor(this.#random() * count);
  }
  protected chance(share: number): boolean {
    return this.#random() < share;
  }
  protected oneOf<T>(all: readonly T[]): T {
    return all[this.upTo(all.length)]!;
  }
}
