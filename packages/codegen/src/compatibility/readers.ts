import { quote } from "../diagnostics/diagnostic.js";
import { makesNothing } from "../plan/stage-kinds.js";
import { type LinePair, type Placed, readsOf } from "./lines.js";

/** Who reads a node from `at` on: nodes, and readers of the output, which the last node makes. */
export function readersAfter(
  at: number,
  read: Placed,
  { inside, now }: Pick<LinePair, "inside" | "now">,
): string[] {
  const readers = now.slice(at).filter(({ node }) => readsOf(node).has(read.node.name));
  const isOutput = now.findLast(({ node }) => !makesNothing(node)) === read;
  const of = inside === "" ? "the workflow" : quote(inside);
  return [
    ...readers.map(({ path }) => quote(path)),
    ...(isOutput ? [`whoever uses the output of ${of}`] : []),
  ];
}

export const inThem = (readers: readonly string[]): string =>
  `${readers.join(" and ")} ${readers.length === 1 ? "reads" : "read"} undefined in them`;
export const workWithout = (readers: readonly string[]): string =>
  `let ${readers.join(" and ")} work without it`;
