import type { Builder } from "./builder.js";
import type { Sequence } from "./cases.js";
import type { Entries, ScopeOf } from "./scope.js";
import type { IsAny } from "./values.js";

/*
 * A match: its cases are told apart by the values of a field of something in the scope, and inside
 * a case that is the member of its union which has the value. `by` is a field, or a path of two.
 */

type Key = string | number | boolean;

/** Says whether a type is a finite set of texts, numbers and booleans, which can be keys. */
type IsFinite<T> = [T] extends [never]
  ? false
  : [T] extends [Key]
    ? string extends T
      ? false
      : number extends T
        ? IsEnum<T & number>
        : true
    : false;

/** Any number can be a member of an enum of numbers, so that is asked of their texts. */
type IsEnum<T extends number> = `${number}` extends `${T}` ? false : true;

/**
 * Values as keys of `cases`: the text of an enum, `true` and `false` of a boolean. Not all in one
 * template: TypeScript 7.0.2 crashes on a template of a boolean that is generic.
 */
type Keys<T> = T extends string
  ? `${T}`
  : T extends number
    ? `${T}`
    : T extends true
      ? "true"
      : T extends false
        ? "false"
        : never;

/** The type at a path of fields; of a union, the union of the types. */
type At<T, By extends string> = T extends unknown
  ? By extends keyof T
    ? T[By]
    : By extends `${infer Head}.${infer Rest}`
      ? Head extends keyof T
        ? At<T[Head], Rest>
        : never
      : never
  : never;

/** The fields that tell something apart, to a depth of two; those that all its members have. */
type Discriminants<T> = {
  [K in keyof T & string]:
    | (IsFinite<T[K]> extends true ? K : never)
    | (T[K] extends Key | null | undefined | readonly unknown[] ? never : Nested<T[K], K>);
}[keyof T & string];

type Nested<T, Path extends string> = {
  [K in keyof T & string]: IsFinite<T[K]> extends true ? `${Path}.${K}` : never;
}[keyof T & string];

/** A name of the scope, or which there are. Not as a constraint: see `ByOf`. */
type Known<Scope, Of> = [Of] extends [never]
  ? keyof Scope & string
  : Of extends keyof Scope
    ? Of
    : keyof Scope & string;

type OutputIn<Scope, Of> = Of extends keyof Scope ? Scope[Of] : never;

/**
 * What `by` may be, or why there is nothing. Not as the constraint of `By`: its base constraint
 * would be computed over all nodes of the scope, for every match.
 */
type ByOf<T, Of, By> = [Of] extends [never]
  ? string
  : IsAny<T> extends true
    ? By
    : By extends Discriminants<T>
      ? By
      : [Discriminants<T>] extends [never]
        ? `"${Of & string}" has no field of literals that all its members have: use .branch`
        : Discriminants<T>;

/** The keys that need a case. Without `by` the value itself is the key. */
type KeysOf<T, By extends string> = [By] extends [never] ? Keys<T> : Keys<At<T, By>>;

type KeysIn<Scope extends Entries, Of, By extends string> = KeysOf<
  OutputIn<ScopeOf<Scope>, Of>,
  By
>;

/** The members of a union whose field has a value. */
type Narrowed<T, By extends string, Value> = T extends unknown
  ? [By] extends [never]
    ? Keys<T> extends Value
      ? T
      : never
    : By extends keyof T
      ? Member<T, By, Extract<T[By], Matching<T[By], Value>>>
      : By extends `${infer Head}.${infer Rest}`
        ? Head extends keyof T
          ? Member<T, Head, Narrowed<T[Head], Rest, Value>>
          : never
        : never
  : never;

type Matching<Field, Value> = Field extends unknown
  ? Keys<Field> extends Value
    ? Field
    : never
  : never;

/** A member with a narrower field: itself if that is all of it, none if there is nothing left. */
type Member<T, Field extends keyof T, Kept> = [Kept] extends [never]
  ? never
  : [T[Field]] extends [Kept]
    ? T
    : { [K in keyof T]: K extends Field ? Kept : T[K] };

/** The same names in the same order, one of them with another type. */
type Replaced<Scope extends Entries, Name, Value> = {
  [I in keyof Scope]: Name extends Scope[I][0] ? [Name, Value] : Scope[I];
};

/** The scope inside a case. */
type InCase<Scope extends Entries, Of, By extends string, Value> = Replaced<
  Scope,
  Of,
  Narrowed<OutputIn<ScopeOf<Scope>, Of>, By, Value>
>;

/** Cases that see the whole scope. With what is wrong, they leave it the only error. */
type Unnarrowed<Input, Scope extends Entries, Hint> = Readonly<
  Record<string, (b: Builder<Input, Scope, null, never, Hint>) => Sequence<unknown>>
>;

/** The cases, each of which sees what it is matched by narrowed. */
export type CasesOf<Input, Scope extends Entries, Of, By extends string, Hint> = [Of] extends [
  never,
]
  ? Unnarrowed<Input, Scope, Hint>
  : string extends KeysIn<Scope, Of, By>
    ? Unnarrowed<Input, Scope, Hint> &
        "this can be any text: give it a type of literals, or use .branch"
    : [KeysIn<Scope, Of, By>, By] extends [never, never]
      ? Unnarrowed<Input, Scope, Hint> & "this cannot be a key: name one of its fields with `by`"
      : {
          readonly [K in KeysIn<Scope, Of, By>]?: (
            b: Builder<Input, InCase<Scope, Of, By, K>, null, never, Hint>,
          ) => Sequence<unknown>;
        };

/** The keys of the cases that were written, as text: an object's `1` is a number. */
type Written<Case> = `${Case & (string | number)}`;

/** Demands the cases that are missing, or says which cannot be. */
type Complete<Needed, Case, Default> = ([Default] extends [never]
  ? { cases: { [K in Exclude<Needed, Written<Case>> & string]: unknown } }
  : unknown) &
  ([Exclude<Written<Case>, Needed>] extends [never]
    ? unknown
    : Record<`a value "${Exclude<Written<Case>, Needed> & string}" of the field`, never>);

/** The default as a case; none if there is none. */
export type Rest<Default> = [Default] extends [never] ? never : (b: never) => Default;

/** A match. The order matters to inference: cases, default. */
export type MatchNode<Input, Scope extends Entries, Cases, Of, By extends string, Default, Hint> = {
  /** What the cases distinguish: a node, `input`, `loop` or `each`. */
  of: Known<ScopeOf<Scope>, Of>;
  /** The field of it, or a path of two, such as `"event.name"`. Default: the value is the key. */
  by?: ByOf<OutputIn<ScopeOf<Scope>, Of>, Of, By>;
  /** A case for each value, or there is a `default`. */
  cases: Cases;
  /** What has no case. Write it after the cases: it sees what they leave. */
  default?: (
    b: Builder<
      Input,
      InCase<Scope, Of, By, Exclude<KeysIn<Scope, Of, By>, Written<keyof Cases>>>,
      null,
      never,
      Hint
    >,
  ) => Default;
} & Complete<KeysIn<Scope, Of, By>, keyof Cases, Default>;
