import type { Diagnostic } from "../diagnostics/diagnostic.js";
import { nearest } from "../diagnostics/nearest.js";
import type { SourceText } from "../discover/discover.js";
import type { InputPlan, NodePlan, WorkflowPlan } from "../plan/schema.js";
import type { Workflows } from "./children.js";
import { parse } from "./definition-file.js";
import {
  findDefinitions,
  type FoundDefinition,
  type FoundInFile,
  type NodeCall,
} from "./definitions.js";
import { readInput, readWorkflowOptions } from "./input.js";
import { literalName, type NodeContext } from "./nodes/node-kind.js";
import { nodeKinds } from "./nodes/table.js";
import { literalOptions } from "./options.js";

export interface Analysis {
  /** Sorted by name. */
  readonly workflows: WorkflowPlan[];
  readonly diagnostics: Diagnostic[];
}

/** From the text of definition files to plans, by syntax alone. What cannot be read is reported, and the rest is read on. */
export function analyze(sources: readonly SourceText[]): Analysis {
  const diagnostics: Diagnostic[] = [];
  const files = parse(sources, diagnostics);
  const found = files.map((file) => ({ file: file.file, ...findDefinitions(file) }));
  const parsed = new Set(files.map(({ file }) => file));
  const unread = new Set(sources.map(({ file }) => file).filter((file) => !parsed.has(file)));
  const known = workflowsOf(found, unread);
  const workflows = found
    .flatMap(({ definitions }) => definitions)
    .map((definition) => workflowPlan(definition, known))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return { workflows, diagnostics };
}

function workflowsOf(
  found: readonly (FoundInFile & { file: string })[],
  unread: ReadonlySet<string>,
): Workflows {
  const byPlace = new Map<string, string | null>();
  const key = (file: string, name: string) => `${file}\n${name}`;
  for (const { file, locals, definitions } of found) {
    for (const local of locals) byPlace.set(key(file, local), null);
    for (const { name, nameNode } of definitions) {
      byPlace.set(key(file, name), name);
      byPlace.set(key(file, nameNode.getText()), name);
    }
  }
  const names = found.flatMap(({ definitions }) => definitions.map(({ name }) => name)).sort();
  return { names, unread, local: (file, local) => byPlace.get(key(file, local)) };
}

function workflowPlan(definition: FoundDefinition, workflows: Workflows): WorkflowPlan {
  const { file, name, nameNode, root } = definition;
  const options = readWorkflowOptions(root, name, file);
  const input = options && readInput(options, root.getExpression(), name, file);
  const scope = ["input"];
  const nodes = definition.nodes.flatMap((call) => {
    const node = nodePlan(call, { file, workflow: name, scope: [...scope], workflows });
    // Also the name of a node that cannot be read: what reads it is not wrong because of that.
    const named = node?.name ?? literalName(call);
    if (named !== undefined) scope.push(named);
    return node ?? [];
  });
  return {
    name,
    file: file.file,
    input: input ?? unreadInput,
    options: options === undefined ? {} : literalOptions(options, ["retry", "timeout"]),
    nodes,
    place: file.placeOf(nameNode),
    hasUnknownNames: scope.length <= definition.nodes.length,
  };
}

/** Of a workflow whose input was reported; with an error nothing is emitted. */
const unreadInput: InputPlan = {
  kind: "copy",
  text: "",
  imports: [],
  expression: { kind: "literal", text: "" },
  globals: [],
};

function nodePlan(call: NodeCall, context: NodeContext): NodePlan | undefined {
  const kind = nodeKinds.get(call.kind);
  if (kind !== undefined) return kind.analyze(call, context);
  const near = nearest(call.kind, nodeKinds.keys());
  context.file.report(
    "unknownNode",
    call.kindNode,
    `workflow ${JSON.stringify(context.workflow)} has a node of the unknown kind .${call.kind}()`,
    {
      hint:
        near === undefined
          ? `the kinds are ${[...nodeKinds.keys()].join(", ")}`
          : `did you mean .${near}()?`,
    },
  );
  return undefined;
}
