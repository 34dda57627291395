import type { WrittenPlan } from "./schema.js";

type Written = WrittenPlan["workflows"][number]["nodes"][number];

/** A node, or the case of a branch, which has no hash. */
export interface Member {
  readonly name: string;
  readonly storage: string;
  readonly kind: string;
  readonly hash?: string;
  readonly inside: readonly Member[];
}

export const membersOf = (nodes: readonly Written[]): Member[] =>
  nodes.map(({ name, storage = name, kind, hash, bodies = [] }) => {
    const cases = bodies.map(({ key, storage: stored = key, nodes: within }) => {
      return { name: key, storage: stored, kind: "case", inside: membersOf(within) };
    });
    const inside = kind === "branch" ? cases : cases.flatMap((body) => body.inside);
    return { name, storage, kind, hash, inside };
  });

/** A node that results may stand under, by its path of storage names. */
export interface StoredNode {
  readonly name: string;
  readonly hash: string;
}

export function storedNodes(nodes: readonly Written[]): StoredNode[] {
  const all = (members: readonly Member[], prefix: string): StoredNode[] =>
    members.flatMap(({ storage, hash, inside }) => [
      ...(hash === undefined ? [] : [{ name: prefix + storage, hash }]),
      ...all(inside, `${prefix}${storage}.`),
    ]);
  return all(membersOf(nodes), "");
}
