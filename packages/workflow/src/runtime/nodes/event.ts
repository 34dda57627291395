import type { Value } from "convex/values";
import type { AnyDefinition, CompiledNode } from "../../definition/definition.js";
import { durationMs } from "../../definition/duration.js";
import { describeThrown } from "../../errors/failure.js";
import { formerName } from "../../renaming.js";
import { optionOf } from "../options.js";
import { placeOf } from "../place.js";
import type { Arrival, Arrive, Run } from "../run.js";

/** The names of the events that a node waits for: its own, or those of `anyOf`. */
export function eventNames(node: CompiledNode, path: string): string[] {
  return node.anyOf === undefined ? [path.split(".").at(-1) ?? path] : Object.keys(node.anyOf);
}

/** An event: one that came early is taken at once, else the run waits. */
export async function event(run: Run, stage: string, next: Arrive): Arrival {
  const { transaction } = run;
  const { own, token } = transaction;
  if (await transaction.isFull()) return transaction.goTo(stage, []);
  const { node } = placeOf(own.definition, stage);
  const names = eventNames(node, stage);
  let timeoutMs: number | undefined;
  try {
    timeoutMs =
      node.timeout === undefined
        ? undefined
        : durationMs(node.timeout, optionOf(own.workflow, stage)("timeout"));
  } catch (error) {
    return transaction.fail(stage, describeThrown(error));
  }
  const at = { ...transaction.at(stage), ...transaction.marks(stage) };
  const early = await transaction.ctx.runMutation(own.component.events.take, {
    run: token.run,
    names: [...names, ...formerNames(own.definition, stage, names)],
    stage,
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

/** Under which name an event was kept that came before the node was renamed; not where that is another node's by now. */
function formerNames(definition: AnyDefinition, stage: string, names: readonly string[]): string[] {
  const was = formerName(definition.options.renamed, stage)?.split(".").at(-1);
  if (was === undefined || names.includes(was)) return [];
  return receiversOf(definition.nodes).some(({ name }) => name === was) ? [] : [was];
}

/** What a node makes of an event. Where it has a timeout, its output tells whether one came. */
export function eventOutput(node: CompiledNode, name: string, value: Value): Value {
  const event = node?.anyOf === undefined ? value : { name, value };
  return node?.timeout === undefined ? event : { timedOut: false, event };
}

/**
 * What becomes of a wait that is over, as its node is now: a sleep has ended, an event has not come. A deploy may have taken the event's
 * timeout away: then it is waited for further. Or it has made another kind of node of it.
 */
export function endOfWait(
  node: CompiledNode,
  of: "sleep" | "event",
): { output: Value } | "waits" | "removed" {
  if (of === "sleep") return node?.duration === undefined ? "removed" : { output: null };
  if (node?.anyOf === undefined && (node?.schema === undefined || node.initial !== undefined))
    return "removed";
  return node.timeout === undefined ? "waits" : { output: { timedOut: true } };
}

/** The nodes of a definition that take events of a name: where they stand, the outermost loop around, and the schema. For whoever sends one. */
export function receiversOf(
  nodes: Readonly<Record<string, CompiledNode>>,
  prefix = "",
): { stage: string; name: string; schema: CompiledNode; loop?: string }[] {
  return Object.entries(nodes).flatMap(([key, node]) => {
    const path = prefix + key;
    if (node.schema !== undefined && node.initial === undefined)
      return [{ stage: path, name: key, schema: node.schema }];
    if (node.anyOf !== undefined)
      return Object.entries(node.anyOf).map(([name, schema]) => ({
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
