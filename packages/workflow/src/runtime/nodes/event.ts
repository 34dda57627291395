import type { Value } from "convex/values";
import type { AnyDefinition, CompiledNode } from "../../definition/definition.js";
import { durationMs, type Duration } from "../../rules.js";
import { describeThrown } from "../../errors/failure.js";
import { optionOf } from "../options.js";
import { allNodes, placeOf } from "../place.js";
import type { Arrival, Arrive, Run } from "../run.js";
import { presentKey } from "../storage-names.js";
import { kindOf } from "./kinds.js";

/** An event: one that came early is taken at once, else the run waits. */
export async function event(
  run: Run,
  stage: string,
  next: Arrive,
  reads: readonly string[],
): Arrival {
  const { transaction } = run;
  const { own, token } = transaction;
  if (await transaction.isFull()) return transaction.goTo(stage, reads);
  const { node } = placeOf(own.definition, stage);
  const events = eventsOf(own.definition, stage);
  let timeoutMs: number | undefined;
  try {
    timeoutMs = await timeoutOf(node, run, stage, reads);
  } catch (error) {
    return transaction.fail(stage, describeThrown(error));
  }
  const at = transaction.facts(stage);
  const early = await transaction.ctx.runMutation(own.component.events.take, {
    run: token.run,
    names: [...events.keys()],
    stage,
  });
  if (early !== null) {
    const output = eventOutput(node, events.get(early.name) ?? early.name, early.value);
    transaction.add({ ...at, kind: "event", startedAt: Date.now(), output });
    return await next(run);
  }
  transaction.goOn({
    kind: "event",
    ...at,
    names: [...new Set(events.values())],
    ...([...events].every(([stored, name]) => stored === name)
      ? {}
      : { storedNames: [...events.keys()] }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
}

/** How long the run waits, in ms. @throws where the `timeout` is none. */
async function timeoutOf(
  { timeout }: CompiledNode,
  { transaction }: Run,
  stage: string,
  reads: readonly string[],
): Promise<number | undefined> {
  if (timeout === undefined) return undefined;
  const what = optionOf(transaction.own.workflow, transaction.called(stage))("timeout");
  const given: unknown =
    typeof timeout === "function"
      ? await timeout(await transaction.copiedScope({ stage, function: "timeout" }, reads))
      : timeout;
  if (!(given instanceof Date)) return durationMs(given as Duration, what);
  if (Number.isNaN(given.getTime())) throw new Error(`${what} is an invalid date`);
  return Math.max(0, given.getTime() - Date.now());
}

/** What a node makes of an event. Where it has a timeout, its output tells whether one came. */
export function eventOutput(node: CompiledNode, name: string, value: Value): Value {
  return kindOf(node).received?.(node, name, value) ?? value;
}

/**
 * What becomes of a wait that is over, as its node is now: a sleep has ended, an event has not come. A deploy may have taken the event's
 * timeout away: then it is waited for further.
 */
export function endOfWait(node: CompiledNode): { output: Value } | "waits" {
  const { due } = kindOf(node);
  const output = due === undefined ? null : due(node);
  return output === undefined ? "waits" : { output };
}

/** A node that takes events of a name. */
export interface Receiver {
  readonly stage: string;
  readonly name: string;
  /** The storage name of the event: if it has the name of its node, that of the node. */
  readonly stored: string;
  readonly schema: CompiledNode;
  /** The outermost loop around it. */
  readonly loop?: string | undefined;
}

/** The nodes that take events, in the order of the definition. */
export function receiversOf({ nodes }: AnyDefinition): Receiver[] {
  return allNodes(nodes).flatMap(({ path: stage, key, node, nodes: among, loop }) => {
    const events = kindOf(node).events?.(node, presentKey(among, key)) ?? [];
    return events.map(({ name, schema, isOwn }) => ({
      stage,
      name,
      stored: isOwn ? key : name,
      schema,
      loop,
    }));
  });
}

/** The storage name of the events of a name: whichever of its nodes takes one finds it under that. */
export function storedEvent(all: readonly Receiver[], name: string): string {
  const renamed = all.find((one) => one.name === name && one.stored !== name);
  return renamed?.stored ?? name;
}

/** The events that a stage takes: their names, by their storage names. */
export function eventsOf(definition: AnyDefinition, stage: string): ReadonlyMap<string, string> {
  const all = receiversOf(definition);
  const own = all.filter((one) => one.stage === stage);
  return new Map(
    own.flatMap(({ name, stored }) => [
      [stored, name],
      [storedEvent(all, name), name],
    ]),
  );
}
