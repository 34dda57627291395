import { AsyncLocalStorage } from "node:async_hooks";
import type { Usage } from "./usage.js";

export type FunctionType = "query" | "mutation" | "action";

/**
 * How a function was entered: `root` by the scheduler or a client, `action` by an action, `nested`
 * inside another query's or mutation's transaction.
 */
export type Entry = "root" | "action" | "nested";

/** One execution of one function. */
export interface Call {
  /** The position among all calls of the recorder, from 0. */
  readonly id: number;
  /** The component's path; `""` is the app. */
  readonly component: string;
  /** `module:export`; `inline` for a function given to `t.query`, `t.mutation` or `t.action`. */
  readonly name: string;
  readonly type: FunctionType;
  readonly how: Entry;
  /** The `id` of the call that made this one. */
  readonly parent?: number;
  /** Says whether it threw. */
  failed: boolean;
  /** Says whether its writes were undone, because it or a call around it threw. */
  rolledBack: boolean;
  /** By the clock that the functions see, so virtual under fake timers; ms since the epoch. */
  readonly startedAt: number;
  endedAt?: number;
  /** What it used itself. */
  self: Usage;
  /** What it used together with everything it called. */
  total: Usage;
}

/** What is known about the function that runs in this asynchronous context. */
export interface Frame {
  readonly call: Call;
  /** Says whether the function is inside a transaction: a query or mutation. */
  readonly inTransaction: boolean;
  /** Nested calls above this one in the same transaction: 0 for its outermost function. */
  readonly depth: number;
  /** What it called, as far as that has ended. */
  readonly nested: Frame[];
  /** False as soon as the function has ended: a promise it left behind is not a call by it. */
  active: boolean;
}

/** A function's place in words, for messages. */
export function describe(component: string, name: string): string {
  return component === "" ? name : `${component}/${name}`;
}

/** `"uncounted"` marks the reads of an observer, which are no part of what is measured. */
export const frames = new AsyncLocalStorage<Frame | "uncounted">();
