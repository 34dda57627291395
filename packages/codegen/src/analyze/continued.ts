import { SyntaxKind, ts, type TypeScript } from "../ts-morph.js";
import { targetOf } from "./children.js";
import type { DefinitionFile } from "./definition-file.js";
import { writeOut } from "./definitions.js";
import { callsIn } from "./descendants.js";
import { unwrap } from "./functions.js";
import { nodeKinds } from "./nodes/table.js";
import type { Workflows } from "./workflows.js";

/** Reports `base.step(…)` where `base` is a definition of another file: what it makes is not seen. */
export function reportContinuedElsewhere(file: DefinitionFile, workflows: Workflows): void {
  const names = new Set(file.imports.keys());
  const calls = callsIn(file.source, ({ expression }) => {
    if (!ts.isPropertyAccessExpression(expression)) return false;
    let owner: TypeScript.Expression = expression.expression;
    while (
      ts.isParenthesizedExpression(owner) ||
      ts.isAsExpression(owner) ||
      ts.isNonNullExpression(owner)
    )
      owner = owner.expression;
    const root = ts.isPropertyAccessExpression(owner) ? owner.expression : owner;
    return nodeKinds.has(expression.name.text) && ts.isIdentifier(root) && names.has(root.text);
  });
  for (const call of calls) {
    const callee = call.getExpressionIfKindOrThrow(SyntaxKind.PropertyAccessExpression);
    const owner = unwrap(callee.getExpression());
    const target = targetOf(owner, file);
    if (target === undefined || workflows.lookUp(target).workflow === undefined) continue;
    const message = `the chain of ${JSON.stringify(owner.getText())}, a workflow of another file, goes on here, with .${callee.getName()}(…)`;
    file.report("computedChain", owner, message, { hint: writeOut });
  }
}
