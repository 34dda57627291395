import type { Choice } from "./choice.js";

/* Workflows whose runs rest at many places, and that say what they do there. */

export type Kind =
  | "step"
  | "action"
  | "sleep"
  | "event"
  | "child"
  | "parent"
  | "branch"
  | "match"
  | "loop"
  | "parallel"
  | "each"
  | "race"
  | "end";

export interface Node {
  kind: Kind;
  name: string;
  /** What its code differs in from that of another version. */
  code: number;
  /** Names of the scope that its handler reads. */
  reads: string[];
  undone?: boolean;
  hours: number;
  options: Record<string, string>;
  /** By the name of a case or branch; of a body under `body`. */
  bodies: Record<string, Node[]>;
}

export const isKeyed = (kind: Kind): boolean =>
  ["branch", "match", "parallel", "race"].includes(kind);
/** Says whether it can be read by its name. */
const isRead = ({ kind }: Node): boolean => kind !== "sleep" && kind !== "end";
const MAKERS: readonly Kind[] = ["branch", "match", "loop", "parallel", "each", "race"];

/** Makes nodes with names that no other node of the workflow has. */
export class Maker {
  #made = 0;

  constructor(readonly choice: Choice) {}

  name(kind: string): string {
    return `${kind}${++this.#made}`;
  }

  /** @param reads names that are visible, and may be read. */
  line(size: number, depth: number, reads: readonly string[]): Node[] {
    const nodes: Node[] = [];
    const visible = [...reads];
    for (let made = 0; made < size; made++) {
      const node = this.node(depth, visible);
      nodes.push(node);
      if (isRead(node)) visible.push(node.name);
    }
    return nodes;
  }

  node(depth: number, reads: readonly string[], only?: readonly Kind[]): Node {
    const { choice } = this;
    const makers = MAKERS.filter((each) => each !== "loop" || depth > 1);
    const plain: Kind[] = ["step", "step", "step", "sleep", "sleep", "action", "event", "child"];
    const kinds = only ?? (depth > 0 && choice.chance(0.6) ? makers : [...plain, "parent"]);
    const kind = choice.oneOf(kinds);
    const node: Node = {
      kind,
      name: this.name(kind),
      code: 0,
      reads: reads.filter(() => choice.chance(0.4)).slice(0, 4),
      hours: choice.oneOf([1, 1, 2]),
      options: {},
      bodies: {},
    };
    if ((kind === "step" || kind === "action") && choice.chance(0.5)) node.undone = true;
    const inside = () => this.line(1 + choice.upTo(2), depth - 1, reads);
    if (isKeyed(kind)) {
      for (const key of ["k0", "k1", "k2"].slice(0, 1 + choice.upTo(choice.chance(0.3) ? 3 : 2)))
        node.bodies[key] = inside();
      if (kind === "match" && choice.chance(0.3)) node.bodies["default"] = inside();
    }
    if (kind === "loop" || kind === "each") node.bodies["body"] = inside();
    if (kind === "race" && choice.chance(0.3)) node.options["first"] = '"any"';
    if (kind === "race" && choice.chance(0.3)) node.options["compensateLosers"] = "false";
    if ((kind === "parallel" || kind === "each") && choice.chance(0.3))
      node.options["tolerate"] = '"all"';
    if ((kind === "parallel" || kind === "each") && choice.chance(0.2))
      node.options["concurrency"] = "1";
    if (["parallel", "each", "race"].includes(kind) && choice.chance(0.2))
      for (const body of Object.values(node.bodies)) if (choice.chance(0.5)) body.push(this.end());
    return node;
  }

  end(): Node {
    return {
      kind: "end",
      name: "end",
      code: 0,
      reads: [],
      hours: 0,
      options: {},
      bodies: {},
    };
  }
}

/** @param at whether it stands in a loop, and which other versions of the app there are. */
export function textOf(line: readonly Node[], isInLoop = false): string {
  return line.map((node) => nodeText(node, isInLoop)).join("\n");
}

function nodeText(node: Node, isInLoop: boolean): string {
  const { kind, name, code, reads, hours, bodies, options, undone } = node;
  const loop = isInLoop ? ", loop" : "";
  const scope = `{ input${loop}${reads.map((read) => `, ${read}`).join("")} }`;
  const turn = isInLoop ? "loop.iteration" : "0";
  const seen = `{ ${reads.join(", ")} }`;
  const written = (option: string) => `, ${option}: ${options[option]}`;
  const rest = Object.keys(options).map(written).join("");
  const undo = (suffix = "") =>
    undone
      ? `, compensate: { mutation: (ctx, { input${loop} }, info) => note(ctx, "undone", "${name}", ${turn}, info, {}) }${suffix}`
      : "";
  const inside = (key: string) =>
    `(b) => b${textOf(bodies[key] ?? [], kind === "loop" || (isInLoop && kind !== "each" && kind !== "parallel" && kind !== "race") || isInLoop)}`;
  const keyed = (of: readonly string[]) => of.map((key) => `${key}: ${inside(key)}`).join(",\n");
  const keys = Object.keys(bodies);
  switch (kind) {
    case "step":
      return `.step("${name}", { mutation: (ctx, ${scope}, info) => note(ctx, "ran", "${name}", ${turn}, info, ${seen}, ${code})${undo()} })`;
    case "action":
      return `.step("${name}", { action: async (ctx, ${scope}, info) => { if (info.attempt === 1) throw new Error("once"); return await note(ctx, "ran", "${name}", ${turn}, info, ${seen}, ${code}); }, retry: { maxAttempts: 2, initialBackoffMs: ${hours * 3_600_000}, base: 1 }${undo()} })`;
    case "sleep":
      return `.sleep("${name}", "${hours}h")`;
    case "event":
      return `.event("${name}", { schema: z.string(), timeout: "${hours}h" })`;
    case "child":
      return `.child("${name}", KID, () => ({}))`;
    case "parent":
      return `.parent("${name}", { children: () => [child(KID, {}), child(KID, {})]${rest} })`;
    case "branch":
      // TypeScript would refuse what no case has.
      return `.branch("${name}", { on: () => "${keys.includes("k0") ? "k0" : keys[0]}", cases: {\n${keyed(keys)} } })`;
    case "match": {
      const cases = keyed(keys.filter((key) => key !== "default"));
      const other = keys.includes("default") ? `, default: ${inside("default")}` : "";
      return `.match("${name}", { of: "input", by: "kind", cases: {\n${cases} }${other} })`;
    }
    case "loop":
      return `.loop("${name}", { initial: () => 0, body: ${inside("body")}, until: ({ loop }) => loop.iteration >= 2, maxIterations: 5 })`;
    case "parallel":
      return `.parallel("${name}", { branches: {\n${keyed(keys)} }${rest} })`;
    case "each":
      return `.each("${name}", { of: () => [1, 2], body: ${inside("body")}${rest} })`;
    case "race":
      return `.race("${name}", { cases: {\n${keyed(keys)} }${rest} })`;
    case "end":
      return `.end(() => "ended ${code}")`;
  }
}
