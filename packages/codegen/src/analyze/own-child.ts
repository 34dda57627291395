import { quote } from "../diagnostics/diagnostic.js";
import type { Identifier } from "ts-morph";
import { Node } from "../ts-morph.js";
import { targetOf } from "./children.js";
import type { DefinitionFile } from "./definition-file.js";
import type { FoundDefinition } from "./definitions.js";
import { identifiersIn } from "./descendants.js";
import { functionOf } from "./functions.js";
import { isImported } from "./modules.js";
import { isDeclaredBetween, isReference } from "./scoping.js";

/** Reports a definition that is its own child: its type would depend on itself (TS7022). */
export function reportOwnChild(definition: FoundDefinition): void {
  const { file, name, nameNode } = definition;
  const declared = nameNode.getParent();
  if (!Node.isVariableDeclaration(declared) || declared.getTypeNode() !== undefined) return;
  const local = nameNode.getText();
  const seen = new Set<Node>([declared]);
  for (const within of seen)
    for (const id of identifiersIn(within)) {
      if (!isReference(id) || isDeclaredBetween(id, file.source)) continue;
      const used = functionOf(id, file);
      if (used !== undefined) seen.add(used);
      const target = isChild(id, file) ? targetOf(id, file) : undefined;
      if (target === undefined || target.module !== undefined || target.name !== local) continue;
      const message = `workflow ${quote(name)} is its own child, so its type would depend on itself`;
      const hint = `name it by its name, in the \`children\` of a .parent(): \`childNamed<Output>(${quote(name)}, …)\`, with the type of its output as \`Output\``;
      file.report("ownChild", id, message, hint);
    }
}

/** Whether it stands where a workflow is given: `child(it, …)`, `.child("name", it, …)`. */
function isChild(id: Identifier, { imports }: DefinitionFile): boolean {
  const call = id.getParent();
  if (!Node.isCallExpression(call)) return false;
  const [first, second] = call.getArguments();
  const callee = call.getExpression();
  if (first === id) return isImported(callee, imports, "child");
  return second === id && Node.isPropertyAccessExpression(callee) && callee.getName() === "child";
}
