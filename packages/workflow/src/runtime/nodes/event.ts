import type { AnyDefinition } from "../../definition/definition.js";
import { msUntil } from "../options.js";
import { allNodes, presentKey } from "../place.js";
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
      const name = events.get(early.name) ?? early.name;
      const output = kindOf(node).received?.(node, name, early.value) ?? early.value;
      run.add({ ...run.begun(stage, "event"), output });
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

interface Receiver {
  readonly stage: string;
  readonly name: string;
  /** The storage name of the event: if it has the name of its node, that of the node. */
  readonly stored: string;
  readonly schema: AnyNode;
  readonly loop?: string | undefined;
}

export function receiversOf({ nodes }: AnyDefinition): Receiver[] {
  return allNodes(nodes).flatMap(({ path: stage, key, node, nodes: among, loop }) => {
    const events = kindOf(node).events?.(node, presentKey(among, key)) ?? [];
    return events.map(({ name, schema, isOwn }) => {
      return { stage, name, stored: isOwn ? key : name, schema, loop };
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
