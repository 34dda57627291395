import type { Value } from "convex/values";
import type { AnyDefinition, CompiledNode } from "../../definition/definition.js";
import { durationMs, type Duration } from "../../definition/duration.js";
import { describeThrown } from "../../errors/failure.js";
import { optionOf } from "../options.js";
import { placeOf } from "../place.js";
import type { Arrival, Arrive, Run } from "../run.js";
import { presentKey } from "../storage-names.js";

/** Whether a node is one that waits for an event. Of nodes that are gone: no. */
export function isEvent(node: CompiledNode): boolean {
  return node?.schema !== undefined || node?.anyOf !== undefined;
}

/** What parses the payload of each event that a node waits for. @param own the node's name: that of the event where there is one. */
function schemasOf(node: CompiledNode, own: string): Readonly<Record<string, CompiledNode>> {
  return node.anyOf ?? { [own]: node.schema };
}

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
  const event = node?.anyOf === undefined ? value : { name, value };
  return node?.timeout === undefined ? event : { timedOut: false, event };
}

/**
 * What becomes of a wait that is over, as its node is now: a sleep has ended, an event has not come. A deploy may have taken the event's
 * timeout away: then it is waited for further.
 */
export function endOfWait(node: CompiledNode): { output: Value } | "waits" {
  if (!isEvent(node)) return { output: null };
  return node.timeout === undefined ? "waits" : { output: { timedOut: true } };
}

/** A node that takes events of a name. */
export interface Receiver {
  readonly stage: string;
  readonly name: string;
  /** The storage name of the event: if it has the name of its node, that of the node. */
  readonly stored: string;
  readonly schema: CompiledNode;
  /** The outermost loop around it. */
  readonly loop?: string;
}

/** The nodes that take events, in the order of the definition. */
export function receiversOf(
  nodes: Readonly<Record<string, CompiledNode>>,
  prefix = "",
): Receiver[] {
  return Object.entries(nodes).flatMap(([key, node]) => {
    const path = prefix + key;
    if (isEvent(node))
      return Object.entries(schemasOf(node, presentKey(nodes, key))).map(([name, schema]) => ({
        stage: path,
        name,
        stored: node.anyOf === undefined ? key : name,
        schema,
      }));
    if (node.body !== undefined)
      return receiversOf(node.body, `${path}.`).map((each) => ({ ...each, loop: path }));
    return Object.entries<CompiledNode>(node.cases ?? {}).flatMap(([name, inside]) =>
      receiversOf(inside, `${path}.${name}.`),
    );
  });
}

/** The storage name of the events of a name: whichever of its nodes takes one finds it under that. */
export function storedEvent(all: readonly Receiver[], name: string): string {
  const renamed = all.find((one) => one.name === name && one.stored !== name);
  return renamed?.stored ?? name;
}

/** The events that a stage takes: their names, by their storage names. */
export function eventsOf({ nodes }: AnyDefinition, stage: string): ReadonlyMap<string, string> {
  const all = receiversOf(nodes);
  const own = all.filter((one) => one.stage === stage);
  return new Map(
    own.flatMap(({ name, stored }) => [
      [stored, name],
      [storedEvent(all, name), name],
    ]),
  );
}
