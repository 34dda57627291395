import type { WorkflowReference } from "@stepwise/workflow";
import type { EventSummary } from "./data-source.js";
import { exampleOf, shapeOf } from "./input-shape.js";

/** The part of a node that concerns events. */
interface Node {
  readonly schema?: unknown;
  readonly anyOf?: Readonly<Record<string, unknown>>;
  readonly body?: Nodes;
  readonly cases?: Readonly<Record<string, Nodes>>;
  readonly branches?: Readonly<Record<string, Nodes>>;
}
type Nodes = Readonly<Record<string, Node>>;

/** What to ask for, to send each event that a workflow takes. */
export function eventsOf({ nodes }: WorkflowReference<never>["definition"]): EventSummary[] {
  // The types of a definition say less of its nodes than it holds.
  const all = [...schemasIn(nodes as unknown as Nodes)];
  return [...new Set(all.map(([name]) => name))].map((name) => {
    const schemas = all.filter(([each]) => each === name).map(([, schema]) => schema);
    // Nodes that take the same event may ask for different payloads: then JSON is asked for.
    const payload = shapeOf(new Set(schemas).size === 1 ? schemas[0] : undefined);
    return { name, payload, example: exampleOf(payload) };
  });
}

function* schemasIn(nodes: Nodes): Generator<[event: string, schema: unknown]> {
  for (const [name, { schema, anyOf = {}, body = {}, ...node }] of Object.entries(nodes)) {
    // Only events have a schema, or one for each of several names.
    if (schema !== undefined) yield [name, schema];
    yield* Object.entries(anyOf);
    yield* schemasIn(body);
    for (const each of Object.values({ ...node.cases, ...node.branches })) yield* schemasIn(each);
  }
}
