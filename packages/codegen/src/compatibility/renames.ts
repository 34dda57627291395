import type { LinePair, NodeThen, Placed } from "./lines.js";

/* Which nodes of a new plan seem to be ones of the old plan under another name. */

type Sequences = Pick<LinePair, "before" | "now">;

/** Returns what removed nodes seem to be called now. */
export function renamesOf({ before, now }: Sequences): ReadonlyMap<Placed, Placed> {
  const added = new Set(missingIn(before, now));
  const renames = new Map<Placed, Placed>();
  for (const gone of missingIn(now, before)) {
    const renamed = [...added].find((each) => isRenamed(gone, each, { before, now }));
    if (renamed === undefined) continue;
    added.delete(renamed);
    renames.set(gone, renamed);
  }
  return renames;
}

/** Keeps those whose code has not changed: nothing but the new name need be told of them. */
export const sameCode = (renames: ReadonlyMap<Placed, Placed>): ReadonlyMap<Placed, Placed> =>
  new Map([...renames].filter(([gone, added]) => gone.node.hash === added.node.hash));

export const find = (nodes: readonly Placed[], stored: string): Placed | undefined =>
  nodes.find((node) => node.stored === stored);

export const missingIn = (other: readonly Placed[], nodes: readonly Placed[]): Placed[] =>
  nodes.filter(({ stored }) => find(other, stored) === undefined);

/** The same kind of node with the same stages, between the same neighbours. */
const isRenamed = (gone: Placed, added: Placed, { before, now }: Sequences): boolean =>
  shape(gone.node) === shape(added.node) &&
  neighbour(gone, before, now) === neighbour(added, now, before);

/** What a node is made of, whatever it is called. */
function shape({ kind, stages, bodies = [] }: NodeThen): string {
  const inner = bodies.map((body) => [body.key, body.nodes.map(({ name }) => name)]);
  const own = stages.map((stage) => [partOf(stage), stage.kind, stage.reference, stage.workflows]);
  return JSON.stringify([kind, own, inner]);
}

/** The last node before this one that both plans have. */
function neighbour(node: Placed, line: readonly Placed[], other: readonly Placed[]) {
  const earlier = line.slice(0, line.indexOf(node));
  return earlier.findLast(({ stored }) => find(other, stored) !== undefined)?.stored;
}

/** What a stage is of its node: nothing of it where it is the node itself. */
export const partOf = ({ name }: NodeThen["stages"][number]): string | undefined =>
  /(?:^|\.)(output|finalize|compensate)$/.exec(name)?.[1];
