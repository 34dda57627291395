import { loadEnvFile } from "node:process";
import { jsonOf } from "@stepwise/workflow/rules";
import { jsonToConvex, type JSONValue, type Value } from "convex/values";
import { suggestion } from "../diagnostics/nearest.js";
import { type PlannedEvent, readGiven, type SeedTable } from "../dev-server/index.js";
import { isRecord } from "../json.js";
import { durationMs } from "../plan/constants.js";
import { allNodes, stagesOf } from "../plan/flow.js";
import { isObject } from "../plan/known.js";
import type { NodePlan, ProjectPlan, WorkflowPlan } from "../plan/schema.js";
import { isApart, stageKind, startsWorkflows, takesEvents } from "../plan/stage-kinds.js";

/* What the options of `run` give: JSON, seeds, events, and the variables of the environment. */

/** JSON as given on the command line, or in a file after an `@`. @throws if it cannot be read */
export async function readJson(given: string, option: string): Promise<JSONValue> {
  const path = given.startsWith("@") ? given.slice(1) : undefined;
  const text = path === undefined ? given : String(await readGiven(path, option));
  try {
    // Editors on Windows put a byte order mark before it.
    return jsonOf(text.replace(/^\ufeff/, "")) as JSONValue;
  } catch (cause) {
    throw new Error(`${path ?? option} is not JSON.`, { cause });
  }
}

/** The same as a value of Convex. @throws if it is none */
export async function readValue(given: string, option: string): Promise<Value> {
  return valueIn(await readJson(given, option), option);
}

function valueIn(json: JSONValue, what: string): Value {
  try {
    return jsonToConvex(json);
  } catch (cause) {
    throw new Error(`${what} holds what is no value of Convex.`, { cause });
  }
}

const seedForm = '{ "orders": [{ "_id": "order-1", "total": 5 }] }';

export async function readSeed(path: string): Promise<SeedTable[]> {
  const json = await readJson(`@${path}`, "--seed");
  if (!isRecord(json)) throw new Error(`${path} is not an object of tables: ${seedForm}`);
  return Object.entries(json).map(([table, documents]) => {
    if (!Array.isArray(documents) || !documents.every(isRecord))
      throw new Error(`The table "${table}" in ${path} is not a list of documents: ${seedForm}`);
    const values = documents.map((each) => valueIn(each, path) as Record<string, unknown>);
    return { table, documents: values };
  });
}

/** The events of `--events`. One with a time that the run does not wait for is for a run below. */
export async function readEvents(given: string, workflow: string, plan: ProjectPlan) {
  const json = await readJson(given, "--events");
  const events = (Array.isArray(json) ? json : [json]).map((each, index) => {
    const event = eventOf(each);
    if (typeof event !== "string") return event;
    throw new Error(
      `--events: event ${index + 1} ${event}. Each is { "name": "approval", "value": …, "at": "10m", "in": "reviews/0" }, where "at" and "in" may be left out.`,
    );
  });
  // An unknown workflow is reported as that.
  if (!plan.workflows.some(({ name }) => name === workflow)) return events;
  const own = awaitedEvents(plan, workflow, { below: false });
  const all = awaitedEvents(plan, workflow, { below: true });
  return events.map((event) => {
    const { name } = event;
    checkPlace(event, workflow, plan);
    if (all.isWhole && !all.names.includes(name))
      throw new Error(
        `--events: no node of ${workflow}, or of a workflow below it, waits for an event ${JSON.stringify(name)}. ${suggestion(name, all.names, "events")}`,
      );
    const isBelow = event.in !== undefined || (own.isWhole && !own.names.includes(name));
    return isBelow ? { ...event, isBelow } : event;
  });
}

