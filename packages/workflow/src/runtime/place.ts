import type { AnyDefinition } from "../definition/definition.js";
import type { LimitsOption } from "../definition/limits.js";
import type { Policy } from "../definition/node.js";
import { type Duration, inPath } from "../rules.js";
import {
  type AnyNode,
  insideOf,
  type Kind,
  kindOf,
  type Nodes,
  partNamed,
  type StageOf,
  stagesOf,
} from "./nodes/kinds.js";
import { onceForEach } from "./once.js";
import { presentKey } from "./storage-names.js";

/** A sequence of nodes around a stage: the workflow's, a case's, or a loop's body. */
interface Sequence {
  /** What the paths of its nodes begin with: empty, `route.big.`, `agent.`. */
  readonly prefix: string;
  readonly nodes: Nodes;
  /** The node of it that the stage is, or stands in. */
  readonly at: string;
  readonly depth: number;
  /** How many runs of their own it is in. */
  readonly level: number;
}

/** The part of a definition that a run of its own goes through. */
interface Apart {
  /** What the paths of its nodes begin with, without the dot: `facts.thumb`, `subtitles`. */
  readonly body: string;
  /** The path of the node. */
  readonly of: string;
  readonly is: "branch" | "item";
}

/** What is known of a stage. It is found once for each workflow. */
export interface Place extends Pick<StageOf, "runs" | "sees"> {
  /** Undefined if the definition has no such node (any more). */
  readonly node: AnyNode;
  readonly kind: Kind;
  /** The path of the node. */
  readonly path: string;
  /** The stage by the present names of its nodes. */
  readonly called: string;
  /** Which part of the node it is; empty for the node itself. */
  readonly part: StageOf["part"];
  /** The parts of the node, in the order in which a run comes to them. */
  readonly parts: readonly StageOf["part"][];
  /** Says whether it makes nothing, whatever its function gives. */
  readonly isVoid: boolean;
  /** The options that it runs by: its node's; a finalize and a compensation have their own. */
  readonly policy: Policy & {
    readonly limits?: LimitsOption<never, never>;
    readonly waitAtMost?: Duration;
  };
  /** The first stage of the node. */
  readonly first: string;
  /** Where its output is recorded: a parent's finalize makes the parent's. */
  readonly record: string;
  /** Outermost first; never empty. */
  readonly sequences: readonly Sequence[];
  readonly loops: readonly { readonly path: string; readonly level: number }[];
  /** The runs of their own that it is in, outermost first. Mostly none. */
  readonly apart: readonly Apart[];
}

/** Finds a stage by its storage name: `save`, `chapters.finalize`, `agent.think.compensate`. */
export const placeOf = onceForEach(find);

function find(definition: AnyDefinition, stage: string): Place {
  const names = stage.split(".");
  const sequences: Sequence[] = [];
  const loops: Place["loops"][number][] = [];
  const apart: Apart[] = [];
  let nodes: Nodes = definition.nodes;
  let prefix = "";
  let called = "";
  for (;;) {
    const at = names.shift() ?? "";
    const node = Object.hasOwn(nodes, at) ? nodes[at] : undefined;
    const path = prefix + at;
    called += presentKey(nodes, at);
    const level = apart.length;
    sequences.push({ prefix, nodes, at, depth: loops.length, level });
    const [part = ""] = names;
    const inside = insideOf(node).find(({ key = part }) => part !== "" && key === part);
    if (inside === undefined) {
      const kind = kindOf(node);
      const stages = stagesOf(node);
      const own = stages.find((each) => each.part === part);
      // It may be gone: the run is there all the same.
      const { part: known } = own ?? { part: partNamed(part) };
      return {
        ...own,
        node,
        kind,
        path,
        called: [called, ...names].join("."),
        part: known,
        parts: stages.map((each) => each.part),
        isVoid: known === "compensate" || kind.isAfterEnd === true,
        policy: own?.runs ?? node ?? {},
        first: stageName(path, stages[0]?.part),
        record: part === "finalize" ? path : stage,
        sequences,
        loops,
        apart,
      };
    }
    nodes = inside.nodes;
    prefix = `${path}.`;
    called += ".";
    if (inside.among === undefined) {
      if (inside.apart === undefined) loops.push({ path, level });
    } else {
      prefix += `${part}.`;
      called += `${inPath(presentKey(inside.among, part))}.`;
      names.shift();
    }
    if (inside.apart !== undefined)
      apart.push({ body: prefix.slice(0, -1), of: path, is: inside.apart });
  }
}

