import { quote } from "../diagnostics/diagnostic.js";
import type { NodePlan } from "../plan/schema.js";
import { once } from "../plan/once.js";
import { type Node, ts, type TypeScript } from "../typescript.js";
import type { NodeCall } from "./definitions.js";
import { calleeName, callsIn } from "./descendants.js";
import { type FunctionNode, isFunctionNode, wrapping } from "./functions.js";
import { bindingOf } from "./handlers.js";
import type { Options } from "./options.js";
import type { DefinitionFile } from "./parser.js";
import { follow, reportRead, sensitivePaths } from "./secret-reads.js";

/** Reports what handlers give `info.tag` that is sensitive, as the nodes of a workflow are read. */
export interface SecretTags {
  /** Reads a line of nodes: what it adds to the scope is not seen after it. */
  inLine<Result>(read: () => Result): Result;
  /** To be called after each node of a line, in their order; `node` is its plan, if it has one. */
  report(call: NodeCall, node: NodePlan | undefined, file: DefinitionFile): void;
  /** The same of an `onEnd`, which sees the run's output: that of the last of the nodes. */
  reportOnEnd(given: readonly Node[], nodes: readonly NodePlan[]): void;
}

export function secretTags(
  options: Options | undefined,
  workflow: string,
  definition: DefinitionFile,
): SecretTags {
  const paths = options === undefined ? [] : [...sensitivePaths(options, definition)];
  const isWhole = paths.includes("input");
  /** One with nodes inside is as sensitive as what it passes on. */
  const isSecret = (node: NodePlan | undefined): boolean =>
    node !== undefined &&
    (isWhole ||
      node.options["sensitive"] === true ||
      node.bodies?.some(({ nodes }) => isSecret(nodes.at(-1))) === true);
  // Those inside a node have been told when it is come to.
  const told = new Set<FunctionNode>();
  const reportIn = (parts: readonly Node[], more: readonly string[], file: DefinitionFile) => {
    const secrets = [...paths, ...more];
    for (const part of parts) {
      const tagging = tagCalls(file.source).filter((call) => call !== part && holds(call)(part));
      for (const fn of new Set(tagging.flatMap((call) => handlerAround(call, part) ?? []))) {
        if (!told.has(fn)) reportHandler(fn, tagging, secrets, workflow, file);
        told.add(fn);
      }
    }
  };
  return {
    inLine(read) {
      const before = paths.length;
      const result = read();
      paths.length = before;
      return result;
    },
    report({ call }, node, file) {
      const isOwn = isSecret(node);
      // A compensation sees the output of its step.
      reportIn(call.arguments, isOwn ? ["output"] : [], file);
      if (isOwn && node !== undefined) paths.push(node.name);
    },
    reportOnEnd(given, nodes) {
      reportIn(given, isSecret(nodes.at(-1)) ? ["run.output"] : [], definition);
    },
  };
}

/** All in a file: hardly one has any, and to search each node of it would take longer. */
const tagCalls = once((source: TypeScript.SourceFile) =>
  callsIn(source).filter((call) => calleeName(call) === "tag"),
);

function reportHandler(
  fn: FunctionNode,
  tagging: readonly TypeScript.CallExpression[],
  secrets: readonly string[],
  workflow: string,
  file: DefinitionFile,
): void {
  const binding = bindingOf(fn, "handler", "scope");
  if (secrets.length === 0 || binding === undefined || binding === "hidden") return;
  const told = new Set<Node>();
  follow(binding, "", fn, (path, at) => {
    const secret = secrets.find((each) => `${path}.`.startsWith(`${each}.`));
    const call = tagging.find(({ arguments: given }) => given.some(holds(at)));
    if (secret === undefined || call === undefined || told.has(call)) return;
    told.add(call);
    reportRead(`an info.tag of workflow ${quote(workflow)} is made of`, secret, at, file);
  });
}

const holds = (at: Node) => (part: Node) => part.pos <= at.pos && at.end <= part.end;

/** The handler, written in its node, that a call is in. */
function handlerAround(call: Node, within: Node): FunctionNode | undefined {
  for (let each = call; each !== within; each = each.parent) {
    if (!isFunctionNode(each)) continue;
    const option = ts.isMethodDeclaration(each) ? each : wrapping(each).parent;
    const isOption = ts.isMethodDeclaration(option) || ts.isPropertyAssignment(option);
    if (isOption && /^(action|mutation|query)$/.test(option.name.getText())) return each;
  }
  return undefined;
}