/** @throws if an event is for a run below a node that the workflow does not have */
function checkPlace({ in: place }: PlannedEvent, workflow: string, { workflows }: ProjectPlan) {
  const plan = workflows.find(({ name }) => name === workflow);
  if (place === undefined || plan === undefined || plan.hasUnreadNodes || plan.hasUnknownNames)
    return;
  const [node = ""] = place.split("/");
  const nodes = allNodes(plan.nodes);
  // A run below knows its place by the storage name of the node.
  const names = nodes.flatMap(({ path, stages }) => [path, ...stages.map((stage) => stage.name)]);
  if (names.includes(node)) return;
  const below = nodes.filter((each) => isApart(each) || startsWorkflows(each));
  const paths = below.map(({ path }) => path);
  throw new Error(
    `--events: an event is for ${JSON.stringify(place)}, and ${workflow} has no node ${JSON.stringify(node)} with runs below it. ${suggestion(node, paths, "such nodes")}`,
  );
}

/** An event, or what is wrong with it. */
function eventOf(json: JSONValue): PlannedEvent | string {
  if (!isRecord(json)) return "is not an object";
  const { name, value = null, at, in: place, ...others } = json;
  const [other] = Object.keys(others);
  if (other !== undefined) return `has an unknown field ${JSON.stringify(other)}`;
  if (typeof name !== "string") return "has no name";
  if (place !== undefined && typeof place !== "string")
    return `has ${JSON.stringify(place)} as its "in", which is not text such as "reviews/0"`;
  const event = {
    name,
    value: valueIn(value, "--events"),
    ...(place === undefined ? {} : { in: place }),
  };
  if (at === undefined) return event;
  const atMs = durationMs(at);
  if (atMs === undefined)
    return `has ${JSON.stringify(at)} as its "at", which is neither a number of ms nor text such as "90s" or "10m"`;
  return { ...event, atMs };
}

/**
 * Returns what a run of a workflow waits for, and whether that `isWhole`: no name is computed.
 * @param options `below`: also what the workflows wait for that it starts, and so on.
 */
export function awaitedEvents(
  { workflows }: ProjectPlan,
  workflow: string,
  { below }: { readonly below: boolean },
) {
  const reached = below ? reachedFrom(workflow, workflows) : new Set([workflow]);
  const nodes = workflows
    .filter(({ name }) => reached.has(name))
    .flatMap((each) => (below ? allNodes(each.nodes) : ownNodes(each.nodes)))
    .filter(takesEvents);
  const named = nodes.map(namesOf);
  return {
    names: [...new Set(named.flatMap((names) => names ?? []))],
    isWhole: named.every((names) => names !== undefined),
  };
}

/** Without the nodes of branches and items, which runs of their own go through. */
const ownNodes = (nodes: readonly NodePlan[]): readonly NodePlan[] =>
  nodes.flatMap((node) => [
    node,
    ...(isApart(node) ? [] : (node.bodies ?? []).flatMap((body) => ownNodes(body.nodes))),
  ]);

function namesOf({ name, given }: NodePlan): string[] | undefined {
  const anyOf = given.get("anyOf");
  if (anyOf === undefined) return [name];
  return isObject(anyOf.value) && anyOf.value.isWhole ? [...anyOf.value.fields.keys()] : undefined;
}

/** The workflow and those it may start. A child that cannot be seen may be any. */
export function reachedFrom(
  workflow: string,
  workflows: readonly WorkflowPlan[],
): ReadonlySet<string> {
  const reached = new Set([workflow]);
  for (const name of reached) {
    const plans = workflows.filter((each) => each.name === name);
    for (const stage of plans.flatMap(stagesOf)) {
      if (stageKind(stage.kind).shape !== "fanOut") continue;
      for (const below of stage.workflows ?? workflows.map((each) => each.name)) reached.add(below);
    }
  }
  return reached;
}

export function notSent(
  { name, in: place }: PlannedEvent,
  workflow: string,
  plan: ProjectPlan,
): string {
  const { names } = awaitedEvents(plan, workflow, { below: true });
  const hint = names.includes(name) ? "" : ` ${suggestion(name, names, "events")}`;
  const which = place === undefined ? "" : ` for ${place}`;
  return `The event ${JSON.stringify(name)}${which} was not sent: the run ended before anything waited for it, or before its time.${hint}`;
}

export function loadEnvironment(cwd: string): void {
  for (const file of [".env.local", ".env"]) {
    try {
      loadEnvFile(`${cwd}/${file}`);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    }
  }
}
