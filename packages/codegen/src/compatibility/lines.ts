import { quote } from "../diagnostics/diagnostic.js";
import { inPath } from "../plan/constants.js";
import { allNodes } from "../plan/flow.js";
import { withoutOnEnd } from "../plan/on-end.js";
import type { WrittenPlan } from "../plan/schema.js";
import { hasKeys, hasRivals, isApart, isEach } from "../plan/stage-kinds.js";

export type WorkflowThen = WrittenPlan["workflows"][number];
export type NodeThen = WorkflowThen["nodes"][number];

/** Runs in flight go on; go on if told the new name; do not undo that node; or stop at it. */
export type Compatibility = "safe" | "rename" | "loses" | "stops";

export interface Change {
  /** Empty if it is about the config. */
  readonly workflow: string;
  readonly node?: string;
  readonly compatibility: Compatibility;
  /** What has changed, and what that means for runs in flight. */
  readonly message: string;
  /**
   * Says whether results that a run has made before the deploy are handed to what reads them now.
   */
  readonly reuses?: true;
  readonly hint?: string;
}

export interface Placed {
  readonly node: NodeThen;
  readonly stored: string;
  /** Its name after those of the nodes and cases around it, in its own plan. */
  readonly path: string;
}

/** Nodes one after another in both plans: a workflow's own, a case's, or a loop body's. */
export interface LinePair {
  /** What its nodes stand in, in the new plan: empty, `route.big`, `agent`. */
  readonly inside: string;
  /** What comes of a run that stops in them, if that does not stop the whole run. */
  readonly ends?: string | undefined;
  /** What begins with them, in words, and may have been started without having begun. */
  readonly begins?: string | undefined;
  readonly before: readonly Placed[];
  readonly now: readonly Placed[];
}

interface Line extends Pick<LinePair, "ends" | "begins"> {
  /** What its nodes stand in, by storage names, and by names. */
  readonly stored: string;
  readonly inside: string;
  /** The branch, by its storage name, if what its nodes stand in is a case. */
  readonly branch?: string;
  readonly key?: string;
  /** What it is: a case that a run chooses, or what a run of its own goes through. */
  readonly is?: "case" | "branch" | "rival";
  /** The keys of all cases, if this is a case that is chosen by a value. */
  readonly matched?: readonly string[];
  /** The hash of a branch's `on`: while that is the same, the keys that it gives come from data. */
  readonly on?: string;
  readonly nodes: readonly NodeThen[];
}

interface Gone extends Pick<Line, "is" | "ends" | "on"> {
  readonly path: string;
  readonly keys: readonly string[];
  /** What a value that is made already can be and no case takes, in words: the key that it had. */
  readonly made?: string | undefined;
}

/** A case with another key, where a value that is made already can be the old one. */
interface OtherKey {
  readonly path: string;
  readonly old: string;
  /** The same in words, as in {@link Gone}. */
  readonly made: string;
  readonly takesRest: boolean;
}

export function linePairs(before: WorkflowThen, now: WorkflowThen) {
  const lines = linesOf(withoutOnEnd(now.nodes));
  /** Cases that only the old plan has, with the keys that their branch has now, and then theirs. */
  const goneCases: Gone[] = [];
  const otherKeys: OtherKey[] = [];
  const pairs = linesOf(withoutOnEnd(before.nodes)).flatMap(
    ({ stored, inside, ends: then, branch, key, is, on, nodes }) => {
      // What lets its run go on may be added or removed by the same deploy: the run may stop then.
      const endsAs = (now: Line | undefined) => (now?.ends === then ? then : undefined);
      const keysNow = (now: Line | undefined) =>
        now?.on === undefined || now.on === on ? now?.matched : undefined;
      const other = lines.find((each) => each.stored === stored);
      if (other !== undefined) {
        const nodesThen = nodes.map((node) => placed(node, inside));
        const nodesNow = other.nodes.map((node) => placed(node, other.inside));
        const { key: now = "" } = other;
        const matched = keysNow(other);
        if (matched !== undefined && key !== undefined && !matched.includes(key) && key !== now) {
          const made = madeWith(key, on);
          otherKeys.push({ path: other.inside, old: key, made, takesRest: takesRest(other) });
        }
        const { inside: there, begins } = other;
        const ends = endsAs(other);
        const pair: LinePair = { inside: there, ends, begins, before: nodesThen, now: nodesNow };
        return [pair];
      }
      const cases = lines.filter((each) => branch !== undefined && each.branch === branch);
      const keys = [...cases.map((each) => each.key ?? ""), key ?? ""];
      const [first] = cases;
      const isMade = keysNow(first) !== undefined && key !== undefined;
      const made = isMade && !takesRest(first) ? madeWith(key, on) : undefined;
      if (cases.length > 0)
        goneCases.push({ path: inside, keys, is, ends: endsAs(first), on, made });
      return [];
    },
  );
  return { pairs, goneCases, otherKeys };
}

