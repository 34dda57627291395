import type { Value } from "convex/values";
import type { AnyDefinition, CompiledNode } from "../../definition/definition.js";
import { durationMs, type Duration } from "../../definition/duration.js";
import { describeThrown } from "../../errors/failure.js";
import { optionOf } from "../options.js";
import { placeOf } from "../place.js";
import type { Arrival, Arrive, Run } from "../run.js";

/** Whether a node is one that waits for an event. Of nodes that are gone: no. */
export function isEvent(node: CompiledNode): boolean {
  return node?.schema !== undefined || node?.anyOf !== undefined;
}

/** The names of the events that a node waits for: its own, or those of `anyOf`. */
export function eventNames(node: CompiledNode, path: string): string[] {
  return Object.keys(schemasOf(node, nameOf(path)));
}

const nameOf = (path: string): string => path.split(".").at(-1) ?? path;

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
  const names = eventNames(node, stage);
  let timeoutMs: number | undefined;
  try {
    timeoutMs = await timeoutOf(node, run, stage, reads);
  } catch (error) {
    return transaction.fail(stage, describeThrown(error));
  }
  const at = { ...transaction.at(stage), ...transaction.marks(stage) };
  const { was } = transaction.formerly(stage);
  const early = await transaction.ctx.runMutation(own.component.events.take, {
    run: token.run,
    names: [...names, ...formerEvents(own.definition, names, was)],
    stage,
    was,
  });
  if (early !== null) {
    const output = eventOutput(node, early.name, early.value);
    transaction.add({ ...at, kind: "event", startedAt: Date.now(), output });
    return await next(run);
  }
  transaction.goOn({
    kind: "event",
    ...at,
    names,
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
  const what = optionOf(transaction.own.workflow, stage)("timeout");
  const given: unknown =
    typeof timeout === "function"
      ? await timeout(await transaction.copiedScope({ stage, function: "timeout" }, reads))
      : timeout;
  if (!(given instanceof Date)) return durationMs(given as Duration, what);
  if (Number.isNaN(given.getTime())) throw new Error(`${what} is an invalid date`);
  return Math.max(0, given.getTime() - Date.now());
}

/** Under which names an event was kept that came before the node was renamed; not those that are another node's by now. */
function formerEvents(
  { nodes }: AnyDefinition,
  names: readonly string[],
  was: readonly string[] = [],
): string[] {
  const taken = [...names, ...receiversOf(nodes).map(({ name }) => name)];
  const former = new Set(was.map(nameOf));
  return [...former].filter((name) => !taken.includes(name));
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

/** The nodes of a definition that take events of a name: where they stand, the outermost loop around, and the schema. For whoever sends one. */
export function receiversOf(
  nodes: Readonly<Record<string, CompiledNode>>,
  prefix = "",
): { stage: string; name: string; schema: CompiledNode; loop?: string }[] {
  return Object.entries(nodes).flatMap(([key, node]) => {
    const path = prefix + key;
    if (isEvent(node))
      return Object.entries(schemasOf(node, key)).map(([name, schema]) => ({
        stage: path,
        name,
        schema,
      }));
    if (node.body !== undefined)
      return receiversOf(node.body, `${path}.`).map((each) => ({ ...each, loop: path }));
    return Object.entries<CompiledNode>(node.cases ?? {}).flatMap(([name, inside]) =>
      receiversOf(inside, `${path}.${name}.`),
    );
  });
}
