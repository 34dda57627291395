/* What the callbacks that add the nodes of a case, a branch or a body return. */

/** What the callback of a case or a body returns: its builder, with the nodes it added. */
export interface Sequence<Output, Events = unknown, Names = unknown> {
  readonly "~last"?: () => Output;
  readonly "~events"?: () => Events;
  readonly "~names"?: () => Names;
  readonly "~finalized"?: "a case or a body has no .finalize: its output is that of its last node";
}

export type OutputOfCase<Case> = Case extends (b: never) => Sequence<infer O> ? O : never;
export type EventsOfCase<Case> = Case extends (b: never) => Sequence<unknown, infer E> ? E : never;
export type NamesOfCase<Case> = Case extends (b: never) => Sequence<unknown, unknown, infer N>
  ? N
  : never;

/** The same of a branch or the body of an each, whose run is its own: an `.end` ends that. */
export interface Whole<Output, Events = unknown, Names = unknown> {
  readonly "~output"?: () => Output;
  readonly "~events"?: () => Events;
  readonly "~names"?: () => Names;
  readonly "~finalized"?: "a case or a body has no .finalize: its output is that of its last node";
}

/** The output of such a branch: that of its last node, or of the `.end` that it has come to. */
export type EndingOfCase<Case> = Case extends (b: never) => Whole<infer Output> ? Output : never;

export type CaseKey = string | number;

/** A key as one name of a path, as `inPath` writes it. */
export type InPath<Key extends CaseKey> = `${Key}` extends `${string}.${string}`
  ? `"${Key}"`
  : `${Key}`;

/** Intersected with a branch: demands a member if `on` can never give a key. */
export type Reached<Key, Case> = [Exclude<Case, Key>] extends [never]
  ? unknown
  : Record<`an \`on\` that gives ${Exclude<Case, Key> & CaseKey}`, never>;
