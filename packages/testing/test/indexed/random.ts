import type { Value } from "convex/values";
import type { Bound, Fields, Filter, Operation, Place, QueryOf } from "./operations.js";

/** A seeded random number in [0, 1): mulberry32. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** One or more of every type, and of those that are ordered in a way of their own all. */
const VALUES: readonly (Value | undefined)[] = [
  undefined,
  null,
  -1n,
  3n,
  2n ** 63n - 1n,
  NaN,
  -0,
  0,
  1,
  1.5,
  -Infinity,
  true,
  false,
  "",
  "a",
  "ab",
  "é",
  "\u{1f600}",
  "\uffff",
  new ArrayBuffer(0),
  new Uint8Array([1, 2]).buffer,
  [],
  [1, null],
  [1, "a"],
  [[2n], { x: 1 }],
  {},
  { x: 1 },
  { x: 1, y: "a" },
];
const KINDS = ["k0", "k1", "k2"];
const WORDS = ["red", "redder", "green", "blue"];
const INDEXES: Readonly<Record<string, readonly string[]>> = {
  by_kind: ["kind"],
  by_a: ["a"],
  by_kind_a_b: ["kind", "a", "b"],
  by_nested: ["nested.x", "nested.y.z"],
  by_ts: ["ts", "kind"],
  by_creation_time: [],
  by_id: ["_id"],
};
const BOUNDS = ["eq", "gt", "gte", "lt", "lte"] as const;

/** Random operations, the same for the same seed. */
export class RandomOperations {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  upTo(most: number): number {
    return Math.floor(this.#random() * (most + 1));
  }

  #chance(of: number): boolean {
    return this.#random() < of;
  }

  #one<Item>(of: readonly Item[]): Item {
    return of[this.upTo(of.length - 1)]!;
  }

  operations(most: number, depth = 0): Operation[] {
    return Array.from({ length: this.upTo(most) }, () => this.#operation(depth));
  }

  #operation(depth: number): Operation {
    const kinds = ["insert", "insert", "insert", "patch", "replace", "delete", "query", "query"];
    const nesting = ["query", "iterate", "pages", "nested", "nested", "look", "schedule", "cancel"];
    const kind = this.#one(depth < 3 ? [...kinds, ...nesting] : kinds);
    const below = () => this.operations(5, depth + 1);
    switch (kind) {
      case "patch":
      case "replace":
        return { do: kind, place: this.#place(), document: this.#fields(kind === "patch") };
      case "delete":
        return { do: kind, place: this.#place() };
      case "query":
        return {
          do: kind,
          query: this.#query(),
          end: this.#one(["collect", "first", "unique", "take", "take", "count", "limit"] as const),
          most: this.upTo(8),
        };
      case "iterate": {
        const query = this.#query();
        return { do: kind, query, after: this.upTo(4), between: below(), most: this.upTo(12) };
      }
      case "pages": {
        const rows = this.#chance(0.3) ? { rows: 1 + this.upTo(6) } : {};
        return { do: kind, query: this.#query(), size: this.upTo(5), ...rows, between: below() };
      }
      case "nested": {
        const where = this.#one(["here", "component"] as const);
        return { do: kind, where, operations: below(), fails: this.#chance(0.4) };
      }
      case "look":
        return { do: kind, stale: this.#chance(0.5), operations: below() };
      case "schedule":
        return { do: kind, afterMs: this.upTo(3) * 10, operations: below() };
      case "cancel":
        return { do: kind, pick: this.upTo(50) };
      default:
        return { do: "insert", table: this.#table(), document: this.#fields(false) };
    }
  }

  #table(): Place["table"] {
    return this.#chance(0.9) ? "things" : "others";
  }

  #place(): Place {
    return { table: this.#table(), pick: this.upTo(50) };
  }

  /**
   * Of a whole document, or only some of them. One that is for the other table is refused by the
   * schema.
   */
  #fields(some: boolean): Fields {
    const fields: Record<string, { value?: Value }> = {
      kind: { value: this.#one(KINDS) },
      text: { value: `${this.#one(WORDS)} ${this.#one(WORDS)}` },
      vector: { value: [this.upTo(3), this.upTo(3)] },
      a: this.#value(),
      b: this.#value(),
      nested: this.#chance(0.5) ? { value: this.#nested() } : this.#value(),
      ts: this.#one([{ value: "commitTs" }, { value: 5n }, {}]),
    };
    if (this.#chance(0.1)) return { a: this.#value() };
    const given = Object.entries(fields).filter(() => !some || this.#chance(0.3));
    return Object.fromEntries(given);
  }

  #nested(): Value {
    const { value: z } = this.#value();
    const y = z === undefined ? {} : { z };
    return { x: this.upTo(2), y };
  }

  #value(): { value?: Value } {
    const value = this.#one(VALUES);
    return value === undefined ? {} : { value };
  }

  #query(): QueryOf {
    const order = this.#one([{}, { order: "asc" }, { order: "desc" }] as const);
    const filters = this.#chance(0.25) ? [this.#filter()] : [];
    const table = this.#one(["things", "things", "things", "_scheduled_functions"] as const);
    if (this.#chance(0.25)) return { table, bounds: [], filters, ...order };
    if (table === "things" && this.#chance(0.1)) {
      const kind = this.#chance(0.5) ? { kind: this.#one(KINDS) } : {};
      return { table, bounds: [], search: { words: this.#one(WORDS), ...kind }, filters };
    }
    const known = table === "things" ? Object.keys(INDEXES) : ["by_creation_time", "by_id", "by_a"];
    const index = this.#one(known);
    return { table, index, bounds: this.#bounds(INDEXES[index]!), filters, ...order };
  }

  /** Mostly a range that an index allows; sometimes anything. */
  #bounds(fields: readonly string[]): Bound[] {
    const all = [...fields, "_creationTime", "_id"];
    if (this.#chance(0.05)) {
      const anyBound = () => this.#bound(this.#one(BOUNDS), this.#one(all));
      return Array.from({ length: this.upTo(3) }, anyBound);
    }
    const equal = this.upTo(Math.min(fields.length, 2));
    const bounds = all.slice(0, equal).map((field) => this.#bound("eq", field));
    const next = all[equal]!;
    const lower = this.#bound(this.#one(["gt", "gte"]), next);
    const upper = this.#bound(this.#one(["lt", "lte"]), next);
    const ends = [[], [], [lower], [upper], [lower, upper], [upper, lower]];
    return [...bounds, ...this.#one(ends)];
  }

  #bound(is: Bound["is"], field: string): Bound {
    if (field === "kind") return { is, field, value: this.#one(KINDS) };
    if (field === "ts") return { is, field, ...this.#one([{ value: 5n }, {}]) };
    if (field === "nested.x") return { is, field, value: this.upTo(2) };
    return { is, field, ...this.#value() };
  }

  #filter(): Filter {
    const is = this.#one(["eq", "neq", "gt", "gte", "lt", "lte"] as const);
    const field = this.#one(["kind", "a", "b", "nested.x", "ts", "_creationTime", "state.kind"]);
    const value = field === "kind" ? { value: this.#one(KINDS) } : this.#value();
    return { is, field, ...value, not: this.#chance(0.2) };
  }
}
