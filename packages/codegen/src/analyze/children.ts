import { Node, SyntaxKind, type CallExpression } from "ts-morph";
import { nearest } from "../diagnostics/nearest.js";
import type { DefinitionFile } from "./definition-file.js";
import { unwrap, type FunctionNode } from "./functions.js";
import { resolveModule } from "../plan/paths.js";
import { isImported } from "./modules.js";

/** The workflows of the project, as other definitions may name them. */
export interface Workflows {
  readonly names: readonly string[];
  /** Files that could not be read whole, so that a workflow not found in one says nothing. */
  readonly unread: ReadonlySet<string>;
  /** The workflow held by a variable of a file; null when it is a definition that was reported already. */
  local(file: string, local: string): string | null | undefined;
}

/**
 * The workflows of the `child(…)` calls inside a function, sorted. Undefined when there are none, or when one of them names
 * its workflow in a way that cannot be followed: it may then be any workflow.
 */
export function childWorkflows(
  fn: FunctionNode,
  file: DefinitionFile,
  known: Workflows,
): string[] | undefined {
  const found = new Set<string>();
  let all = false;
  for (const call of fn.getDescendantsOfKind(SyntaxKind.CallExpression)) {
    const callee = call.getExpression();
    const resolved = isImported(callee, file.imports, "child")
      ? childOf(call, file, known)
      : isImported(callee, file.imports, "childNamed")
        ? childNamed(call, file, known)
        : "none";
    if (resolved === "none" || resolved === "reported") continue;
    if (resolved === undefined) all = true;
    else found.add(resolved.workflow);
  }
  return all || found.size === 0 ? undefined : [...found].sort();
}

type Resolved = { workflow: string } | "reported" | undefined;

function childOf(call: CallExpression, file: DefinitionFile, known: Workflows): Resolved {
  const [argument] = call.getArguments();
  return argument && workflowOf(argument, file, known);
}

/** The workflow that a `.child(name, workflow, args)` runs; undefined, and reported, when that cannot be followed. */
export function childWorkflow(
  argument: Node,
  label: string,
  file: DefinitionFile,
  known: Workflows,
): string | undefined {
  const resolved = workflowOf(argument, file, known);
  if (resolved === undefined) {
    file.report("unknownChild", argument, `the workflow of ${label} cannot be seen here`, {
      hint: "name a workflow of this file, or one that is imported from a *.workflow.ts file of this app",
    });
  }
  return typeof resolved === "object" ? resolved.workflow : undefined;
}

/** The workflow that an expression names. */
function workflowOf(argument: Node, file: DefinitionFile, known: Workflows): Resolved {
  const target = targetOf(unwrap(argument), file);
  if (target === undefined) return undefined;
  const workflow = known.local(target.file, target.name);
  if (workflow === null) return "reported";
  if (workflow !== undefined) return { workflow };
  // A name of this file that is no definition may still hold one; that of another definition file cannot.
  if (target.file === file.file || known.unread.has(target.file)) return undefined;
  return reportUnknown(argument, target.name, file, known);
}

/** The file and the exported name that an expression stands for, when it is imported from a definition file or local. */
function targetOf(node: Node, file: DefinitionFile): { file: string; name: string } | undefined {
  const isMember = Node.isPropertyAccessExpression(node);
  const root = isMember ? node.getExpression() : node;
  if (!Node.isIdentifier(root)) return undefined;
  const from = file.imports.get(root.getText());
  if (from === undefined) return isMember ? undefined : { file: file.file, name: root.getText() };
  const module = resolveModule(file.file, from.module);
  if (module === undefined || !module.endsWith(".workflow")) return undefined;
  if (isMember !== (from.imported === "*")) return undefined;
  return { file: `${module}.ts`, name: isMember ? node.getName() : from.imported };
}

function childNamed(call: CallExpression, file: DefinitionFile, known: Workflows): Resolved {
  const [argument] = call.getArguments();
  if (!Node.isStringLiteral(argument)) return undefined;
  const workflow = argument.getLiteralText();
  return known.names.includes(workflow)
    ? { workflow }
    : reportUnknown(argument, workflow, file, known);
}

function reportUnknown(at: Node, name: string, file: DefinitionFile, known: Workflows): "reported" {
  const near = nearest(name, known.names);
  file.report(
    "unknownChild",
    at,
    `there is no workflow ${JSON.stringify(name)} to start as a child`,
    {
      hint:
        near === undefined
          ? "a child is a workflow exported from a *.workflow.ts file of this app"
          : near === name
            ? `${JSON.stringify(near)} is a workflow of another file: correct the import`
            : `did you mean ${JSON.stringify(near)}?`,
    },
  );
  return "reported";
}
