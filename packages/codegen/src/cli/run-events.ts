import type { JSONValue } from "convex/values";
import { nearest } from "../diagnostics/nearest.js";
import type { PlannedEvent } from "../dev-server/index.js";
import { durationMs } from "../plan/duration.js";
import { awaitedEvents } from "../plan/events.js";
import type { ProjectPlan } from "../plan/schema.js";
import { readJson, valueOf } from "./run-json.js";

/**
 * The events that are given by `--events`.
 *
 * @throws when they are no JSON, or one of them is no event
 */
export async function readEvents(given: string): Promise<PlannedEvent[]> {
  const json = await readJson(given, "--events");
  const list = Array.isArray(json) ? json : [json];
  return list.map((each, index) => {
    const event = eventOf(each);
    if (typeof event !== "string") return event;
    throw new Error(
      `--events: the ${index + 1}. of them ${event}. Each is { "name": "approval", "value": …, "at": "10m" }, where "at" may be left out.`,
    );
  });
}

/**
 * Looks for events that nothing can wait for. One with a time that no node of the run itself waits for is meant for a run below it.
 *
 * @throws when there is one, and all that is waited for is known
 */
export function checkedEvents(
  events: readonly PlannedEvent[],
  workflow: string,
  plan: ProjectPlan,
): PlannedEvent[] {
  // An unknown workflow is reported as that.
  if (!plan.workflows.some(({ name }) => name === workflow)) return [...events];
  const own = awaitedEvents(plan, workflow, { below: false });
  const all = awaitedEvents(plan, workflow, { below: true });
  return events.map((event) => {
    const { name } = event;
    if (all.isWhole && !all.names.includes(name))
      throw new Error(
        `--events: no node of ${workflow}, or of a workflow below it, waits for an event ${JSON.stringify(name)}. ${known(name, all.names)}`,
      );
    return own.isWhole && !own.names.includes(name) ? { ...event, isBelow: true } : event;
  });
}

/** The nearest name, or all there are. */
function known(name: string, names: readonly string[]): string {
  const near = nearest(name, names);
  if (near !== undefined) return `Did you mean ${JSON.stringify(near)}?`;
  if (names.length === 0) return "There are no events at all.";
  return `There are: ${names.join(", ")}.`;
}

/** Says of an event that it was left over at the end of the run. */
export function notSent(name: string, workflow: string, plan: ProjectPlan): string {
  const { names } = awaitedEvents(plan, workflow, { below: true });
  const hint = names.includes(name) ? "" : ` ${known(name, names)}`;
  return `The event ${JSON.stringify(name)} was not sent: the run ended before anything waited for it, or before its time.${hint}`;
}

/** An event, or what is wrong with it. */
function eventOf(json: JSONValue): PlannedEvent | string {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return "is no object";
  const { name, value = null, at, ...others } = json;
  const [other] = Object.keys(others);
  if (other !== undefined) return `has a field ${JSON.stringify(other)} too many`;
  if (typeof name !== "string") return "has no name";
  if (at === undefined) return { name, value: valueOf(value) };
  const atMs = durationMs(at);
  if (atMs === undefined)
    return `is to be sent at ${JSON.stringify(at)}, which is neither a number of ms nor text such as "90s" or "10m"`;
  return { name, value: valueOf(value), atMs };
}
