import type { FunctionArgs, FunctionReturnType } from "convex/server";
import type { Value } from "convex/values";
import type { Event } from "../../component/protocol.js";
import type { Took } from "../../component/validators.js";
import type { AnyDefinition } from "../../definition/definition.js";
import type { Bound } from "../functions.js";
import { describeThrown } from "../../errors/failure.js";
import { Unmatched } from "../../errors/unmatched.js";
import { literalText } from "../../rules.js";
import { copied } from "../../values.js";
import { parseValue } from "../input.js";
import { msUntil } from "../options.js";
import { allNodes, type Found, placeOf } from "../place.js";
import { presentKey } from "../storage-names.js";
import type { Arrive, Run } from "../run.js";
import { shownProblem } from "../shown.js";
import { kindOf, type AnyNode } from "./kinds.js";

/** Waits for an event, unless one came early. */
export async function event(run: Run, stage: string, next: Arrive) {
  await run.arrive(stage, next, async ({ node }) => {
    const { definition, component } = run.own;
    const events = eventsOf(definition, stage);
    const scope = () => run.scopeFor(stage, "timeout");
    // A wait that has begun keeps its time: the run comes to it again after a pause.
    const hasTime = run.options.hasTime === true && run.isArrivalAt(stage);
    const until =
      node.timeout === undefined || hasTime
        ? undefined
        : Date.now() + Math.max(0, await msUntil(run.own, stage, "timeout", node.timeout, scope));
    const storedNames = [...events.keys()];
    const early = await earlyEvent(run, stage, node, events);
    if (early !== null) {
      const { id: _id, since, ...event } = early;
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

/** Takes the first event of the inbox that is meant for a node. */
async function earlyEvent(run: Run, stage: string, node: AnyNode, events: Named) {
  const { look, take } = run.own.component.events;
  const races = receiversOf(run.own.definition).find((one) => one.stage === stage)?.races?.length;
  const of = { run: run.token.run, names: [...events.keys()], stage, races };
  if (node.match === undefined) return await run.ctx.runMutation(take, of);
  for (let after: FunctionArgs<typeof look>["after"]; ;) {
    const seen: FunctionReturnType<typeof look> = await run.ctx.runQuery(look, { ...of, after });
    for (const { id, ...event } of seen.events) {
      const value = parsedEvent(run.own, stage, event);
      if (await isMeantFor(run, stage, node, events.get(event.name), value))
        return await run.ctx.runMutation(take, { ...of, id });
    }
    after = seen.after;
    if (after === undefined) return null;
  }
}

/** @throws an {@link Unmatched} if an event that a run is given is not meant for its node. */
export async function checkMatch(
  run: Run,
  stage: string,
  node: AnyNode,
  { name, value }: { name: string | undefined; value: Value },
): Promise<void> {
  let told: { why?: string } = {};
  try {
    if (await isMeantFor(run, stage, node, name, value)) return;
  } catch (thrown) {
    told = { why: shownProblem(run.own, stage, describeThrown(thrown)).message };
  }
  throw new Unmatched({ stage, ...told });
}

/** Says whether the `match` of a node says that a payload is meant for it. @throws as it does. */
async function isMeantFor(
  run: Run,
  stage: string,
  { match }: AnyNode,
  name = "",
  payload: Value,
): Promise<boolean> {
  const own = typeof match === "function" ? match : match?.[name];
  if (own === undefined) return true;
  const is: unknown = own(copied(payload), await run.scopeFor(stage, "match"));
  if (typeof is === "boolean") return is;
  const { called } = placeOf(run.own.definition, stage);
  throw new Error(`The match of "${called}" gave ${literalText(is)}: it must give true or false`);
}

/** The names of events, by their storage names. */
type Named = ReadonlyMap<string, string>;

type Kept = Pick<Extract<Event, { kind: "got" }>, "name" | "value" | "given">;

/** An event as the present schema of its node takes it. @throws if it does not fit. */
function parsedEvent({ definition, workflow }: Bound, stage: string, event: Kept): Value {
  const all = receiversOf(definition).filter((one) => one.stage === stage);
  const { name: stored, value, given = { value } } = event;
  const found = all.find((one) => one.stored === stored || storedEvent(all, one.name) === stored);
  if (found === undefined || given.value === undefined) return value;
  return parseValue(eventNamed(definition, workflow, found), found.schema, given.value);
}

/** Returns how messages call an event. */
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
  events: Named,
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
  readonly within?: string | undefined;
  readonly races?: Found["races"];
  readonly sensitive: boolean;
  /** Says whether it takes only what its `match` says is meant for it. */
  readonly matches: boolean;
}

export function receiversOf({ nodes, options }: AnyDefinition): Receiver[] {
  return allNodes(nodes).flatMap(
    ({ path: stage, key, node, nodes: among, loop, within, races }) => {
      const events = kindOf(node).events?.(node, presentKey(among, key)) ?? [];
      const sensitive = node.sensitive === true || options.sensitive === true;
      const { match } = node;
      return events.map(({ name, schema, isOwn }) => {
        const stored = isOwn ? key : name;
        const matches = typeof match === "function" || match?.[name] !== undefined;
        return { stage, name, stored, schema, loop, within, races, sensitive, matches };
      });
    },
  );
}

/** The storage name of the events of a name: each of its nodes finds them under that. */
export function storedEvent(all: readonly Receiver[], name: string): string {
  const renamed = all.find((one) => one.name === name && one.stored !== name);
  return renamed?.stored ?? name;
}

/** The events that a stage takes: their names, by their storage names. */
export function eventsOf(definition: AnyDefinition, stage: string): Named {
  const all = receiversOf(definition);
  const own = all.filter((one) => one.stage === stage);
  return new Map(
    own.flatMap(({ name, stored }) => [
      [stored, name],
      [storedEvent(all, name), name],
    ]),
  );
}
