import type { AnyTags } from "./context.js";
import type { IsAny } from "./values.js";

/*
 * A scope is a tuple of [name, output], and becomes an object only for a handler: no other form can
 * be checked for hundreds of nodes. A node without an output, or inside another, is [never, name or
 * path]: taken, but no handler sees it. The first entry, `input`, also has the tags that a handler
 * may give: a parameter of its own would be one more in every type.
 */
export type Entries = readonly (readonly [string, unknown])[];

/** What handlers may tag their run with. A scope that the app has written itself does not say. */
export type TagsIn<Scope extends Entries> = "tags" extends keyof Scope[0]
  ? Exclude<Scope[0]["tags"], undefined>
  : AnyTags;

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

/** The names that a body or case has added itself. */
export type Inside<Scope extends Entries, Names> = Exclude<
  Names & string,
  NamesOf<Scope> | "loop" | "each"
>;

/** They have a meaning of their own in a scope, in generated code, or in JavaScript. */
type Reserved =
  | ("output" | "children" | "loop" | "each" | "error" | "finalize" | "end" | "compensate")
  | ("run" | "entry" | "reference" | "until" | "then");

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
export type InLoop<Scope extends Entries, State> = Hiding<Scope, "loop", Loop<State>>;

/** What the body of an `.each` sees as `each`: `index` for a list, `key` for a record. Or any. */
export type Each<C> =
  IsAny<C> extends true
    ? C
    : C extends readonly (infer Item)[]
      ? { readonly item: Item; readonly index: number }
      : { readonly item: C[keyof C]; readonly key: keyof C & string };

/** The scope inside an `.each`. The `each` of one around it is hidden. */
export type InEach<Scope extends Entries, C> = Hiding<Scope, "each", Each<C>>;

/** Adds an entry in the place of any of that name. */
type Hiding<Scope extends Entries, Name extends string, Value> = [
  ...(Name extends Scope[number][0] ? Without<Scope, Name> : Scope),
  [Name, Value],
];

type Without<
  Scope extends Entries,
  Name extends string,
  Kept extends Entries = [],
> = Scope extends readonly [infer First extends Entries[number], ...infer Rest extends Entries]
  ? Without<Rest, Name, Name extends First[0] ? Kept : [...Kept, First]>
  : Kept;
