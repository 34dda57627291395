import { Node } from "../../ts-morph.js";
import type { BodyPlan, NodePlan, StagePlan } from "../../plan/schema.js";
import type { NodeCall } from "../definitions.js";
import type { DefinitionFile } from "../definition-file.js";
import type { AppModules } from "../app-modules.js";
import type { Workflows } from "../workflows.js";
import { givenOptions, plannedValues, type Options } from "../options.js";
import { sourceHash } from "../tokens.js";

/** Where a line of nodes stands: a workflow's own, that of a case, or the body of a loop. */
export interface Surroundings {
  /** What the names of its stages begin with, with the dot: empty at the top level, `route.big.`, `agent.`. */
  readonly prefix: string;
  /** Where its nodes are found among the definition's: nowhere at the top level, `agent`, `body`. */
  readonly code: readonly string[];
  /** The names that its first node may read. */
  readonly scope: readonly string[];
}

/** A line of nodes that was read. */
export interface ReadNodes {
  readonly nodes: NodePlan[];
  /** Whether one of them could not be read, which has been reported. */
  readonly hasUnreadNodes: boolean;
  /** Whether the name of one of them, or of one inside them, is computed. */
  readonly hasUnknownNames: boolean;
}

/** What the analysis of a node needs to know of what is around it. In `scope` are the names that a handler of this node may read. */
export interface NodeContext extends Surroundings {
  readonly file: DefinitionFile;
  readonly workflow: string;
  readonly workflows: Workflows;
  readonly modules: AppModules;
  /** Reads the nodes inside this one. */
  readonly readNodes: (calls: readonly NodeCall[], inside: Surroundings) => ReadNodes;
}

/** How one kind of node is read. Its stages say how it is lowered: see emit/stages. */
export interface NodeKind {
  /** The plan of the node; undefined when it cannot be read, which has then been reported. */
  analyze(call: NodeCall, context: NodeContext): NodePlan | undefined;
}

/** A node's name, and what follows from it. */
export interface Named {
  readonly name: string;
  /** Where the name is written. */
  readonly at: Node;
  /** Its name, after those of the nodes and cases around it. */
  readonly path: string;
  readonly code: readonly string[];
  /** How a person calls it: `step "agent.think"`. */
  readonly label: string;
}

/** The name of a node, which must be written out. Whether it is a good one is for the rules of `check`. */
export function readName(call: NodeCall, context: NodeContext): Named | undefined {
  const [argument] = call.call.getArguments();
  const name = literalName(call);
  if (name !== undefined && argument !== undefined)
    return named(call.kind, name, argument, context);
  const message = `the name of this .${call.kind}() in workflow ${JSON.stringify(context.workflow)} is not written out`;
  const hint = `write it as a string: \`.${call.kind}("name", …)\``;
  context.file.report("computedName", argument ?? call.kindNode, message, hint);
  return undefined;
}

function named(kind: string, name: string, at: Node, { prefix, code }: NodeContext): Named {
  const path = prefix + name;
  return { name, at, path, code: [...code, name], label: `${kind} ${JSON.stringify(path)}` };
}

/** The name of a node, when it is written out. */
export function literalName(call: NodeCall): string | undefined {
  const [argument] = call.call.getArguments();
  if (Node.isStringLiteral(argument) || Node.isNoSubstitutionTemplateLiteral(argument))
    return argument.getLiteralText();
  return undefined;
}

/** What the one stage of a node, which bears its name, has from it. */
export const ofNode = ({ name, path, code, label }: Named) => ({
  name: path,
  node: path,
  code,
  label,
  mention: { elsewhere: JSON.stringify(name), within: JSON.stringify(name) },
});

/** What a part of a node, such as its finalize, has from it. */
export const ofPart = (
  { name, path, code, label }: Named,
  part: string,
  inDefinition = [part],
) => ({
  name: `${path}.${part}`,
  node: path,
  code: [...code, ...inDefinition],
  label: `${label}, ${part}`,
  mention: { elsewhere: `the ${part} of ${JSON.stringify(name)}`, within: `its ${part}` },
});

/** What the plan of a node is made of. */
interface NodeParts {
  readonly stages: readonly (StagePlan | undefined)[];
  readonly options?: Options;
  /** The options that belong into the plan where their values can be seen. */
  readonly planned?: readonly string[];
  readonly bodies?: BodyPlan[];
  /** The part of the source that its hash is of. Default: its options; without any all that it is called with, but its name. */
  readonly source?: readonly Node[];
  readonly isFinalize?: boolean;
  readonly hasOutput?: boolean;
}

/** The source of options as a hash is made of it: whatever order they stand in, which says nothing. */
export function optionSource(options: Options): Node[] {
  return [...options.values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(({ nameNode, value }) => [nameNode, value]);
}

/** A node of the plan. One that cannot be read whole has fewer stages; it keeps its name, which other nodes may read. */
export function nodePlan(
  call: NodeCall,
  { name, path, at }: Named,
  { file, modules }: NodeContext,
  parts: NodeParts,
): NodePlan {
  const { options, planned = [], isFinalize = false, hasOutput = true, bodies } = parts;
  const given = givenOptions(options, file);
  const all = call.call.getArguments().filter((each) => each !== at);
  const source = parts.source ?? (options === undefined ? all : optionSource(options));
  return {
    name,
    kind: call.kind,
    stages: parts.stages.filter((stage) => stage !== undefined),
    options: plannedValues(given, planned),
    hash: sourceHash(source, file, modules),
    bodies,
    path,
    place: file.placeOf(at),
    given,
    isNamed: !isFinalize,
    endsWorkflow: isFinalize,
    hasOutput,
  };
}
