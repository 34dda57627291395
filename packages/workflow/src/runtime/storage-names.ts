import type { AnyDefinition, CompiledNode } from "../definition/definition.js";

/** The storage names of nodes and cases whose names are others by now, by their paths in the definition. */
export type StorageNames = Readonly<Record<string, string>>;

type Members = Readonly<Record<string, CompiledNode>>;

/** What the members of nodes, or of cases, that stand under their storage names are called. */
const present = new WeakMap<Members, ReadonlyMap<string, string>>();

/** A definition with its nodes and cases under their storage names, as the run time and the component know them. */
export function underStorageNames(
  definition: AnyDefinition,
  names: StorageNames | undefined,
): AnyDefinition {
  if (names === undefined) return definition;
  const keyed = (
    members: Members,
    prefix: string,
    inside: (member: CompiledNode, prefix: string) => CompiledNode,
  ): Members => {
    const storageName = (name: string) => names[prefix + name] ?? name;
    const entries = Object.entries<CompiledNode>(members);
    const result = Object.fromEntries(
      entries.map(([name, member]) => [storageName(name), inside(member, `${prefix}${name}.`)]),
    );
    present.set(result, new Map(entries.map(([name]) => [storageName(name), name])));
    return result;
  };
  const nodesOf = (nodes: Members, prefix: string): Members =>
    keyed(nodes, prefix, (node, within) => ({
      ...node,
      ...(node.body === undefined ? {} : { body: nodesOf(node.body, within) }),
      ...(node.cases === undefined ? {} : { cases: keyed(node.cases, within, nodesOf) }),
    }));
  return { ...definition, nodes: nodesOf(definition.nodes, "") };
}

/** What a node or a case is called. @param members those that it stands among, under their storage names. */
export const presentKey = (members: Members, key: string): string =>
  present.get(members)?.get(key) ?? key;

/** The storage name of the node or case that is called so; undefined if there is none. */
export const storageKey = (members: Members, name: string): string | undefined =>
  Object.keys(members).find((key) => presentKey(members, key) === name);
