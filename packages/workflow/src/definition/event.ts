import type { Duration } from "../rules.js";
import type { AnySchema, InferInput, InferOutput, ValidAt } from "./values.js";

/** By the event's name, what parses its payload. */
export type Schemas = Readonly<Record<string, AnySchema>>;

/** What an event node waits for. Of `Schema` and `S`, the one that was not given is `never`. */
export type EventNode<
  Schema extends AnySchema,
  S extends Schemas,
  Timeout extends Duration | Date | undefined,
  Scope,
> = (
  | {
      /** Waits for an event of the node's own name; parses its payload, in `workflow.sendEvent`. */
      schema: Schema;
      anyOf?: never;
      /**
       * Says whether a payload is meant for this node. One that is not stays for a later node, or
       * is refused if there is none. It is synchronous, and is called in the sender's transaction,
       * or when the run comes to the node. If it throws there, the node fails. Default: all are.
       */
      match?: (payload: InferOutput<Schema>, scope: Scope) => boolean;
    }
  | {
      /** Waits for the first event of any of these names; parses their payloads. */
      anyOf: S;
      schema?: never;
      /** The same for each name; all payloads of a name without one are meant for this node. */
      match?: { [Name in keyof S]?: (payload: InferOutput<S[Name]>, scope: Scope) => boolean };
    }
) & {
  /**
   * How long the run waits, or until when. A function is called once. Default: forever, or until
   * the run's own timeout.
   */
  timeout?: Timeout | ((scope: Scope) => Timeout);
  /** Its payload is neither shown, logged, nor passed to a scheduled function. Default: false. */
  sensitive?: boolean;
} & ValidAt<"schema", InferOutput<Schema>> &
  ValidAt<"anyOf", Named<S>> &
  Always<Timeout>;

/**
 * A timeout that is called gives one each time: a run that has come to wait needs it. Of what is no
 * time at all, TypeScript says so itself.
 */
type Always<Timeout> = [Timeout] extends [undefined]
  ? unknown
  : [Duration | Date] extends [Timeout]
    ? unknown
    : undefined extends Timeout
      ? { timeout?: Timeout }
      : unknown;

/** Which event came, and its payload. */
export type Named<S extends Schemas> = {
  [Name in keyof S]: { name: Name; value: InferOutput<S[Name]> };
}[keyof S];

/** An event node's output: the event, or with a timeout a union told apart by `timedOut`. */
export type EventOutput<Event, Timeout> = Timeout extends undefined
  ? Event
  : { timedOut: false; event: Event } | { timedOut: true };

/** An event that some node waits for, and what is sent with it. */
export interface Receives<Name extends string, Payload> {
  readonly event: Name;
  readonly payload: Payload;
}

/** What can be sent to an event node: under its own name, or one of its `anyOf`. */
export type Awaited<Name extends string, Schema extends AnySchema, S extends Schemas> =
  | ([Schema] extends [never] ? never : Receives<Name, InferInput<Schema>>)
  | ([S] extends [never]
      ? never
      : { [Each in keyof S & string]: Receives<Each, InferInput<S[Each]>> }[keyof S & string]);
