import type { BodyPlan, NodePlan, StagePlan } from "./schema.js";

/** Where a run goes on: at a stage, or where the line it is on has come to its end. */
export type Following =
  | { readonly at: "stage"; readonly stage: StagePlan }
  | { readonly at: "end" }
  /** The last node of a case, or of a pass of a loop. */
  | { readonly at: "endOfBody"; readonly body: BodyPlan }
  | { readonly at: "undone" };

export class Flow {
  readonly #after = new Map<StagePlan, Following>();

  constructor(nodes: readonly NodePlan[]) {
    this.#link(nodes, { at: "end" });
  }

  /** What follows a stage, even a removed compensation; for a branch or loop, what follows it all. */
  after(stage: StagePlan): Following {
    return this.#after.get(stage) ?? { at: stage.isAside ? "undone" : "end" };
  }

  #link(nodes: readonly NodePlan[], end: Following): void {
    const line = lineOf(nodes);
    for (const [index, stage] of line.entries())
      this.#after.set(stage, following(line[index + 1], end));
    for (const { stages, bodies = [] } of nodes) {
      for (const stage of stages) if (stage.isAside) this.#after.set(stage, { at: "undone" });
      for (const body of bodies) this.#link(body.nodes, { at: "endOfBody", body });
    }
  }
}

/** What a case, or a pass of a loop, begins with; its end, when it has no nodes. */
export const beginningOf = (body: BodyPlan): Following =>
  following(lineOf(body.nodes)[0], { at: "endOfBody", body });

/** The stage whose output is that of a line of nodes: the last that has one. Null when none has. */
export function outputOf(nodes: readonly NodePlan[]): StagePlan | null {
  return lineOf(nodes.filter(({ hasOutput }) => hasOutput)).at(-1) ?? null;
}

/** The stages that a run passes one after the other. */
const lineOf = (nodes: readonly NodePlan[]): StagePlan[] =>
  nodes.flatMap(({ stages }) => stages.filter(({ isAside }) => !isAside));

const following = (stage: StagePlan | undefined, end: Following): Following =>
  stage === undefined ? end : { at: "stage", stage };

/** All nodes, those inside others after the one they stand in. */
export function allNodes(nodes: readonly NodePlan[]): NodePlan[] {
  return nodes.flatMap((node) => [
    node,
    ...(node.bodies ?? []).flatMap((body) => allNodes(body.nodes)),
  ]);
}

/** All lines of nodes: the given one, and those of the cases and bodies in it. */
export function allLines(nodes: readonly NodePlan[]): (readonly NodePlan[])[] {
  const inner = nodes.flatMap(({ bodies = [] }) => bodies);
  return [nodes, ...inner.flatMap((body) => allLines(body.nodes))];
}
