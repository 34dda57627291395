import { renamedTo } from "../plan/renaming.js";
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

/** A case that only the old plan has, while its branch is still there. */
export interface GoneCase {
  readonly path: string;
  /** Its key after those that the branch has in the new plan. */
  readonly keys: readonly string[];
}

/** The lines that both plans have, and the cases that are gone. */
export function linePairs(
  before: WorkflowThen,
  now: WorkflowThen,
): { pairs: LinePair[]; goneCases: GoneCase[] } {
  const current = (path: string) => renamedTo(path, now.options["renamed"]) ?? path;
  const linesNow = new Map(linesOf(now.nodes).map((line) => [line.inside, line]));
  const pathsNow = new Set([...linesNow.values()].flatMap(pathsIn));
  const branchesNow = new Set(
    [...linesNow.values()].filter(({ isCase }) => isCase).map(({ inside }) => around(inside)),
  );
  const goneCases: GoneCase[] = [];
  const pairs = linesOf(before.nodes).flatMap((line): LinePair[] => {
    const inside = current(line.inside);
    const other = linesNow.get(inside);
    if (other === undefined) {
      if (line.isCase && branchesNow.has(around(inside))) {
        const keys = [...linesNow.values()]
          .filter((each) => each.isCase && around(each.inside) === around(inside))
          .map((each) => keyIn(each.inside));
        goneCases.push({ path: line.inside, keys: [...keys, keyIn(inside)] });
      }
      return [];
    }
    const placed = (node: NodeThen, outer: string, asNow: (path: string) => string): Placed => {
      const path = joined(outer, node.name);
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

/** What a path stands in, and its last name. */
const around = (path: string): string => path.replace(/\.[^.]*$/, "");
const keyIn = (path: string): string => path.slice(path.lastIndexOf(".") + 1);

const pathsIn = ({ inside, nodes }: Line): string[] =>
  nodes.map(({ name }) => joined(inside, name));

/** With an empty name: what the paths of all nodes begin with. */
export const joined = (inside: string, name: string): string =>
  inside === "" ? name : `${inside}.${name}`;
