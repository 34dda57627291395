import { renamedTo } from "../plan/leftovers.js";
import { stageKind } from "../plan/stage-kinds.js";
import type { NodeThen, WorkflowThen } from "./change.js";

/** A node of one of the two plans. */
export interface Placed {
  readonly node: NodeThen;
  /** Its name in the new plan, as far as the new plan says what became of it. */
  readonly name: string;
  /** Its name after those of the nodes and cases around it, in its own plan. */
  readonly path: string;
}

/** Nodes that stand one after another, in both plans: a workflow's own, those of a case, or of the body of a loop. */
export interface LinePair {
  /** What its nodes stand in, in the new plan: empty, `route.big`, `agent`. */
  readonly inside: string;
  readonly before: readonly Placed[];
  readonly now: readonly Placed[];
}

interface Line {
  readonly inside: string;
  /** Whether what it stands in is a case, which can be gone while its branch is still there. */
  readonly isCase: boolean;
  readonly nodes: readonly NodeThen[];
}

/** The lines that both plans have, and those that only the old one has while the node that they stood in is still there. */
export function linePairs(
  before: WorkflowThen,
  now: WorkflowThen,
): { pairs: LinePair[]; goneCases: string[] } {
  const current = (path: string) => renamedTo(path, now.options["renamed"]) ?? path;
  const linesNow = new Map(linesOf(now.nodes).map((line) => [line.inside, line]));
  const pathsNow = new Set([...linesNow.values()].flatMap(pathsIn));
  const goneCases: string[] = [];
  const pairs = linesOf(before.nodes).flatMap((line): LinePair[] => {
    const inside = current(line.inside);
    const other = linesNow.get(inside);
    if (other === undefined) {
      if (line.isCase && pathsNow.has(inside.replace(/\.[^.]*$/, ""))) goneCases.push(line.inside);
      return [];
    }
    const placed = (node: NodeThen, around: string, asNow: (path: string) => string): Placed => {
      const path = joined(around, node.name);
      const is = asNow(path);
      const isHere = is.startsWith(joined(inside, "")) && pathsNow.has(is);
      return { node, path, name: isHere ? is.slice(joined(inside, "").length) : node.name };
    };
    return [
      {
        inside,
        before: line.nodes.map((node) => placed(node, line.inside, current)),
        now: other.nodes.map((node) => placed(node, inside, (path) => path)),
      },
    ];
  });
  return { pairs, goneCases };
}

function linesOf(nodes: readonly NodeThen[], inside = "", isCase = false): Line[] {
  const inner = nodes.flatMap(({ name, stages, bodies = [] }) =>
    bodies.flatMap((body) => {
      const path = joined(inside, name);
      const holdsCases = stages.some(({ kind }) => stageKind(kind).shape === "decision");
      return linesOf(body.nodes, holdsCases ? joined(path, body.key) : path, holdsCases);
    }),
  );
  return [{ inside, isCase, nodes }, ...inner];
}

const pathsIn = ({ inside, nodes }: Line): string[] =>
  nodes.map(({ name }) => joined(inside, name));

/** With an empty name: what the paths of all nodes begin with. */
export const joined = (inside: string, name: string): string =>
  inside === "" ? name : `${inside}.${name}`;
