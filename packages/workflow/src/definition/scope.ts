/*
 * A scope is a tuple of [name, output], and becomes an object only for a handler: no other form can
 * be checked for hundreds of nodes. A node without an output, or inside another, is [never, name or
 * path]: taken, but no handler sees it.
 */
export type Entries = readonly (readonly [string, unknown])[];

/** Writes an object type out, so that the editor shows its members and not how it was made. */
export type Simplify<T> = { [K in keyof T]: T[K] } & {};

/** What a handler sees. Conditional, so that editors show the members. */
export type ScopeOf<Scope extends Entries> = Scope extends Entries
  ? { [Entry in Scope[number] as Entry[0]]: Entry[1] }
  : never;

/** Names of nodes without an output, and paths of those inside others. */
type Silent<Scope extends Entries> = Extract<Scope[number], readonly [never, string]>[1];

/** The names of all nodes, and the paths of those inside: `agent.think`, `route.big.x`. */
export type NamesOf<Scope extends Entries> = Exclude<Scope[number][0], "input"> | Silent<Scope>;

/** Of the names in a body or case, those that it has added itself. */
export type Inside<Scope extends Entries, Names> = Exclude<Names & string, NamesOf<Scope> | "loop">;

/** They have a meaning of their own in a scope, or in generated code. */
type Reserved =
  | ("output" | "children" | "loop" | "error" | "finalize" | "compensate")
  | ("run" | "entry" | "reference");

/** A name that a node can have here, or why it cannot. A scope of `any` takes all. */
export type Free<Scope extends Entries, Name> = Name extends Reserved
  ? `the name "${Name}" is reserved`
  : string extends Scope[number][0]
    ? Name
    : Name extends Scope[number][0] | Silent<Scope>
      ? `the name "${Name & string}" is already taken`
      : Name;

/** What the body of a loop and its `until` see as `loop`. */
export interface Loop<State> {
  /** From `initial` or the iteration before. In `until`, from the iteration that just ended. */
  readonly state: State;
  /** From 1. */
  readonly iteration: number;
}

/** The scope inside a loop. The `loop` of a loop around it is hidden. */
export type InLoop<Scope extends Entries, State> = [
  ...("loop" extends Scope[number][0] ? WithoutLoop<Scope> : Scope),
  ["loop", Loop<State>],
];

type WithoutLoop<Scope extends Entries, Kept extends Entries = []> = Scope extends readonly [
  infer First extends readonly [string, unknown],
  ...infer Rest extends Entries,
]
  ? WithoutLoop<Rest, "loop" extends First[0] ? Kept : [...Kept, First]>
  : Kept;
