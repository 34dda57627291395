/** That an `.end` gives such an output, among what a definition's type says of its nodes. */
export interface Ends<Output> {
  readonly ends: Output;
}

/** What a run may have ended with before its last node. */
export type EndsIn<Events> = Extract<Events, Ends<unknown>>["ends"];

/** What a branch or the body of an each returns, whose run is its own: an `.end` ends that. */
export interface Whole<Output, Events = unknown, Names = unknown> {
  readonly "~output"?: () => Output;
  readonly "~events"?: () => Events;
  readonly "~names"?: () => Names;
  readonly "~finalized"?: "a case or a body has no .finalize: its output is that of its last node";
}

/** The output of such a branch: that of its last node, or of the `.end` that it has come to. */
export type EndingOfCase<Case> = Case extends (b: never) => Whole<infer Output> ? Output : never;

/* Keeps the literals of an output's fields, so that the ends of a run can be told apart. */
export type Literal = string | number | boolean | bigint | null;
export type Kept<Field> =
  Field | object | undefined | { [key: string]: Field | object | undefined };
