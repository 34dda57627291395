import type { StepError } from "../definition/context.js";
import type { AnyDefinition } from "../definition/definition.js";
import { inPath } from "../rules.js";
import { kindOf, type Nodes } from "./nodes/kinds.js";

/** The storage names of nodes and cases that were renamed, by their paths in the definition. */
export type StorageNames = Readonly<Record<string, string>>;

/**
 * Under this, members that stand under their storage names have their present names. It is
 * registered: a manager may come from another copy of this module than the generated code.
 */
const present: unique symbol = Symbol.for("stepwise.presentNames") as typeof present;

interface Named {
  readonly [present]?: ReadonlyMap<string, string>;
}

/** A definition with its nodes and cases under their storage names, as the run time needs it. */
export function underStorageNames(definition: AnyDefinition, names: StorageNames | undefined) {
  if (names === undefined) return definition;
  const keyed = (
    members: Nodes,
    prefix: string,
    inside: (member: Nodes[string], prefix: string) => Nodes[string],
  ): Nodes => {
    const storageName = (name: string) => names[prefix + inPath(name)] ?? name;
    const entries = Object.entries(members);
    const result = Object.fromEntries(
      entries.map(([name, member]) => [
        storageName(name),
        inside(member, `${prefix}${inPath(name)}.`),
      ]),
    );
    const value = new Map(entries.map(([name]) => [storageName(name), name]));
    return Object.defineProperty(result, present, { value });
  };
  const nodesOf = (nodes: Nodes, prefix: string): Nodes =>
    keyed(nodes, prefix, (node, within) => {
      const stored = kindOf(node).stored;
      if (stored === undefined) return node;
      const nodesWithin = (inside: Nodes) => nodesOf(inside, within);
      return stored(node, nodesWithin, (cases) => keyed(cases, within, nodesOf));
    });
  return { ...definition, nodes: nodesOf(definition.nodes, "") };
}

export const presentKey = (members: Nodes & Named, key: string): string =>
  members[present]?.get(key) ?? key;

/** An error of branches with their present names. */
export function withPresentKeys(error: StepError, members: Nodes): StepError {
  const { key, causes } = error;
  const named = Object.entries(causes ?? {}).map(([each, of]) => [presentKey(members, each), of]);
  return {
    ...error,
    ...(key !== undefined && { key: presentKey(members, key) }),
    ...(causes && { causes: Object.fromEntries(named) }),
  };
}

/** The storage name of a node or a case by its present name; undefined if there is none. */
export const storageKey = (members: Nodes, name: string): string | undefined =>
  Object.keys(members).find((key) => presentKey(members, key) === name);
