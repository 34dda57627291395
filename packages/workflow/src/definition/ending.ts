import type { Definition } from "./definition.js";

/** A line of nodes that has its `.end`: nothing follows it, and nothing of it goes on. */
export interface Ended<Input, Scope, Output, Name extends string, Events> extends Definition<
  Input,
  Scope,
  Output,
  Name,
  Events
> {
  readonly "~last"?: () => never;
}

/** The output of an `.end`, among what a definition's type says of its nodes. */
export interface Ends<Output> {
  readonly ends: Output;
}

/** What a run may have ended with before its last node. */
export type EndsIn<Events> = Extract<Events, Ends<unknown>>["ends"];

/* Keeps the literals of an output's fields, so that the ends of a run can be told apart. */
export type Literal = string | number | boolean | bigint | null;
export type Kept<Field> =
  Field | object | undefined | { [key: string]: Field | object | undefined };