/** The default of a match takes what has no case. To a branch, `default` is a key as any other. */
const takesRest = (line: Line | undefined): boolean =>
  line?.on === undefined && line?.matched?.includes(REST) === true;

const REST = "default";

/** @param on of a branch; a match has none. */
const madeWith = (key: string, on: string | undefined): string =>
  key === REST && on === undefined
    ? "a value that has no other case"
    : `${quote(key)}, which was given before`;

export const placed = (node: NodeThen, inside: string): Placed => ({
  node,
  stored: node.storage ?? node.name,
  path: joined(inside, node.name),
});

function linesOf(nodes: readonly NodeThen[], of: Omit<Line, "nodes"> = top): Line[] {
  const inner = nodes.flatMap((node) => {
    const stored = joined(of.stored, node.storage ?? node.name);
    const inside = joined(of.inside, node.name);
    const ends = endsIn(node, of.ends);
    const begins = beginsIn(node);
    return (node.bodies ?? []).flatMap(({ key, storage = key, nodes: within }) => {
      if (!hasKeys(node)) return linesOf(within, { stored, inside, ends, begins });
      const names = { stored: joined(stored, storage), inside: joined(inside, inPath(key)) };
      const is = hasRivals(node) ? "rival" : isApart(node) ? "branch" : "case";
      const isByValue = node.kind === "match" || node.stages.some(({ reads }) => reads.length > 0);
      const matched = is === "case" && isByValue ? node.bodies?.map((body) => body.key) : undefined;
      const on = node.kind === "match" ? undefined : node.hash;
      return linesOf(within, {
        ...names,
        ends,
        begins,
        branch: stored,
        key,
        is,
        on,
        ...(matched && { matched }),
      });
    });
  });
  return [{ ...of, nodes }, ...inner];
}

/**
 * What comes of a case, a branch or an item that stops, if its run may go on.
 * @param around the same of what its node is in
 */
function endsIn(node: NodeThen, around: string | undefined): string | undefined {
  const recovers = node.stages.some(({ recover }) => recover !== undefined);
  if (!hasRivals(node)) {
    if ("tolerate" in node.options) return "; it counts as failed for `tolerate`";
    return recovers ? "; the node has then failed, and its `recover` gives the output" : around;
  }
  if (node.options["first"] === "any") return "; its case has then failed, which may win the race";
  const out = "; its case is then out of the race, and";
  if (recovers) return `${out} if no other case wins, \`recover\` gives the output`;
  const all = around === undefined ? "run stops" : "race fails";
  return `${out} the ${all} if no other case wins${around ?? ""}`;
}

/** What is started as a run of its own, of which the run that it belongs to has begun. */
function beginsIn(node: NodeThen): string | undefined {
  if (!isApart(node)) return undefined;
  const what = isEach(node) ? "items" : hasRivals(node) ? "cases" : "branches";
  return `${what} that wait to begin`;
}

const top = { stored: "", inside: "", begins: "those that have not begun" };

/** With an empty name: what the paths of all nodes begin with. */
export const joined = (inside: string, name: string): string =>
  inside === "" ? name : `${inside}.${name}`;

export function longestCommon(first: readonly string[], second: readonly string[]): string[] {
  let row: string[][] = second.map(() => []);
  for (const item of first) {
    const next: string[][] = [];
    for (const [at, other] of second.entries()) {
      const before = at === 0 ? [] : (row[at - 1] ?? []);
      const left = next[at - 1] ?? [];
      const above = row[at] ?? [];
      const best = left.length > above.length ? left : above;
      next.push(item === other && before.length + 1 > best.length ? [...before, item] : best);
    }
    row = next;
  }
  return row.at(-1) ?? [];
}

/** Says whether a node, or one inside it, reads a field of the input: surely, perhaps, or not. */
export function readsOfField(node: NodeThen, field: string): "sure" | "perhaps" | undefined {
  const stages = allNodes([node]).flatMap((each) => each.stages);
  const readers = stages.filter(({ reads, recover = [], limits = [], until = [] }) =>
    [...reads, ...recover, ...limits, ...until].some((name) => name === "input" || name === "*"),
  );
  if (readers.some(({ input }) => input?.includes(field))) return "sure";
  return readers.some(({ input }) => input === undefined) ? "perhaps" : undefined;
}

/** The names that a node and those inside it read; every name if one of them is `*`. */
export function readsOf(node: NodeThen): { has(name: string): boolean } {
  const stages = allNodes([node]).flatMap((each) => each.stages);
  const names = new Set(
    stages.flatMap((each) => [each.reads, each.recover, each.limits, each.until].flat()),
  );
  return names.has("*") ? { has: () => true } : names;
}
