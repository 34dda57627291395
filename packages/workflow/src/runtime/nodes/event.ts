import type { Value } from "convex/values";
import type { Event, Took } from "../../component/validators.js";
import type { AnyDefinition } from "../../definition/definition.js";
import type { Bound } from "../functions.js";
import { parseValue } from "../input.js";
import { msUntil } from "../options.js";
import { allNodes, placeOf, presentKey } from "../place.js";
import type { Arrive, Run } from "../run.js";
import { kindOf, type AnyNode } from "./kinds.js";

/** Waits for an event, unless one came early. */
export async function event(run: Run, stage: string, next: Arrive) {
  await run.arrive(stage, next, async ({ node }) => {
    const { definition, component } = run.own;
    const events = eventsOf(definition, stage);
    const scope = () => run.scopeFor(stage, "timeout");
    const until =
      node.timeout === undefined
        ? undefined
        : Date.now() + Math.max(0, await msUntil(run.own, stage, "timeout", node.timeout, scope));
    const storedNames = [...events.keys()];
    const args = { run: run.token.run, names: storedNames, stage };
    const early = await run.ctx.runMutation(component.events.take, args);
    if (early !== null) {
      const { since, ...event } = early;
      const { takenAt = since } = event;
      try {
        // The node's schema may have changed since the event was kept.
        const value = parsedEvent(run.own, stage, event);
        run.add({ ...run.begun(stage, "event"), ...received(node, events, { ...event, value }) });
      } catch (error) {
        const kept = { run: run.token.run, ...event, takenAt };
        await run.ctx.runMutation(component.events.giveBack, kept);
        throw error;
      }
      return next;
    }
    const isRenamed = [...events].some(([stored, name]) => stored !== name);
    run.goOn({
      kind: "event",
      ...run.facts(stage),
      names: [...new Set(events.values())],
      storedNames: isRenamed ? storedNames : undefined,
      until,
    });
    return undefined;
  });
}

type Kept = Pick<Extract<Event, { kind: "got" }>, "name" | "value" | "given">;

/** An event as the present schema of its node takes it. @throws if it does not fit. */
function parsedEvent({ definition, workflow }: Bound, stage: string, event: Kept): Value {
  const all = receiversOf(definition).filter((one) => one.stage === stage);
  const { name: stored, value, given = { value } } = event;
  const found = all.find((one) => one.stored === stored || storedEvent(all, one.name) === stored);
  if (found === undefined || given.value === undefined) return value;
  return parseValue(eventNamed(definition, workflow, found), found.schema, given.value);
}

/** How messages call an event. */
export function eventNamed(
  definition: AnyDefinition,
  workflow: string,
  { stage, name, sensitive }: Pick<Receiver, "stage" | "name" | "sensitive">,
) {
  const { called } = placeOf(definition, stage);
  const subject = `The event "${name}" for node "${called}" of "${workflow}"`;
  return { subject, root: name, sensitive: sensitive ? [name] : [] };
}

/** The output of a node from an event, and what is kept to give the event back. */
export function received(
  node: AnyNode,
  events: ReadonlyMap<string, string>,
  { name: stored, value, given, takenAt }: Kept & { takenAt?: number },
): { output: Value; took: Took } {
  const { output = value, within } =
    kindOf(node).received?.(node, events.get(stored) ?? stored, value) ?? {};
  return { output, took: { name: stored, within, given, takenAt } };
}

interface Receiver {
  readonly stage: string;
  readonly name: string;
  /** The storage name of the event: if it has the name of its node, that of the node. */
  readonly stored: string;
  readonly schema: AnyNode;
  readonly loop?: string | undefined;
  readonly sensitive: boolean;
}

export function receiversOf({ nodes, options }: AnyDefinition): Receiver[] {
  return allNodes(nodes).flatMap(({ path: stage, key, node, nodes: among, loop }) => {
    const events = kindOf(node).events?.(node, presentKey(among, key)) ?? [];
    return events.map(({ name, schema, isOwn }) => {
      const sensitive = node.sensitive === true || options.sensitive === true;
      return { stage, name, stored: isOwn ? key : name, schema, loop, sensitive };
    });
  });
}

/** The storage name of the events of a name: each of its nodes finds them under that. */
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