/** A node of a definition, with the names and nodes around it. */
export interface Found {
  readonly path: string;
  /** Its storage name, among its neighbors. */
  readonly key: string;
  readonly node: AnyNode;
  readonly nodes: Nodes;
  /** The outermost loop around it in its run. */
  readonly loop?: string | undefined;
  /** The body that a run of its own goes through. Default: it is the workflow's run. */
  readonly within?: string | undefined;
  /** The races that it is in a case of, outermost first, up to the next other body around it. */
  readonly races?: RaceAround[] | undefined;
}

/** A race around a node: where it stands itself, and the storage name of the case. */
interface RaceAround {
  readonly stage: string;
  readonly case: string;
  readonly loop?: string | undefined;
  readonly within?: string | undefined;
}

type Around = Pick<Found, "loop" | "within" | "races">;

/** All nodes in the order of the definition; those inside a node follow it. */
export function allNodes(nodes: Nodes, prefix = "", around: Around = {}): Found[] {
  return Object.entries(nodes).flatMap(([key, node]) => {
    const path = prefix + key;
    const inside = insideOf(node).flatMap((each) => {
      const body = each.key === undefined ? path : `${path}.${each.key}`;
      if (each.apart !== undefined) {
        const { races = [], ...place } = around;
        const race = { stage: path, case: each.key ?? "", ...place };
        const all = kindOf(node).isRace === true ? { races: [...races, race] } : {};
        return allNodes(each.nodes, `${body}.`, { within: body, ...all });
      }
      const loop = each.key === undefined ? (around.loop ?? path) : around.loop;
      return allNodes(each.nodes, `${body}.`, { ...around, loop });
    });
    return [{ path, key, node, nodes, ...around }, ...inside];
  });
}

/** The stages of all nodes, in the order of the definition. */
export const allStages = ({ nodes }: AnyDefinition): string[] =>
  allNodes(nodes).flatMap(({ node, path }) => stageNames(node, path));

const stageName = (path: string, part: StageOf["part"] = ""): string =>
  part === "" ? path : `${path}.${part}`;

export const stageNames = (node: AnyNode, path: string): string[] =>
  stagesOf(node).map(({ part }) => stageName(path, part));

/** Says whether some node is so, or one inside it, answered once for each sequence. */
function someNode(is: (found: Found) => boolean): (definition: { nodes: Nodes }) => boolean {
  const known = new WeakMap<Nodes, boolean>();
  return ({ nodes }) => {
    const answer = known.get(nodes) ?? allNodes(nodes).some(is);
    known.set(nodes, answer);
    return answer;
  };
}

/** Says whether something in a run of the nodes, or in a child, can be undone. */
export const hasUndoables = someNode(
  ({ node }) =>
    // Of one that has its nodes inside it, these are asked themselves.
    (kindOf(node).startsRuns === true && insideOf(node).length === 0) ||
    stagesOf(node).some(({ part }) => part === "compensate"),
);

/** Says whether a run of the nodes can wait without holding a slot of the pool. */
export const canWait: (definition: { nodes: Nodes }) => boolean = someNode(({ node }) => {
  const { waits = false, workflow } = kindOf(node);
  return waits || (workflow !== undefined && canWait(workflow(node)));
});
