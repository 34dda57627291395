import type { StagePath } from "../client/nodes.js";
import type { Info } from "../definition/context.js";
import type { WorkflowOutput, WorkflowScope } from "../definition/definition.js";
import { suggestion } from "../rules.js";
import { allStages, placeOf } from "../runtime/place.js";
import type { WorkflowReference } from "../runtime/reference.js";
import { setStub } from "../runtime/stubs.js";

type DefinitionOf<Workflow> = Workflow extends { readonly "~definition": infer Definition }
  ? Definition
  : never;

/** What a node's function gives: known for a step of the top level and for `finalize`. */
type ResultOf<Definition, Node> = Node extends "finalize"
  ? WorkflowOutput<Definition>
  : Node extends keyof WorkflowScope<Definition>
    ? WorkflowScope<Definition>[Node]
    : unknown;

/* Nothing returned is null, as of a handler. */
type Given<Result> = null extends Result ? Result | void : Result;

/* Inside loops, cases, parents and compensations there is more than these types tell. */
type StubScope<Definition, Node> = Node extends `${string}.${string}`
  ? WorkflowScope<Definition> & Readonly<Record<string, any>>
  : Omit<WorkflowScope<Definition>, Node & string>;

/**
 * Replaces the function of a node. It has no `ctx`, so it neither reads nor writes.
 * @param scope `input` and the outputs of all nodes before. Types have later nodes too, which are
 *   undefined.
 * @param info as a handler has it.
 */
export type Stub<Workflow, Node> = (
  scope: StubScope<DefinitionOf<Workflow>, Node>,
  info: Info,
) =>
  | Given<ResultOf<DefinitionOf<Workflow>, Node>>
  | Promise<Given<ResultOf<DefinitionOf<Workflow>, Node>>>;

/** Replaces a node's function. @throws if the workflow has no such function. */
export function stubNode<
  Workflow extends WorkflowReference<never>,
  Node extends StagePath<Workflow>,
>({ name, stored }: Workflow, node: Node, stub: Stub<Workflow, Node>): void {
  const stages = allStages(stored).filter((stage) => placeOf(stored, stage).runs !== undefined);
  const names = stages.map((stage) => placeOf(stored, stage).called);
  const stage = stages[names.indexOf(node)];
  if (stage === undefined)
    throw new Error(
      `Workflow "${name}" has no function "${node}" to be stubbed${suggestion(node, names)}`,
    );
  setStub(stored, stage, stub);
}
