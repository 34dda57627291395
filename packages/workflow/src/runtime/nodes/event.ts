import type { Value } from "convex/values";
import type { CompiledNode } from "../../definition/definition.js";
import { durationMs } from "../../definition/duration.js";
import { describeThrown } from "../../errors/failure.js";
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
    names,
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

/** What a node makes of an event. Where it has a timeout, its output tells whether one came. */
export function eventOutput(node: CompiledNode, name: string, value: Value): Value {
  const event = node?.anyOf === undefined ? value : { name, value };
  return node?.timeout === undefined ? event : { timedOut: false, event };
}

/** What a wait comes to that is over: an event did not come, or a sleep has ended. */
export function dueOutput(node: CompiledNode): Value {
  return node?.duration === undefined ? { timedOut: true } : null;
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
