import { convexToJson, jsonToConvex, type Value } from "convex/values";
import type { RunLife } from "./run-life.js";
import type { World } from "./world.js";

/**
 * A definition as its author wrote it. What a node holds was written by the generator; which kind
 * it is shows by its members.
 */
export interface Definition {
  readonly options: {
    readonly input: Schema;
    readonly retry?: Retry;
    readonly timeout?: number;
    readonly onEnd?: Node;
    readonly collect?: Collect;
  };
  readonly nodes: Nodes;
}
/** How starts are collected. */
export interface Collect {
  readonly keep: "all" | "last" | "first";
  readonly quiet: number;
  readonly atMost?: number;
  readonly size?: number;
}
/* Whatever a builder takes, of any kind. */
export type Node = any;
export type Nodes = Readonly<Record<string, Node>>;
export type Retry =
  | boolean
  | {
      readonly maxAttempts: number;
      readonly initialBackoffMs?: number;
      /** Where there is one, each wait is as long as that. */
      readonly maxBackoffMs?: number;
      readonly when?: (error: Fault) => unknown;
    };
interface Schema {
  readonly "~standard": {
    validate(value: unknown): { readonly issues?: unknown; readonly value?: unknown };
  };
}
export type Scope = Readonly<Record<string, unknown>>;

/** By name. */
export type Workflows = Readonly<
  Record<
    string,
    {
      readonly definition: Definition;
      /** What each node of the top level reads. */
      readonly nodeReads?: (node: string) => readonly string[];
    }
  >
>;

/** An error, as far as the promises say what it is. */
export interface Fault {
  readonly kind: string;
  readonly workflow: string;
  readonly node: string;
  readonly attempt: number;
  /** Of one that a handler threw. */
  readonly message?: string;
  readonly data?: unknown;
  readonly key?: string;
  readonly cause?: Fault;
  readonly causes?: Readonly<Record<string, Fault>>;
  readonly compensationErrors?: readonly Fault[];
}

export class Failed extends Error {
  constructor(readonly fault: Fault) {
    super(fault.kind);
  }
}

export type End = "completed" | "failed" | "canceled" | "timedOut";

/** Something that was completed and can be undone: a step, or a child with such steps. */
export type Undo = { readonly node: string } & (
  | { readonly child: RunLife }
  /** `at` counts what was completed, in all runs. */
  | { readonly at: number; readonly compensate: Compensation }
);
export type Compensation = (cause: Fault) => Promise<Fault | undefined>;

/** Where a node stands. */
export interface Place {
  /** What the paths of its sequence begin with. */
  readonly prefix: string;
  readonly isInLoop: boolean;
}

/** How a handler is run. */
export interface Handled {
  readonly stage: string;
  readonly handler: Node;
  readonly scope: Scope;
  readonly timeout?: number | undefined;
  /** A compensation goes on though its run does not; so does an `onEnd`. */
  readonly isUndoing?: boolean;
  readonly limit?: Limit;
}

/** Of a node with a time of its own: whether that is over, and the node goes on in its run. */
export interface Limit {
  isOver: boolean;
  /** [S169] A race is won, so its time counts no more. */
  isWon?: boolean;
}

export const KINDS = ["action", "mutation", "query"] as const;
export type Kind = (typeof KINDS)[number];
/** [S31] [S33] [S34] */
export const RETRIED = ["thrown", "timedOut"];

/** Says whether a run in the state has come to its end. */
export function isEnd(state: string): state is End {
  return /^(completed|failed|canceled|timedOut)$/.test(state);
}

/** The node of the top level that a stage belongs to. */
export function topOf(stage: string): string {
  return stage.split(".")[0] ?? "";
}

/** The events that a node waits for; undefined of one that waits for none. */
export function eventNames(node: Node, name: string): string[] | undefined {
  if (node.anyOf !== undefined) return Object.keys(node.anyOf);
  return node.schema !== undefined && node.initial === undefined ? [name] : undefined;
}

export class TimedOut extends Error {}
export type Problem = Pick<Fault, "kind" | "message" | "data"> & {
  /** [S154] When it asks to be tried again. */
  readonly retryAt?: number;
};

/** A value as it is kept: [S16] [S20] [S22]. */
export function stored(value: unknown): Value {
  try {
    return jsonToConvex(convexToJson((value ?? null) as Value));
  } catch {
    throw new Unfit();
  }
}
class Unfit extends Error {}

/** [S22] [S33] [S34] [S37] [S154] */
export function problemOf(error: unknown): Problem {
  if (error instanceof TimedOut) return { kind: "timedOut" };
  if (error instanceof Unfit) return { kind: "invalidOutput" };
  const { name, message, data } = error as Error & { data?: unknown };
  if (name === "NonRetryableError") {
    const given = data as { message: string; data: unknown };
    return { kind: "nonRetryable", message: given.message, data: given.data };
  }
  if (name === "RetryAfter") {
    const { "~retryAfter": retryAt, ...asked } = data as Omit<Problem, "kind"> & Asking;
    return { kind: "thrown", ...asked, retryAt };
  }
  return data === undefined ? { kind: "thrown", message } : { kind: "thrown", data };
}

interface Asking {
  readonly "~retryAfter": number;
}

/** What a handler does besides giving something. */
export function contextOf(kind: Kind, { log }: World, written: string[]) {
  const insert = async (_table: string, { text }: { text: string }) => void written.push(text);
  const runMutation = async (_reference: unknown, { text }: { text: string }) =>
    void log.push(text);
  return kind === "action" ? { runMutation } : kind === "mutation" ? { db: { insert } } : {};
}
