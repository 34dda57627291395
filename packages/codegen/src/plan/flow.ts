import { once } from "./once.js";
import type { BodyPlan, NodePlan, StagePlan } from "./schema.js";
import { stageIdentifier } from "./names.js";
import { isOnEnd } from "./on-end.js";
import { endsRun, hasCases, isLoop, makesNothing, stageKind } from "./stage-kinds.js";

/** Where a run goes on: at a stage, or where the line it is on has come to its end. */
export type Following =
  | { readonly at: "stage"; readonly stage: StagePlan }
  | { readonly at: "end" }
  /** The last node of a case, or of an iteration of a loop. */
  | { readonly at: "endOfBody"; readonly body: BodyPlan }
  | { readonly at: "undone" }
  /** The run has ended, and its `onEnd` has run. */
  | { readonly at: "ended" };

/** Returns where a run goes on after each stage; after a branch or loop, what follows all of it. */
export function followings(
  nodes: readonly NodePlan[],
  end: Following = { at: "end" },
  after = new Map<StagePlan, Following>(),
): ReadonlyMap<StagePlan, Following> {
  const line = lineOf(nodes);
  for (const [index, stage] of line.entries()) after.set(stage, following(line[index + 1], end));
  for (const node of nodes) {
    const { stages, bodies = [] } = node;
    const aside = isOnEnd(node) ? "ended" : "undone";
    for (const stage of stages) if (stage.isAside) after.set(stage, { at: aside });
    for (const body of bodies) followings(body.nodes, { at: "endOfBody", body }, after);
  }
  return after;
}

/** Returns what a case, or an iteration of a loop, begins with; its end, when it has no nodes. */
export const beginningOf = (body: BodyPlan): Following =>
  following(lineOf(body.nodes)[0], { at: "endOfBody", body });

/** The stage whose output is that of a line of nodes: the last that has one. Null when none has. */
export function outputOf(nodes: readonly NodePlan[]): StagePlan | null {
  return lineOf(nodes.filter((node) => !makesNothing(node))).at(-1) ?? null;
}

/** Says whether a line of nodes is written to its end, so that something is done there. */
export const isOpenEnded = (nodes: readonly NodePlan[]): boolean => !nodes.slice(-1).some(endsRun);

/** Says whether a run can go on after a node: not if it is an end, or all its cases are ended. */
export const goesOn: (node: NodePlan) => boolean = once((node) => {
  const { bodies = [] } = node;
  const isThrough = hasCases(node) || isLoop(node);
  if (!isThrough || bodies.length === 0) return !endsRun(node);
  return bodies.some((body) => body.hasUnreadNodes || body.nodes.every(goesOn));
});

const lineOf = (nodes: readonly NodePlan[]): StagePlan[] =>
  nodes.flatMap(({ stages }) => stages.filter(({ isAside }) => !isAside));

const following = (stage: StagePlan | undefined, end: Following): Following =>
  stage === undefined ? end : { at: "stage", stage };

interface Nested<Node> {
  readonly bodies?: readonly { readonly nodes: readonly Node[] }[] | undefined;
}

/** All nodes, those inside others after the one they stand in. */
export const allNodes = <Node extends Nested<Node>>(nodes: readonly Node[]): readonly Node[] =>
  // What is found in a list are nodes as those of the list.
  nodesWithin(nodes) as readonly Node[];

type AnyNode = Nested<AnyNode>;
const nodesWithin = once((nodes: readonly AnyNode[]): readonly AnyNode[] =>
  nodes.flatMap((node) => [
    node,
    ...(node.bodies ?? []).flatMap((body) => nodesWithin(body.nodes)),
  ]),
);

/** All lines of nodes: the given one, and those of the cases and bodies in it. */
export function allLines(nodes: readonly NodePlan[]): (readonly NodePlan[])[] {
  const inner = nodes.flatMap(({ bodies = [] }) => bodies);
  return [nodes, ...inner.flatMap((body) => allLines(body.nodes))];
}

export const completionName = (stageName: string): string => `${stageIdentifier(stageName)}Done`;

/**
 * The functions of a stage, with what messages call them. A mutation or query by reference has
 * none: it is called directly.
 */
function functionsOf(stage: StagePlan) {
  const own = { name: stageIdentifier(stage.name), stage, label: stage.label };
  const { goes } = stageKind(stage.kind);
  if (goes === "queued") {
    const label = `the completion of ${stage.label}`;
    return [own, { name: completionName(stage.name), stage, label }];
  }
  return goes === "within" && stage.reference === undefined ? [own] : [];
}

type Nodes = { readonly nodes: readonly NodePlan[] };

/** The functions of all stages, in order; every workflow also has `entry` and `reference`. */
export const generatedFunctions = ({ nodes }: Nodes) => allNodes(nodes).flatMap(functionsOfNode);

/** Returns the functions of one node, without those of the nodes inside it. */
export const functionsOfNode = once(({ stages }: NodePlan) => stages.flatMap(functionsOf));

/** All stages of a workflow, those of the nodes inside a node after its own. */
export const stagesOf = ({ nodes }: Nodes): readonly StagePlan[] => stagesIn(nodes);

const stagesIn = once((nodes: readonly NodePlan[]) =>
  allNodes(nodes).flatMap(({ stages }) => stages),
);
