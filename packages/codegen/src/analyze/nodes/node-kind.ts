import { Node } from "ts-morph";
import type { NodePlan, StagePlan } from "../../plan/schema.js";
import type { NodeCall } from "../definitions.js";
import type { DefinitionFile } from "../definition-file.js";
import type { Workflows } from "../children.js";
import { literalOptions, placesOf, type Options } from "../options.js";
import { sourceHash } from "../tokens.js";

/** What the analysis of a node needs to know of what is around it. */
export interface NodeContext {
  readonly file: DefinitionFile;
  readonly workflow: string;
  /** The names a handler of this node may read: `input` and the nodes before it. */
  readonly scope: readonly string[];
  readonly workflows: Workflows;
}

/** How one kind of node is read. Its stages say how it is lowered: see emit/stages. */
export interface NodeKind {
  /** The plan of the node; undefined when it cannot be read, which has then been reported. */
  analyze(call: NodeCall, context: NodeContext): NodePlan | undefined;
}

/** The name of a node, which must be written out. Whether it is a good one is for the rules of `check`. */
export function readName(
  call: NodeCall,
  context: NodeContext,
): { name: string; node: Node } | undefined {
  const [argument] = call.call.getArguments();
  const name = literalName(call);
  if (name !== undefined && argument !== undefined) return { name, node: argument };
  context.file.report(
    "computedName",
    argument ?? call.kindNode,
    `the name of this .${call.kind}() in workflow ${JSON.stringify(context.workflow)} is not written out`,
    {
      hint: `write it as a string: \`.${call.kind}("name", …)\``,
    },
  );
  return undefined;
}

/** The name of a node, when it is written out. */
export function literalName(call: NodeCall): string | undefined {
  const [argument] = call.call.getArguments();
  if (Node.isStringLiteral(argument) || Node.isNoSubstitutionTemplateLiteral(argument))
    return argument.getLiteralText();
  return undefined;
}

/** What the plan of a node is made of. */
interface NodeParts {
  readonly kind: string;
  readonly name: string;
  readonly at: Node;
  readonly stages: readonly (StagePlan | undefined)[];
  readonly options?: Options;
  /** The options that belong into the plan where they are literals. */
  readonly planned?: readonly string[];
  readonly isFinalize?: boolean;
}

/** A node of the plan. One that cannot be read whole has fewer stages; it keeps its name, which other nodes may read. */
export function nodePlan(call: NodeCall, file: DefinitionFile, parts: NodeParts): NodePlan {
  const { kind, name, at, options, planned = [], isFinalize = false } = parts;
  return {
    name,
    kind,
    stages: parts.stages.filter((stage) => stage !== undefined),
    options: options === undefined ? {} : literalOptions(options, planned),
    hash: sourceHash(call.call.getArguments()),
    place: file.placeOf(at),
    optionPlaces: placesOf(options, file),
    isNamed: !isFinalize,
    endsWorkflow: isFinalize,
  };
}
