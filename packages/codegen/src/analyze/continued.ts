import { quote } from "../diagnostics/diagnostic.js";
import { Node, ts, type TypeScript } from "../ts-morph.js";
import { targetOf } from "./children.js";
import type { DefinitionFile } from "./definition-file.js";
import { writeOut, type FoundInFile } from "./definitions.js";
import { callsIn } from "./descendants.js";
import { unwrap } from "./functions.js";
import { nodeKinds } from "./nodes/table.js";
import type { Workflows } from "./workflows.js";

/** Reports chains that are not seen: of another file's workflow, and of an unknown value. */
export function reportUnseenChains(
  file: DefinitionFile,
  { locals }: FoundInFile,
  workflows: Workflows,
  isReported: boolean,
): void {
  const unseen = new Set<Node>();
  for (const call of callsIn(file.source, mayContinue)) {
    const callee = call.getExpression();
    if (!Node.isPropertyAccessExpression(callee)) continue;
    const owner = unwrap(callee.getExpression());
    const target = targetOf(owner, file);
    const found = target && workflows.lookUp(target).workflow;
    if (found === undefined || (Node.isIdentifier(owner) && locals.has(owner.getText()))) continue;
    unseen.add(call);
    const whose = target?.module === undefined ? "under another name" : "of another file";
    const message = `the chain of ${quote(owner.getText())}, a workflow ${whose}, goes on here, with .${callee.getName()}(…)`;
    file.report("computedChain", owner, message, writeOut);
  }
  if (isReported || unseen.size > 0) return;
  for (const statement of file.source.getVariableStatements()) {
    if (!statement.hasExportKeyword()) continue;
    for (const declaration of statement.getDeclarations()) {
      const value = declaration.getInitializer();
      if (locals.has(declaration.getName()) || value === undefined || !isChain(value)) continue;
      const message = `${quote(declaration.getName())} looks like a workflow, but its chain does not begin with a call of \`defineWorkflow\`, so it is not seen`;
      file.report("misusedDefine", declaration.getNameNode(), message, writeOut);
    }
  }
}

/** `base.step(…)`, `flows.base.step(…)`; not a node further down a chain. */
const mayContinue = ({ expression }: TypeScript.CallExpression): boolean =>
  ts.isPropertyAccessExpression(expression) &&
  nodeKinds.has(expression.name.text) &&
  !ts.isCallExpression(expression.expression);

/** Whether an expression ends as a chain of nodes does: `… .step("name", …)`. */
function isChain(value: Node): boolean {
  const call = unwrap(value);
  if (!Node.isCallExpression(call)) return false;
  const callee = call.getExpression();
  if (!Node.isPropertyAccessExpression(callee) || !nodeKinds.has(callee.getName())) return false;
  const [first, second] = call.getArguments();
  return callee.getName() === "finalize"
    ? Node.isObjectLiteralExpression(first)
    : Node.isStringLiteral(first) && second !== undefined;
}
