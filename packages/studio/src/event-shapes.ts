import type { WorkflowReference } from "@stepwise/workflow";
import type { EventSummary } from "./data-source.js";
import { exampleOf, shapeOf } from "./input-shape.js";

/** The part of a node that concerns events. */
interface Node {
  readonly kind: string;
  readonly schema?: unknown;
  readonly anyOf?: Readonly<Record<string, unknown>>;
  readonly body?: Nodes;
  readonly cases?: Readonly<Record<string, Nodes>>;
  readonly branches?: Readonly<Record<string, Nodes>>;
}
type Nodes = Readonly<Record<string, Node>>;

interface Taken {
  readonly name: string;
  readonly schema: unknown;
  /** The runs that it can be sent to, by their part of the workflow. */
  readonly to: readonly (string | undefined)[];
}

/**
 * Returns what to ask for, to send each event that a run of a workflow takes, or a run of a branch,
 * an item or a case.
 */
export function eventsOf({
  definition,
  stored,
}: Pick<WorkflowReference<never>, "definition" | "stored">): EventSummary[] {
  // The types of a definition say less of its nodes than it holds.
  const all = [
    ...takenIn(definition.nodes as unknown as Nodes, stored.nodes as unknown as Nodes, "", [
      undefined,
    ]),
  ];
  const known = new Map<string, EventSummary>();
  for (const { name, to } of all)
    for (const within of to) {
      const id = JSON.stringify([name, within]);
      if (known.has(id)) continue;
      const own = all.filter((each) => each.name === name && each.to.includes(within));
      const schemas = new Set(own.map(({ schema }) => schema));
      // Nodes that take the same event may ask for different payloads: then JSON is asked for.
      const payload = shapeOf(schemas.size === 1 ? own[0]!.schema : undefined);
      const part = within === undefined ? {} : { within };
      known.set(id, { name, ...part, payload, example: exampleOf(payload) });
    }
  return [...known.values()];
}

/** @param stored the same nodes under their storage names, which the parts of runs have */
function* takenIn(nodes: Nodes, stored: Nodes, prefix: string, to: Taken["to"]): Generator<Taken> {
  const keys = Object.keys(stored);
  for (const [index, [name, node]] of Object.entries(nodes).entries()) {
    const key = keys[index]!;
    const path = prefix + key;
    const { kind, schema, anyOf = {}, body, cases, branches } = node;
    const of = stored[key]!;
    // Only events have a schema, or one for each of several names.
    if (schema !== undefined) yield { name, schema, to };
    for (const [each, its] of Object.entries(anyOf)) yield { name: each, schema: its, to };
    if (body !== undefined)
      yield* takenIn(body, of.body!, `${path}.`, kind === "each" ? [path] : to);
    const among = Object.values(cases ?? branches ?? {});
    for (const [at, [part, its]] of Object.entries(of.cases ?? of.branches ?? {}).entries()) {
      const within = `${path}.${part}`;
      const apart = branches !== undefined ? [within] : kind === "race" ? [...to, within] : to;
      yield* takenIn(among[at]!, its, `${within}.`, apart);
    }
  }
}
